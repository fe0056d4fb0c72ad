"""Metrics of an installation, from receipts, the catalogue and what was counted for drift."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import UTC, datetime

from sqlalchemy.exc import SQLAlchemyError

from deid_assets.assets.operating import read_profiles
from deid_assets.config import Settings
from deid_assets.intake.states import BatchState, BatchStatus, look_at_all, total
from deid_assets.operation.drift import MEASURES, BatchProfile, deviations
from deid_assets.operation.freshness import late_batches
from deid_assets.operation.metrics import Metric
from deid_assets.store.files import StoreFiles


def metrics_of(settings: Settings, files: StoreFiles) -> list[Metric]:
    """Return the metrics of an installation; nothing is changed, and no text is read."""
    return [
        *_of_batches(settings, look_at_all(settings, files)),
        *_of_runs(settings),
        *_of_drift(settings, read_profiles(files)),
    ]


def _of_batches(settings: Settings, found: Sequence[BatchStatus]) -> Iterator[Metric]:
    states = Counter(one.state for one in found)
    yield Metric(
        "batches",
        "gauge",
        "Batches by state.",
        "state",
        {state.value: states[state] for state in BatchState},
    )
    tally = total(found)
    yield Metric(
        "notes",
        "gauge",
        "Notes that arrived by what became of them.",
        "state",
        {part.name: getattr(tally, part.name) for part in fields(tally)},
    )
    late = late_batches(found, within_hours=settings.watch.release_within_hours)
    yield Metric("batches_late", "gauge", "Batches whose release is late.", values={"": len(late)})
    oldest = max((one.hours for one in late), default=0.0) * 3600
    yield Metric(
        "oldest_late_batch_seconds",
        "gauge",
        "Age of the oldest batch whose release is late; 0 where none is.",
        values={"": round(oldest) if oldest != float("inf") else 0},
    )


def _of_runs(settings: Settings) -> Iterator[Metric]:
    """Yield what the catalogue has; nothing where there is no catalogue yet."""
    from deid_assets.store import records  # noqa: PLC0415 - SQLModel takes 0.3 s to import
    from deid_assets.store.database import Database  # noqa: PLC0415

    if not settings.database_url and not (settings.home / "deid.sqlite").is_file():
        return
    database = Database(settings.sql_url)
    try:
        with database.session(read_only=True) as session:
            rows, releases = records.load_runs(session), records.load_releases(session)
    except SQLAlchemyError:
        yield Metric("catalogue_up", "gauge", "Whether the catalogue answers.", values={"": 0})
        return
    finally:
        database.close()
    yield Metric("catalogue_up", "gauge", "Whether the catalogue answers.", values={"": 1})
    seconds: Counter[str] = Counter()
    for row in rows:
        seconds[row.asset] += row.seconds  # type: ignore[assignment]  # a Counter takes any number
    made, notes = Counter(row.asset for row in rows), Counter[str]()
    for row in rows:
        notes[row.asset] += row.notes
    for name, told, values in (
        ("asset_materializations_total", "Times that an asset was made.", made),
        ("asset_seconds_total", "Seconds that making an asset took.", seconds),
        ("asset_notes_total", "Notes of the batches that an asset was made of.", notes),
    ):
        yield Metric(name, "counter", told, "asset", dict(sorted(values.items())))
    last = max((one.created_at for one in releases), default=datetime.fromtimestamp(0, UTC))
    yield Metric(
        "last_release_timestamp_seconds",
        "gauge",
        "When the last batch was released, in Unix time; 0 where none was.",
        values={"": round(last.timestamp())},
    )


def _of_drift(settings: Settings, profiles: Sequence[BatchProfile]) -> Iterator[Metric]:
    """Yield the figures of the newest batch, and how many of the newest are off."""
    if not profiles:
        return
    newest, watch = profiles[-1], settings.watch
    yield Metric(
        "spans_per_1000_words",
        "gauge",
        "Spans in 1,000 words of the newest batch.",
        values={"": newest.spans_per_1000},
    )
    yield Metric(
        "unknown_words_ratio",
        "gauge",
        "Share of words of the newest batch that no list knows.",
        values={"": newest.unknown_share},
    )
    yield Metric(
        "batch_spans",
        "gauge",
        "Spans of the newest batch by category.",
        "category",
        newest.labels,
    )
    judged = {one.batch for one in profiles[-watch.drift_batches :]}
    off = Counter(
        one.measure for one in deviations(profiles, watch) if one.is_off and one.batch in judged
    )
    yield Metric(
        "drift_batches_off",
        "gauge",
        "Newest batches that differ from those before.",
        "measure",
        {name: off[name] for name in MEASURES},
    )
