"""What people review of an installation's batches: notes, predictions, merged spans, and the way
back for annotations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.core.assets import Family
from deid_assets.core.errors import InputError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.span import Span, SpanSet
from deid_assets.erasure.allowing import AllowedBatches, AllowOrder, FalseAlarm, allow
from deid_assets.formats import Annotated, Fault, read_notes
from deid_assets.intake.reviewed import return_annotations
from deid_assets.intake.states import batch_ids
from deid_assets.store.atomic import make_folder
from deid_assets.store.files import StoreFiles
from deid_assets.store.frames import notes_from_table, spans_by_note, spans_from_tables
from deid_assets.store.zones import Zone

__all__ = [
    "AllowedBatches",
    "BatchView",
    "FalseAlarm",
    "Key",
    "Settings",
    "allow_values",
    "batch_ids",
    "open_batch",
    "open_restricted_folder",
    "read_annotated",
    "return_to_batch",
]


@dataclass(frozen=True, slots=True)
class BatchView:
    """A batch as it is stored.

    Args:
        batch: Its id.
        notes: That could be read, by id.
        merged: Note ids to what the ensemble's detectors found together.
        predictions: Names of detectors to note ids to what each found; a note that it did not
            read, or failed on, is not there.
        ensemble: The detectors whose predictions are merged.
        digest: Of the receipt of the merged spans.
        allowed: Note ids to places that people found to be no identifier in an earlier review.
    """

    batch: str
    notes: Mapping[str, Note] = field(repr=False)
    merged: Mapping[str, SpanSet] = field(repr=False)
    predictions: Mapping[str, Mapping[str, SpanSet]] = field(repr=False)
    ensemble: tuple[str, ...]
    digest: str
    allowed: Mapping[str, Sequence[Span]] = field(default_factory=dict, repr=False)


def open_batch(settings: Settings, batch: str) -> BatchView:
    """Return a batch with what its detectors found.

    Raises:
        InputError: There is no such batch.
        ProvenanceError: It was not made yet, or something of it was altered.
    """
    if batch not in batch_ids(settings):
        raise InputError("there is no such batch; `deid batches list` names them")
    files = StoreFiles(settings.store, key=settings.receipt_key())
    notes = notes_from_table(files.read("raw_notes", batch, "notes"))
    found = {}
    for asset in sorted({name for name, of in files.partitions() if of == batch}):
        name = Family.SPANS.name_in(asset)
        if name:
            found[name] = _spans(files, asset, batch)
    return BatchView(
        batch,
        {note.note_id: note for note in notes},
        _spans(files, "merged_spans", batch),
        found,
        tuple(name for name in settings.ensemble if name in found),
        files.receipt("merged_spans", batch).digest,
        _read_allowed(files, batch),
    )


def _read_allowed(files: StoreFiles, batch: str) -> dict[str, list[Span]]:
    if "allowed" not in files.receipt("merged_spans", batch).outputs:
        return {}
    return spans_by_note(files.read("merged_spans", batch, "allowed"))


def _spans(files: StoreFiles, asset: str, batch: str) -> dict[str, SpanSet]:
    notes, spans = files.read(asset, batch, "notes"), files.read(asset, batch, "spans")
    return {found.note_id: found for found in spans_from_tables(notes, spans)}


def open_restricted_folder(settings: Settings, name: str, batch: str) -> Path:
    """Return a folder of the restricted zone, its owner's alone, that is erased with a batch."""
    folder = settings.store / Zone.RESTRICTED / name / batch
    make_folder(settings.store, folder, Zone.RESTRICTED)
    return folder


def return_to_batch(settings: Settings, batch: str, gold: Mapping[str, SpanSet]) -> int:
    """Write a batch again with annotations, so that all that rests on it is out of date.

    Raises:
        DigestError: A note has another text than the one that was annotated.
        InputError: The batch has no such note.
        ProvenanceError: The files of the batch are not those that arrived.
    """
    files = StoreFiles(settings.store, key=settings.receipt_key())
    return return_annotations(settings, files, batch, gold)


def allow_values(
    settings: Settings,
    alarms: Sequence[FalseAlarm],
    *,
    by: str,
    reason: str,
    identifiers: Mapping[str, Sequence[Span]],
    is_plan: bool = False,
) -> AllowedBatches:
    """Make a signed rule of each value that people found to be no identifier, so that it is left in
    every batch, and have what rests on it made again.

    Args:
        settings: Of the installation.
        alarms: What was rejected.
        by: Who asks.
        reason: Why; without naming anybody.
        identifiers: Note ids to what reviewers took for an identifier.
        is_plan: Count alone, and make nothing.

    Raises:
        ProvenanceError: The rules, notes or annotations were altered.
    """
    files = StoreFiles(settings.store, key=settings.receipt_key())
    order = AllowOrder(tuple(alarms), by, reason, identifiers)
    return allow(settings, files, order, is_plan=is_plan)


def read_annotated(path: Path, name: str | None) -> Iterator[Annotated | Fault]:
    """Yield the annotated notes of a file or folder in a format, each fault in its place.

    Raises:
        InputError: The path is not there, or the format is unknown or unclear.
    """
    return read_notes(path, format=name)
