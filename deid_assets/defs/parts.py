"""Parts of a batch, each with all notes of its patients: what a worker process redacts and checks by itself.

Tables go to a worker and come back; Arrow crosses at the speed of memory, spans and edits one by one do not.
Nothing here imports Dagster, which a worker would import for nothing.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deid_assets.config import Settings
from deid_assets.core.detector import Failed
from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.pipeline import by_note, redact_all
from deid_assets.core.redact import Policy, Redacted
from deid_assets.core.resolve import LineUp, resolve
from deid_assets.core.span import DisjointSpans, SpanSet
from deid_assets.policies.surrogate import originals_of
from deid_assets.quality.survival import Audit, Survival, survival_by_note
from deid_assets.quality.text_checks import is_unchanged_outside
from deid_assets.store.frames import (
    failed_from_table,
    failed_to_table,
    notes_from_table,
    spans_from_tables,
)

MERGED = "merged_spans"
Numbers = npt.NDArray[np.int64]
PART_CHARS = 200_000
"""Text in a part: enough to hide the cost of sending it, and a small share of a batch, so that no worker idles long."""

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
        *(pa.field(name, pa.int32(), nullable=False) for name in ("start", "end", "new_start", "new_end")),
        pa.field("label", pa.string(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class Part:
    """Some notes and what is known of them, as the store's tables have it; whole batches too.

    Args:
        notes: Schema ``frames.NOTES``.
        merged: The line-up's spans: ``frames.SPAN_NOTES`` and ``frames.SPANS``.
        failed: ``frames.FAILED``, the notes that the line-up failed on.
        gold: People's spans to be redacted or sought, as ``merged``.
    """

    notes: pa.Table
    merged: tuple[pa.Table, pa.Table]
    failed: pa.Table
    gold: tuple[pa.Table, pa.Table]


@dataclass(frozen=True, slots=True)
class Made:
    """What became of the notes of a part.

    Args:
        notes: Schema ``NOTES``; those in which no known value survives.
        edits: Schema ``EDITS``, of these notes.
        failed: Schema ``frames.FAILED``; all other notes.
        changed: Ids of notes that are not the original outside of their edits.
        survival: What is left, for each row of ``notes``.
        values: Number of known values sought.
        fallbacks: Note id to tags per category that stand because the policy's action could not be carried out.
    """

    notes: pa.Table
    edits: pa.Table
    failed: pa.Table
    changed: frozenset[str]
    survival: Mapping[str, Survival]
    values: int
    fallbacks: Mapping[str, Mapping[str, int]]


def parts_of(batch: Part) -> list[Part]:
    """Return a batch in parts; which note is in which depends on the batch alone, not on the number of workers.

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
            raise InputError("spans: a row names a note that the notes table lacks; write both again")
        tables += [split(spanned, of_spanned, count), split(spans, of_spanned[rows], count)]
    places = places_of(batch.failed, ids)
    tables.append(split(batch.failed, np.where(places < 0, -1, number[places]), count))
    return [
        Part(notes, (merged, merged_spans), failed, (gold, gold_spans))
        for notes, merged, merged_spans, gold, gold_spans, failed in zip(*tables, strict=True)
    ]


def _numbers(notes: pa.Table) -> Numbers:
    """Return the number of each note's part: that of its patient, the patients in the order of their first notes."""
    ids, patients = notes.column("note_id").to_pylist(), notes.column("patient_id").to_pylist()
    owners = [
        (patient is not None, note if patient is None else patient) for note, patient in zip(ids, patients, strict=True)
    ]
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
    places: Numbers = pc.index_in(table.column("note_id"), value_set=ids).fill_null(-1).to_numpy().astype(np.int64)
    return places


def split(table: pa.Table, number: Numbers, count: int) -> list[pa.Table]:
    """Return the rows of each number below ``count``, in order, as tables of their own that share no memory."""
    order = np.argsort(number, kind="stable")
    edges = np.searchsorted(number[order], np.arange(count + 1))
    return [table.take(pa.array(order[start:end])) for start, end in pairwise(edges)]


