"""Runs by what they did: notes, spans, seconds, notes per second, cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from deid_assets.core.errors import DeidError
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.store.files import ALL, StoreFiles

if TYPE_CHECKING:
    from deid_assets.store.tables import RunRow

_RAW = "raw_notes"


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run of the graph.

    Args:
        run: Dagster's id.
        started: Of its first asset.
        batches: That it made something of.
        assets: That it made.
        notes: Of these batches, each counted once.
        spans: Merged spans that it made.
        seconds: That its assets took.
        cost: Of these seconds; 0 without a price.
    """

    run: str
    started: datetime
    batches: tuple[str, ...]
    assets: int
    notes: int
    spans: int
    seconds: float
    cost: float

    @property
    def notes_per_second(self) -> float:
        """Notes that left its assets each second."""
        return self.notes / self.seconds if self.seconds else 0.0


def run_lines(rows: Iterable[RunRow], files: StoreFiles, *, price_per_hour: float) -> list[RunLine]:
    """Return the runs, the latest first.

    Args:
        rows: Materializations of the catalogue.
        files: The store, whose receipts have the spans.
        price_per_hour: Of the machine.
    """
    by_run: dict[str, list[RunRow]] = {}
    for row in rows:
        by_run.setdefault(row.dagster_run_id, []).append(row)
    lines = [_line(run, of_run, files, price_per_hour) for run, of_run in by_run.items()]
    return sorted(lines, key=lambda line: line.started, reverse=True)


def _line(run: str, rows: Sequence[RunRow], files: StoreFiles, price: float) -> RunLine:
    notes: dict[str, int] = {}
    for row in rows:
        if row.batch != ALL:
            notes[row.batch] = max(notes.get(row.batch, 0), row.notes)
    seconds = sum(row.seconds for row in rows)
    return RunLine(
        run=run,
        started=min(row.started for row in rows),
        batches=tuple(sorted(notes)),
        assets=len(rows),
        notes=sum(notes.values()),
        spans=sum(_spans(row, files) for row in rows if row.asset == MERGED_SPANS),
        seconds=seconds,
        cost=seconds / 3600 * price,
    )


def _spans(row: RunRow, files: StoreFiles) -> int:
    """Return the merged spans of a batch as they are now; 0 where they are gone or altered."""
    try:
        receipt = files.find(row.asset, row.batch)
    except DeidError:
        return 0
    return int(receipt.counts.get("spans", 0)) if receipt else 0
