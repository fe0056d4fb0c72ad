"""operation and drift: what ran, what is late, and how batches differ from those before them."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.detection import read_notes_of
from deid_assets.assets.display import Markdown, show_page, show_png
from deid_assets.config.operation import WatchSettings
from deid_assets.core.errors import DeidError
from deid_assets.intake.arrivals import find_arrival
from deid_assets.intake.states import BatchStatus, look_at_all, open_batches, total
from deid_assets.operation.drift import (
    MEASURES,
    NEW_LAYOUTS,
    BatchProfile,
    Deviation,
    deviations,
    word_counts,
)
from deid_assets.operation.freshness import Late, late_batches
from deid_assets.operation.layouts import cluster_layouts
from deid_assets.operation.run_table import RunLine, run_lines
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.quality import Verdict
from deid_assets.reports.series import SeriesPoint, series_png
from deid_assets.reports.study import Section, study_html
from deid_assets.reports.tables import table_md
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import ALL, StoreFiles
from deid_assets.system.atomic import atomic_file

OPERATION, DRIFT = "operation", "drift"
FRESH = "releases_fresh"
OPERATION_CHECKS = (
    Check(FRESH, "Every batch is released in the time that the settings give it.", blocking=False),
)
_SAID: Mapping[str, tuple[str, str]] = {
    "spans_per_1000_words": ("Spans found in 1,000 words", "Spans in 1,000 words"),
    "unknown_words": ("Share of words that no list knows", "Share of words"),
    "label_mix": ("Share of spans in other categories than before", "Share of spans"),
    "language_mix": ("Share of notes in other languages than before", "Share of notes"),
    NEW_LAYOUTS: ("Share of notes whose layout no batch before had", "Share of notes"),
}
DRIFT_CHECKS = tuple(
    Check(name, f"{_SAID[name][0]}: as in the batches before.", blocking=False) for name in MEASURES
)
RUNS = pa.schema(
    [
        pa.field("run", pa.string(), nullable=False),
        pa.field("started", pa.string(), nullable=False),
        pa.field("batches", pa.int64(), nullable=False),
        pa.field("assets", pa.int64(), nullable=False),
        pa.field("notes", pa.int64(), nullable=False),
        pa.field("spans", pa.int64(), nullable=False),
        pa.field("seconds", pa.float64(), nullable=False),
        pa.field("notes_per_second", pa.float64(), nullable=False),
        pa.field("cost", pa.float64(), nullable=False),
    ]
)
PROFILES = pa.schema(
    [
        pa.field("batch", pa.string(), nullable=False),
        pa.field("arrived_at", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("notes", pa.int64(), nullable=False),
        pa.field("words", pa.int64(), nullable=False),
        pa.field("unknown", pa.int64(), nullable=False),
        pa.field("labels", pa.string(), nullable=False),
        pa.field("languages", pa.string(), nullable=False),
        pa.field("layouts", pa.string(), nullable=False),
    ]
)
_ON_PAGE = 200
"""Runs on the page."""
_IN_UI = 15
"""The same in Dagster, which shows short tables at once."""


def make_operation(_batch: str, installation: Installation) -> AssetOutput:
    """List the runs with what they took, and judge whether releases are late."""
    from deid_assets.store import records  # noqa: PLC0415 - SQLModel takes 0.3 s to import

    settings, watch = installation.settings, installation.settings.watch
    with installation.database.session(read_only=True) as session:
        rows = list(records.load_runs(session))
    lines = run_lines(rows, installation.files, price_per_hour=watch.price_per_hour)
    found = look_at_all(settings, installation.files)
    late = late_batches(found, within_hours=watch.release_within_hours)
    page = settings.reports / "operation.html"
    html = operation_html(lines, found, late, watch)
    header, shown = _run_rows(lines[:_IN_UI], watch)
    return AssetOutput(
        tables={"runs": pa.Table.from_pylist([_run_record(line) for line in lines], RUNS)},
        sources=[],
        verdicts=[judge_freshness(found, late, watch)],
        counts={
            "runs": len(lines),
            "late_batches": len(late),
            "seconds": round(sum(line.seconds for line in lines), 1),
        },
        metadata={"latest_runs": Markdown(table_md(header, shown, left=2)), **show_page(page)},
        publish=lambda _: _write(page, html),
    )


def judge_freshness(
    found: Sequence[BatchStatus], late: Sequence[Late], watch: WatchSettings
) -> Verdict:
    """Return whether no batch is late; a warning, which names those that are."""
    verdict = Verdict(
        FRESH,
        not late,
        False,
        {"batches": len(found), "late": len(late), "hours": watch.release_within_hours},
        f"Every batch is released within {watch.release_within_hours:g} hours of its arrival.",
        reasons=[one.line for one in late],
    )
    return verdict.unless(not found, "nothing arrived")


def operation_html(
    lines: Sequence[RunLine],
    found: Sequence[BatchStatus],
    late: Sequence[Late],
    watch: WatchSettings,
) -> str:
    """Return the page on runs and batches."""
    header, rows = _run_rows(lines[:_ON_PAGE], watch)
    tally, states = total(found), Counter(one.state.value for one in found)
    seconds = sum(line.seconds for line in lines)
    tiles = {
        "Batches": (f"{len(found):,}", ", ".join(f"{n:,} {state}" for state, n in states.items())),
        "Late": (f"{len(late):,}", f"arrived over {watch.release_within_hours:g} h ago"),
        "Notes released": (f"{tally.released:,}", f"of {tally.received:,} received"),
        "Time of assets": (f"{seconds / 3600:,.2f} h", f"in {len(lines):,} runs"),
        **_cost_tile(lines, watch),
    }
    return study_html(
        kind="Operation",
        title="Runs and releases",
        about="What ran, what it took, and which batches are late.",
        tiles=tiles,
        sections=[
            Section(
                "Late batches",
                text="" if late else "None.",
                columns=("Batch", "State", "Hours since it arrived") if late else (),
                rows=[(one.batch, one.state.value, f"{one.hours:,.0f}") for one in late],
                left=2,
            ),
            Section(
                "Runs",
                text=(
                    "Seconds are those of the assets that a run stored, without its start. Spans"
                    f" are merged ones. The latest {min(len(lines), _ON_PAGE):,} of"
                    f" {len(lines):,}."
                ),
                columns=header if rows else (),
                rows=rows,
                left=2,
            ),
        ],
        provenance={"made": datetime.now(UTC).isoformat(timespec="seconds")},
    )


def _cost_tile(lines: Sequence[RunLine], watch: WatchSettings) -> dict[str, tuple[str, str]]:
    if not watch.price_per_hour:
        return {}
    cost, notes = sum(line.cost for line in lines), sum(line.notes for line in lines)
    each = f"{1e6 * cost / notes:,.2f} for a million notes" if notes else "no notes"
    return {"Cost": (f"{cost:,.2f} {watch.currency}", each)}


def _run_rows(
    lines: Sequence[RunLine], watch: WatchSettings
) -> tuple[list[str], list[tuple[str, ...]]]:
    header = ["Run", "Started", "Batches", "Assets", "Notes", "Spans", "Seconds", "Notes/s"]
    priced = bool(watch.price_per_hour)
    rows = [
        (
            line.run[:8],
            line.started.strftime("%Y-%m-%d %H:%M"),
            f"{len(line.batches):,}",
            f"{line.assets:,}",
            f"{line.notes:,}",
            f"{line.spans:,}",
            f"{line.seconds:,.1f}",
            f"{line.notes_per_second:,.1f}",
            *([f"{line.cost:,.4f}"] if priced else []),
        )
        for line in lines
    ]
    return [*header, *([f"Cost, {watch.currency}"] if priced else [])], rows


def _run_record(line: RunLine) -> dict[str, object]:
    return {
        "run": line.run,
        "started": line.started.isoformat(timespec="seconds"),
        "batches": len(line.batches),
        "assets": line.assets,
        "notes": line.notes,
        "spans": line.spans,
        "seconds": round(line.seconds, 3),
        "notes_per_second": round(line.notes_per_second, 3),
        "cost": round(line.cost, 6),
    }


def make_drift(_batch: str, installation: Installation) -> AssetOutput:
    """Count each batch that was not counted yet, and compare the newest with those before."""
    watch = installation.settings.watch
    known = {one.batch: one for one in read_profiles(installation.files)}
    profiles = sorted(
        _profiles(installation, known), key=lambda profile: (profile.arrived_at, profile.batch)
    )
    found = deviations(profiles, watch)
    newest = {profile.batch for profile in profiles[-watch.drift_batches :]}
    plots = {name: _plot(name, profiles, found) for name in MEASURES} if profiles else {}
    page = installation.settings.reports / "drift.html"
    html = drift_html(profiles, found, plots, watch)
    return AssetOutput(
        tables={"profiles": pa.Table.from_pylist([_record(one) for one in profiles], PROFILES)},
        sources=[],
        verdicts=[_judge_drift(name, found, newest, watch) for name in MEASURES],
        counts={
            "batches": len(profiles),
            "counted_now": sum(known.get(one.batch) != one for one in profiles),
            "off": len({one.batch for one in found if one.is_off}),
        },
        metadata={
            **show_page(page),
            **{f"plot_{name}": show_png(png, title=_SAID[name][0]) for name, png in plots.items()},
        },
        publish=lambda _: _write(page, html),
    )


def read_profiles(files: StoreFiles) -> list[BatchProfile]:
    """Return what was counted before; nothing where there is none, or it was altered, or an earlier
    version counted less.
    """
    try:
        if files.find(DRIFT, ALL) is None:
            return []
        rows = files.read(DRIFT, ALL, "profiles").to_pylist()
    except DeidError:
        return []
    return [
        BatchProfile(
            **{
                **row,
                "labels": json.loads(row["labels"]),
                "languages": json.loads(row["languages"]),
                "layouts": json.loads(row["layouts"]),
            }
        )
        for row in rows
        if "layouts" in row
    ]


def _profiles(
    installation: Installation, known: Mapping[str, BatchProfile]
) -> Iterator[BatchProfile]:
    """Yield the profile of every batch whose spans are merged."""
    files = installation.files
    for batch in open_batches(installation.settings, files):
        raw, merged = files.find("raw_notes", batch), files.find(MERGED_SPANS, batch)
        if raw is None or merged is None or merged.inputs.get(raw.name) != raw.digest:
            continue
        source = f"{raw.digest[:16]}+{merged.digest[:16]}"
        before = known.get(batch)
        yield (
            before if before and before.source == source else _profile(installation, batch, source)
        )


def _profile(installation: Installation, batch: str, source: str) -> BatchProfile:
    notes = read_notes_of(batch, installation)
    spans = installation.files.read(MERGED_SPANS, batch, "spans")
    arrival = find_arrival(installation.files, batch)
    words, unknown = word_counts(notes)
    return BatchProfile(
        batch=batch,
        arrived_at=arrival.arrived_at if arrival else "",
        source=source,
        notes=len(notes),
        words=words,
        unknown=unknown,
        labels=dict(sorted(Counter(spans.column("label").to_pylist()).items())),
        languages=dict(sorted(Counter(note.lang or "unknown" for note in notes).items())),
        layouts=cluster_layouts(note.text for note in notes),
    )


def _record(one: BatchProfile) -> dict[str, object]:
    return {
        "batch": one.batch,
        "arrived_at": one.arrived_at,
        "source": one.source,
        "notes": one.notes,
        "words": one.words,
        "unknown": one.unknown,
        "labels": json.dumps(one.labels),
        "languages": json.dumps(one.languages),
        "layouts": json.dumps(one.layouts),
    }


def _judge_drift(
    name: str, found: Sequence[Deviation], newest: set[str], watch: WatchSettings
) -> Verdict:
    judged = [one for one in found if one.measure == name and one.batch in newest]
    off = [one for one in judged if one.is_off]
    verdict = Verdict(
        name,
        not off,
        False,
        {"batches": len(judged), "off": len(off)},
        f"{_SAID[name][0]}: as in the batches before.",
        reasons=[one.line for one in off],
    )
    return verdict.unless(not judged, f"fewer than {watch.drift_after + 1} batches")


def _plot(name: str, profiles: Sequence[BatchProfile], found: Sequence[Deviation]) -> bytes:
    by_batch = {one.batch: one for one in found if one.measure == name}
    points = [
        point
        for profile in profiles
        if (point := _point(name, profile, by_batch.get(profile.batch)))
    ]
    title, measure = _SAID[name]
    return series_png(points, title=title, measure=measure)


def _point(name: str, profile: BatchProfile, one: Deviation | None) -> SeriesPoint | None:
    """Return what is drawn of a batch; nothing of a mix that nothing came before."""
    if one is not None:
        low = max(0.0, one.usual - one.limit)
        return SeriesPoint(profile.batch, one.value, low, one.usual + one.limit, one.is_off)
    values = {
        "spans_per_1000_words": profile.spans_per_1000,
        "unknown_words": profile.unknown_share,
    }
    return SeriesPoint(profile.batch, values[name]) if name in values else None


def drift_html(
    profiles: Sequence[BatchProfile],
    found: Sequence[Deviation],
    plots: Mapping[str, bytes],
    watch: WatchSettings,
) -> str:
    """Return the page on drift."""
    off = [one for one in found if one.is_off]
    return study_html(
        kind="Operation",
        title="Drift over the batches",
        about=(
            f"Each batch beside those before it, once there are {watch.drift_after}. A warning"
            " stops nothing: look at the batch, and annotate a sample of it."
        ),
        tiles={
            "Batches": (f"{len(profiles):,}", f"{sum(one.notes for one in profiles):,} notes"),
            "Differ": (f"{len({one.batch for one in off}):,}", "in one figure or more"),
        },
        sections=[
            Section("What differs", text="" if off else "Nothing.", points=[x.line for x in off]),
            *(
                Section(_SAID[name][0], pictures={_describe_picture(name): png})
                for name, png in plots.items()
            ),
            _list_profiles(profiles[-_ON_PAGE:]),
        ],
        provenance={"made": datetime.now(UTC).isoformat(timespec="seconds")},
    )


def _list_profiles(profiles: Sequence[BatchProfile]) -> Section:
    """Return a row per batch, the newest first."""
    rows = [
        (
            one.batch,
            one.arrived_at[:16].replace("T", " "),
            f"{one.notes:,}",
            f"{one.words:,}",
            f"{one.spans_per_1000:,.1f}",
            f"{one.unknown_share:.1%}",
            ", ".join(f"{lang} {n:,}" for lang, n in one.languages.items()),
        )
        for one in reversed(profiles)
    ]
    columns = (
        "Batch",
        "Arrived",
        "Notes",
        "Words",
        "Spans in 1,000 words",
        "Unknown words",
        "Languages",
    )
    return Section("Batches", columns=columns if rows else (), rows=rows, left=2)


def _describe_picture(name: str) -> str:
    title = _SAID[name][0]
    return f"{title}. Grey: as in the batches before. Red: outside of that."


def _write(page: Path, html: str) -> None:
    page.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(page) as file:
        file.write(html.encode())
