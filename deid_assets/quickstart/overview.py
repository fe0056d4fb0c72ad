"""The table that ``make run`` ends with: what there is, read back from the signed receipts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from deid_assets.assets.scoring import LEADERBOARD
from deid_assets.core.assets import Family
from deid_assets.core.verdicts import State as Answer
from deid_assets.evaluation.score import Evaluation, Scheme
from deid_assets.intake.states import BatchState, BatchStatus, notes_line, total
from deid_assets.intake.stops import Stop
from deid_assets.intake.studies import study_states
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import ALL, Receipt
from deid_assets.store.frames import scores_from_table
from deid_assets.store.receipts import state_of


def show_overview(
    installation: Installation,
    found: Sequence[BatchStatus],
    assets: Sequence[str],
    console: Console,
) -> None:
    """Print notes, spans per detector, checks, quarantine, scores and paths.

    Args:
        installation: The installation.
        found: Its batches, as they were looked at.
        assets: Names of every asset of the graph.
        console: Where to.
    """
    files = installation.files
    table = Table(title="deid-assets", title_justify="left", show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("batches", _states(found))
    table.add_row("notes", notes_line(total(found)))
    detectors = [name for name in installation.plugins if files.batches(Family.SPANS.of(name))]
    for name in detectors:
        role = "ensemble" if name in installation.settings.ensemble else "scored, not used"
        table.add_row(
            f"spans by {name}",
            f"{_sum(_receipts(installation, Family.SPANS.of(name)), 'spans'):,} ({role})",
        )
    table.add_row("release policy", installation.snapshot.released.name)
    table.add_row(
        "checks",
        _checks([receipt for asset in assets for receipt in _receipts(installation, asset)], found),
    )
    console.print(table)
    _show_stops(found, console)
    _show_scores(installation, console)
    if any(batch.tally.released for batch in found):
        console.print(
            f"redacted corpus   {installation.settings.released.absolute()}",
            soft_wrap=True,
            highlight=False,
        )
    _show_studies(installation, console)
    for report in sorted(installation.settings.reports.glob("release-*.html")):
        console.print(f"report            {report.absolute()}", soft_wrap=True, highlight=False)


def _show_studies(installation: Installation, console: Console) -> None:
    """Print what each study released, and what is wrong with it."""
    for one in study_states(installation.settings, installation.files):
        released = f"{one.notes:,} notes of {one.released:,} batches, {one.state}"
        console.print(f"study {one.study:11} {released}", soft_wrap=True, highlight=False)
        for fault in one.faults:
            console.print(fault, style="yellow", markup=False, highlight=False, soft_wrap=True)


def _states(found: Sequence[BatchStatus]) -> str:
    """Return the batches by state; what an earlier release of a batch let out is still out."""
    counts = Counter(batch.state for batch in found)
    parts = [f"{counts[state]:,} {state}" for state in BatchState if counts[state]]
    earlier = sum(batch.keeps_release for batch in found)
    if earlier:
        parts.append(f"of which {earlier:,} with an earlier release that is still out")
    return ", ".join([f"{len(found):,}", *parts])


def _show_stops(found: Sequence[BatchStatus], console: Console) -> None:
    for batch in found:
        if batch.state in (BatchState.STOPPED, BatchState.UNREADABLE):
            first = next((stop for stop in batch.stops if not stop.waits), None)
            said = (
                f" at {first.asset}, {first.receipt.created_at[:10]}: {_reason(first)}"
                if first
                else f": {batch.fault}"
            )
            line = f"{batch.batch} {batch.state}{said}; `deid batches show {batch.batch}` says more"
            console.print(line, style="yellow", markup=False, highlight=False, soft_wrap=True)


def _reason(stop: Stop) -> str:
    return stop.reasons[0] if stop.reasons else "no reason was kept"


def _show_scores(installation: Installation, console: Console) -> None:
    """Print every detector and the ensemble on the same notes, as the leaderboard has them."""
    found: dict[str, Evaluation] = {}
    receipt = installation.files.find(LEADERBOARD, ALL)
    if receipt:
        found = scores_from_table(installation.files.read(LEADERBOARD, ALL, "scores"))
    if receipt and "ensemble" in receipt.outputs:
        ensemble = scores_from_table(installation.files.read(LEADERBOARD, ALL, "ensemble"))
        found |= {
            name.replace(MERGED_SPANS, "ensemble merged"): one for name, one in ensemble.items()
        }
    found = {name: one for name, one in found.items() if one.notes.notes}
    if not found:
        console.print("No annotated notes, so no scores.")
        return
    notes = max(one.notes.notes for one in found.values())
    title = f"On the same {notes:,} annotated notes, profile {installation.settings.profile}"
    table = Table(title=title, title_justify="left", pad_edge=False)
    for heading in ("detector", "spans", "strict P", "R", "F1", "chars covered", "clean notes"):
        table.add_column(heading, justify="left" if heading == "detector" else "right")
    for name, one in found.items():
        table.add_row(name, *_cells(one))
    console.print(table)


def _cells(found: Evaluation) -> list[str]:
    strict, notes = found.micro(Scheme.STRICT), found.notes
    clean = notes.covered / notes.with_phi if notes.with_phi else None
    ratios = (strict.precision, strict.recall, strict.f1, found.characters.recall, clean)
    return [f"{strict.gold:,}", *("-" if ratio is None else f"{ratio:.3f}" for ratio in ratios)]


def _receipts(installation: Installation, asset: str) -> list[Receipt]:
    return [installation.files.receipt(asset, batch) for batch in installation.files.batches(asset)]


def _sum(receipts: Sequence[Receipt], count: str) -> int:
    return sum(int(receipt.counts.get(count, 0)) for receipt in receipts)


def _checks(stored: Sequence[Receipt], found: Sequence[BatchStatus]) -> str:
    """Return the checks by answer: those of what is stored, and those that stopped something."""
    stops = [stop.receipt for batch in found for stop in batch.stops if not stop.waits]
    stopped = {receipt.batch + Family.STOPS.name_in(receipt.asset) for receipt in stops}
    kept = [receipt for receipt in stored if receipt.batch + receipt.asset not in stopped]
    rows = [row for receipt in (*kept, *stops) for row in receipt.verdicts.values()]
    failed = [row for row in rows if state_of(row) is Answer.FAILED]
    faults = sum(row["blocking"] for row in failed)
    counts = Counter(state_of(row) for row in rows)
    return (
        f"{counts[Answer.PASSED]:,} passed, {faults:,} failed and stopped something,"
        f" {len(failed) - faults:,} warn, {counts[Answer.NOT_APPLICABLE]:,} not applicable"
    )