def originals_in(part: Part, *, policy: Policy, settings: Settings) -> Container[str]:
    """Return the values of a part that no surrogate may be."""
    known = _Known.of(part, policy, redact_gold=settings.redact_gold)
    return originals_of(policy, settings.key(), ((note, known.spans[note.note_id]) for note in known.notes))


def redact_part(part: Part, *, policy: Policy, settings: Settings, stage: str, originals: Container[str]) -> Made:
    """Redact a part of a batch and look for known values that are left.

    The key is read where it is needed, and is not sent.

    Args:
        part: With all notes of its patients, since a value counts in each of them.
        policy: What to redact with.
        settings: Of the installation.
        stage: Named by failures.
        originals: Values of the whole batch, which no surrogate may be.
    """
    known = _Known.of(part, policy, redact_gold=settings.redact_gold)
    outcomes = redact_all(known.notes, known.spans, policy, key=settings.key(), stage=stage, originals=originals)
    pairs = [(note, found) for note, found in zip(known.notes, outcomes, strict=True) if isinstance(found, Redacted)]
    left, values = survival_by_note(known.audit(note, found, policy) for note, found in pairs)
    survival = {note.note_id: one for (note, _), one in zip(pairs, left, strict=True)}
    kept = [(note, found) for note, found in pairs if not survival[note.note_id].survivors]
    failed = [
        *known.withheld,
        *(found for found in outcomes if isinstance(found, Failed)),
        *(Failed(note_id, stage, "surviving-value") for note_id, one in survival.items() if one.survivors),
    ]
    return Made(
        notes=_notes_table(kept),
        edits=_edits_table([found for _, found in kept]),
        failed=failed_to_table(failed),
        changed=frozenset(
            note.note_id for note, found in kept if not is_unchanged_outside(note, found.edits, found.text)
        ),
        survival={note.note_id: survival[note.note_id] for note, _ in kept},
        values=values,
        fallbacks={
            found.note_id: {label.value: count for label, count in found.fallbacks.items()}
            for _, found in kept
            if found.fallbacks
        },
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """The notes that can be redacted with what must be replaced in each, and the notes withheld before."""

    notes: Sequence[Note]
    spans: Mapping[str, DisjointSpans]
    gold: Mapping[str, SpanSet]
    withheld: Sequence[Failed]

    @classmethod
    def of(cls, part: Part, policy: Policy, *, redact_gold: bool) -> "_Known":
        """Read a part; what people marked as a name is one, also where a detector takes it for what may be left."""
        merged = by_note([*spans_from_tables(*part.merged, disjoint=True), *failed_from_table(part.failed)])
        gold = {spans.note_id: spans for spans in spans_from_tables(*part.gold)}
        ready, withheld, known = list[Note](), list[Failed](), dict[str, DisjointSpans]()
        for note in notes_from_table(part.notes):
            found = merged.get(note.note_id, Failed(note.note_id, MERGED, "Missing"))
            if isinstance(found, Failed):
                withheld.append(found)
                continue
            also = gold.get(note.note_id) if redact_gold else None
            known[note.note_id] = _together(note, found, also, policy)
            ready.append(note)
        return cls(ready, known, gold, withheld)

    def audit(self, note: Note, found: Redacted, policy: Policy) -> Audit:
        """Return what the survival check needs; values of categories that the policy keeps are not sought."""
        sought = (*self.spans[note.note_id], *self.gold.get(note.note_id, ()))
        return Audit(note, [span for span in sought if span.label not in policy.keep], found.edits)


def _together(note: Note, merged: SpanSet, gold: SpanSet | None, policy: Policy) -> DisjointSpans:
    """Return the merged spans with people's, which need resolving only where there are such."""
    if gold is None and isinstance(merged, DisjointSpans):
        return merged.checked(note)
    opinions = [merged] if gold is None else [merged, gold]
    sources = dict.fromkeys(span.source for opinion in opinions for span in opinion) or {MERGED: None}
    return resolve(note, opinions, line_up=LineUp(tuple(sources), yielding=policy.may_leave))


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
