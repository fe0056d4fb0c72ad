"""Parts of a batch, each with all notes of its patients: what a worker process redacts by itself.

Tables go to a worker and come back; Arrow crosses at the speed of memory, spans and edits one by
one do not. Nothing here imports Dagster, which a worker would import for nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deid_assets.core.detector import Failed
from deid_assets.core.errors import InputError
from deid_assets.core.label_maps import PHI
from deid_assets.core.note import Note
from deid_assets.core.redact import Edit, Redacted
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.pipeline.batch import Batch, Survival
from deid_assets.pipeline.resolving import Resolve, by_note
from deid_assets.quality.text_checks import is_unchanged_outside
from deid_assets.store.frames import (
    failed_from_table,
    failed_to_table,
    notes_from_table,
    spans_from_tables,
)

Numbers = npt.NDArray[np.int64]
PART_CHARS = 200_000
"""Text in a part: enough to hide the cost of sending it, and a small share of a batch, so that no
worker idles long.
"""

ALLOWED = "allowed"
"""Table of the merged spans: places that people found to be no identifier, as spans by detector."""

NOTES = pa.schema(
    [
        pa.field("note_id", pa.string(), nullable=False),
        pa.field("patient_id", pa.string()),
        pa.field("lang", pa.string()),
        pa.field("text", pa.string(), nullable=False),
        pa.field("n_edits", pa.int32(), nullable=False),
    ]
)
EDITS = pa.schema(
    [
        pa.field("note_id", pa.string(), nullable=False),
        *(
            pa.field(name, pa.int32(), nullable=False)
            for name in ("start", "end", "new_start", "new_end")
        ),
        pa.field("label", pa.string(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class NoteTables:
    """Notes with their spans, as the store's tables have them: of a part, or of a whole batch.

    Args:
        notes: Schema ``frames.NOTES``.
        merged: The ensemble's spans: ``frames.SPAN_NOTES`` and ``frames.SPANS``.
        failed: ``frames.FAILED``, the notes that the ensemble failed on.
        gold: People's spans to be redacted or sought, as ``merged``.
        hits: Note id to what was found in its redacted text, to be redacted too.
        allowed: Note id to places that people found to be no identifier, which are no hits.
    """

    notes: pa.Table
    merged: tuple[pa.Table, pa.Table]
    failed: pa.Table
    gold: tuple[pa.Table, pa.Table]
    hits: Mapping[str, Sequence[Span]] = field(default_factory=dict)
    allowed: Mapping[str, Sequence[Span]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RedactedTables:
    """Outcomes of the notes of a part, as tables.

    Args:
        notes: Schema ``NOTES``; those in which no known value survives.
        edits: Schema ``EDITS``, of these notes.
        failed: Schema ``frames.FAILED``; all other notes.
        changed: Ids of notes that are not the original outside of their edits.
        survival: What is left, for each row of ``notes``.
        values: Number of known values sought.
        fallbacks: Note id to tags per category that stand because the policy's action could not be
            carried out.
    """

    notes: pa.Table
    edits: pa.Table
    failed: pa.Table
    changed: frozenset[str]
    survival: Mapping[str, Survival]
    values: int
    fallbacks: Mapping[str, Mapping[str, int]]


def parts_of(batch: NoteTables) -> list[NoteTables]:
    """Return a batch in parts.

    Which note is in which depends on the batch alone, not on the number of workers.

    Raises:
        InputError: Spans are of a note that their own table of notes lacks.
    """
    number = _numbers(batch.notes)
    count = int(number.max(initial=0)) + 1
    of_notes = [split(batch.notes, number, count)]
    ids = batch.notes.column("note_id").combine_chunks()
    tables = [of_notes[0]]
    for spanned, spans in (batch.merged, batch.gold):
        places = places_of(spanned, ids)
        of_spanned = np.where(places < 0, -1, number[places])
        rows = places_of(spans, spanned.column("note_id").combine_chunks())
        if (rows < 0).any():
            raise InputError(
                "spans: a row names a note that the notes table lacks; write both again"
            )
        tables += [split(spanned, of_spanned, count), split(spans, of_spanned[rows], count)]
    places = places_of(batch.failed, ids)
    tables.append(split(batch.failed, np.where(places < 0, -1, number[places]), count))
    return [
        NoteTables(
            notes, (merged, merged_spans), failed, (gold, gold_spans), _hits_in(notes, batch.hits)
        )
        for notes, merged, merged_spans, gold, gold_spans, failed in zip(*tables, strict=True)
    ]


def _hits_in(notes: pa.Table, hits: Mapping[str, Sequence[Span]]) -> dict[str, Sequence[Span]]:
    if not hits:
        return {}
    return {one: hits[one] for one in notes.column("note_id").to_pylist() if one in hits}


def _numbers(notes: pa.Table) -> Numbers:
    """Return the number of each note's part.

    That of its patient, the patients in the order of their first notes.
    """
    owners = _owners(notes)
    sizes: dict[tuple[bool, str], int] = {}
    for owner, size in zip(owners, pc.utf8_length(notes.column("text")).to_pylist(), strict=True):
        sizes[owner] = sizes.get(owner, 0) + size
    number_of: dict[tuple[bool, str], int] = {}
    number = filled = 0
    for owner, size in sizes.items():
        if filled >= PART_CHARS:
            number, filled = number + 1, 0
        number_of[owner], filled = number, filled + size
    return np.fromiter((number_of[owner] for owner in owners), dtype=np.int64, count=len(owners))


def places_of(table: pa.Table, ids: pa.Array) -> Numbers:
    """Return, for each row, the place of its note among the ids; -1 where it is not there."""
    places: Numbers = (
        pc.index_in(table.column("note_id"), value_set=ids)
        .fill_null(-1)
        .to_numpy()
        .astype(np.int64)
    )
    return places


def split(table: pa.Table, number: Numbers, count: int) -> list[pa.Table]:
    """Return the rows of each number below ``count``, in order, as tables of their own that share
    no memory.
    """
    order = np.argsort(number, kind="stable")
    edges = np.searchsorted(number[order], np.arange(count + 1))
    return [table.take(pa.array(order[start:end])) for start, end in pairwise(edges)]


def of_whole_patients(batch: NoteTables, notes: pa.Table) -> NoteTables:
    """Return all notes of the patients who have one of these notes of the batch."""
    patients = set(_owners(notes))
    chosen = pa.array([owner in patients for owner in _owners(batch.notes)], pa.bool_())
    return _of_notes(batch, batch.notes.filter(chosen))


def of_patients(batch: NoteTables, hits: Mapping[str, Sequence[Span]]) -> NoteTables:
    """Return the notes of the patients in whose redacted notes something was found, with that."""
    owners = _owners(batch.notes)
    note_ids = batch.notes.column("note_id").to_pylist()
    patients = {owner for note_id, owner in zip(note_ids, owners, strict=True) if note_id in hits}
    chosen = pa.array([owner in patients for owner in owners], pa.bool_())
    return replace(_of_notes(batch, batch.notes.filter(chosen)), hits=hits)


def _owners(notes: pa.Table) -> list[tuple[bool, str]]:
    """Return whose each note is, as ``patient_of`` does."""
    ids, patients = notes.column("note_id").to_pylist(), notes.column("patient_id").to_pylist()
    return [
        (patient is not None, note if patient is None else patient)
        for note, patient in zip(ids, patients, strict=True)
    ]


def _of_notes(batch: NoteTables, notes: pa.Table) -> NoteTables:
    """Return a batch with these of its notes alone."""
    ids = notes.column("note_id").combine_chunks()

    def only(table: pa.Table) -> pa.Table:
        return table.filter(pc.is_in(table.column("note_id"), value_set=ids))

    merged, merged_spans = batch.merged
    gold, gold_spans = batch.gold
    return NoteTables(
        notes,
        (only(merged), only(merged_spans)),
        only(batch.failed),
        (only(gold), only(gold_spans)),
    )


def batch_of(part: NoteTables) -> Batch:
    """Return a part as the steps take it; withheld is a note without spans that can be replaced."""
    merged = by_note(
        [*spans_from_tables(*part.merged, disjoint=True), *failed_from_table(part.failed)]
    )
    notes = notes_from_table(part.notes)
    spans: dict[str, DisjointSpans] = {}
    withheld: dict[str, Failed] = {}
    for note in notes:
        outcome = merged.get(note.note_id, Failed(note.note_id, Resolve.name, "Missing"))
        if isinstance(outcome, DisjointSpans):
            spans[note.note_id] = outcome.check_against(note)
        elif isinstance(outcome, Failed):
            withheld[note.note_id] = outcome
        else:
            withheld[note.note_id] = Failed(note.note_id, Resolve.name, "Overlapping")
    annotated = {one.note_id: one for one in spans_from_tables(*part.gold)}
    return Batch(notes, spans, annotated, hits=part.hits, withheld=withheld)


def tables_of(batch: Batch) -> RedactedTables:
    """Return what became of the notes of a part."""
    passed = batch.passed
    return RedactedTables(
        notes=_notes_table(passed),
        edits=_edits_table([redacted for _, redacted in passed]),
        failed=failed_to_table(one for one in batch.outcomes if isinstance(one, Failed)),
        changed=frozenset(
            note.note_id
            for note, redacted in passed
            if not is_unchanged_outside(note, redacted.edits, redacted.text)
        ),
        survival={note.note_id: batch.left[note.note_id] for note, _ in passed},
        values=batch.values,
        fallbacks={
            redacted.note_id: {label.value: count for label, count in redacted.fallbacks.items()}
            for _, redacted in passed
            if redacted.fallbacks
        },
    )


def _notes_table(pairs: Sequence[tuple[Note, Redacted]]) -> pa.Table:
    columns = {
        "note_id": [note.note_id for note, _ in pairs],
        "patient_id": [note.patient_id for note, _ in pairs],
        "lang": [note.lang for note, _ in pairs],
        "text": [found.text for _, found in pairs],
        "n_edits": [len(found.edits) for _, found in pairs],
    }
    return pa.table(columns, schema=NOTES)


def _edits_table(done: Sequence[Redacted]) -> pa.Table:
    edits = [edit for found in done for edit in found.edits]
    columns = {
        "note_id": [found.note_id for found in done for _ in found.edits],
        **{name: [getattr(edit, name) for edit in edits] for name in EDITS.names[1:-1]},
        "label": [edit.label.value for edit in edits],
    }
    return pa.table(columns, schema=EDITS)


def rebuild_redacted(notes: pa.Table, edits: pa.Table) -> Iterator[tuple[Note, Redacted]]:
    """Yield redacted notes as they were stored, each as a note of its own and with its edits."""
    offsets = [edits.column(name).to_numpy().tolist() for name in EDITS.names[1:-1]]
    labels = [PHI[label] for label in edits.column("label").to_pylist()]
    found: dict[str, list[Edit]] = {}
    for note_id, *row in zip(edits.column("note_id").to_pylist(), *offsets, labels, strict=True):
        found.setdefault(note_id, []).append(Edit(*row))
    columns = [notes.column(name).to_pylist() for name in ("note_id", "text", "patient_id", "lang")]
    for of_note in zip(*columns, strict=True):
        note = Note(*of_note)
        yield note, Redacted(note.note_id, note.text, tuple(found.get(note.note_id, ())))
