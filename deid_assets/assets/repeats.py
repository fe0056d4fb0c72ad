"""Notes that arrived in several batches: they are scored once, in the batch that arrived first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from deid_assets.assets.ingest import GOLD
from deid_assets.assets.merging import read_held_out
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import StoreFiles
from deid_assets.store.withdrawals import ARRIVAL

Repeats = Mapping[str, AbstractSet[str]]
"""Batch to the ids of its notes whose text an earlier batch has."""


def gold_batches(installation: Installation) -> list[str]:
    """Return the batches in which people annotated notes."""
    files = installation.files
    return [
        batch
        for batch in files.batches(GOLD)
        if files.receipt(GOLD, batch).counts["annotated_notes"]
    ]


def find_annotated_repeats(installation: Installation) -> Repeats:
    """Return the annotated notes whose text is annotated in an earlier batch."""
    return _repeats(installation.files, GOLD, gold_batches(installation))


def repeats(installation: Installation, batches: Sequence[str]) -> Repeats:
    """Return the notes of some batches whose text is in an earlier one of them.

    Those that were read to their end.
    """
    done = set(installation.files.batches(MERGED_SPANS))
    return _repeats(installation.files, MERGED_SPANS, [batch for batch in batches if batch in done])


def read_scored(
    batch: str, installation: Installation, notes: Iterable[Note], repeated: Repeats
) -> dict[str, SpanSet]:
    """Return the annotations of a batch that scores over all batches may use.

    Each text counts once.
    """
    passed_over = repeated.get(batch, frozenset())
    held_out = read_held_out(batch, installation, notes)
    return {note_id: spans for note_id, spans in held_out.items() if note_id not in passed_over}


def _repeats(files: StoreFiles, asset: str, batches: Sequence[str]) -> Repeats:
    known: set[str] = set()
    found = {}
    for batch in sorted(batches, key=lambda batch: (_read_arrival_time(files, batch), batch)):
        notes = files.read(asset, batch, "notes")
        ids, digests = (notes.column(name).to_pylist() for name in ("note_id", "digest"))
        found[batch] = {
            note_id for note_id, digest in zip(ids, digests, strict=True) if digest in known
        }
        known.update(digests)
    return found


def _read_arrival_time(files: StoreFiles, batch: str) -> str:
    arrival = files.find(ARRIVAL, batch)
    return str(arrival.counts["arrived_at"]) if arrival else ""
