"""The table that ``make run`` ends with: what there is, read back from the signed receipts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from deid_assets.core.assets import Family
from deid_assets.core.verdicts import Tally
from deid_assets.evaluation.score import Evaluation, Scheme
from deid_assets.intake.states import Batch, State, look_at_all, notes_line, total
from deid_assets.intake.stops import Stop
from deid_assets.reports.advice import CURVE
from deid_assets.store.files import ALL, Receipt
from deid_assets.store.receipts import state_of
from deid_assets.store.scores import scores_from_table
from deid_resources.installation import Installation


def show_overview(installation: Installation, assets: Sequence[str], console: Console, *, seconds: float) -> None:
    """Print notes, spans per detector, checks, quarantine, scores and paths.

    Args:
        installation: The installation.
        assets: Names of every asset of the graph.
        console: Where to.
        seconds: How long it took.
    """
    files = installation.files
    table = Table(title="deid-assets", title_justify="left", show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    found = look_at_all(installation.settings, installation.files)
    table.add_row("batches", _states(found))
    table.add_row("notes", notes_line(total(found)))
    detectors = [name for name in installation.plugins if files.batches(Family.SPANS.of(name))]
    for name in detectors:
        role = "ensemble" if name in installation.settings.ensemble else "shadow"
        table.add_row(f"spans by {name}", f"{_sum(_receipts(installation, Family.SPANS.of(name)), 'spans'):,} ({role})")
    table.add_row("released under", f"policy {installation.snapshot.released.name}")
    table.add_row("checks", _checks([receipt for asset in assets for receipt in _receipts(installation, asset)]))
    if failed := sum(len(stop.failed_checks) for batch in found for stop in batch.stops):
        table.add_row("failed checks", f"{failed:,}, which stopped what they guard")
    console.print(table)
    _show_stops(found, console)
    _show_scores(installation, detectors, console)
    console.print(f"redacted corpus   {installation.settings.released.absolute()}", soft_wrap=True, highlight=False)
    for report in sorted(installation.settings.reports.glob("release-*.html")):
        console.print(f"report            {report.absolute()}", soft_wrap=True, highlight=False)
    console.print(
        f"next              annotate ten of your notes and see what they add: {CURVE}", soft_wrap=True, highlight=False
    )
    console.print(f"finished in {seconds:.1f} s", highlight=False)


def _states(found: Sequence[Batch]) -> str:
    counts = Counter(batch.state for batch in found)
    return f"{len(found):,}" + "".join(f", {counts[state]:,} {state}" for state in State if counts[state])


def _show_stops(found: Sequence[Batch], console: Console) -> None:
    for batch in found:
        if batch.state in (State.STOPPED, State.UNREADABLE):
            first = next((stop for stop in batch.stops), None)
            said = (
                f" at {first.asset}, {first.receipt.created_at[:10]}: {_last(first)}" if first else f": {batch.fault}"
            )
            line = f"{batch.batch} {batch.state}{said}; `deid batches show {batch.batch}` says more"
            console.print(line, style="yellow", markup=False, highlight=False, soft_wrap=True)


def _last(stop: Stop) -> str:
    """Return the reason that names a remedy, where there is one; the first only says which check failed."""
    return stop.reasons[min(1, len(stop.reasons) - 1)] if stop.reasons else "no reason was kept"


def _show_scores(installation: Installation, detectors: Sequence[str], console: Console) -> None:
    files, zero = installation.files, Evaluation(installation.settings.profile)
    per_detector = {
        name: sum(scores_from_table(files.read(Family.SCORECARD.of(name), ALL, "scores")).values(), zero)
        for name in detectors
        if files.find(Family.SCORECARD.of(name), ALL)
    }
    merged = [
        scores_from_table(files.read("merged_spans", batch, "scores")).get("merged_spans", zero)
        for batch in files.batches("merged_spans")
    ]
    per_detector["ensemble merged"] = sum(merged, zero)
    per_detector = {name: found for name, found in per_detector.items() if found.notes.notes}
    if not per_detector:
        console.print("No annotated notes, so no scores.")
        return
    table = Table(
        title=f"On annotated notes, profile {installation.settings.profile}", title_justify="left", pad_edge=False
    )
    for heading in ("detector", "spans", "strict P", "R", "F1", "chars covered", "clean notes"):
        table.add_column(heading, justify="left" if heading == "detector" else "right")
    for name, found in per_detector.items():
        strict, notes = found.micro(Scheme.STRICT), found.notes
        clean = notes.covered / notes.with_phi if notes.with_phi else None
        ratios = (strict.precision, strict.recall, strict.f1, found.characters.recall, clean)
        table.add_row(name, f"{strict.gold:,}", *("-" if ratio is None else f"{ratio:.3f}" for ratio in ratios))
    console.print(table)


def _receipts(installation: Installation, asset: str) -> list[Receipt]:
    return [installation.files.receipt(asset, batch) for batch in installation.files.batches(asset)]


def _sum(receipts: Sequence[Receipt], count: str) -> int:
    return sum(int(receipt.counts.get(count, 0)) for receipt in receipts)


def _checks(receipts: Sequence[Receipt]) -> str:
    rows = [row for receipt in receipts for row in receipt.verdicts.values()]
    return str(Tally.of(map(state_of, rows)))
