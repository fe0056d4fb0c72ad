"""Arrow tables from notes, spans and failures, and back again.

Column types are fixed by the schemas below, so that a file means the same whichever batch it came
from. Only ``NOTES`` holds text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deid_assets.core.detector import Failed
from deid_assets.core.errors import DigestError, InputError
from deid_assets.core.label_maps import PHI
from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans, Span, SpanSet
from deid_assets.evaluation.score import Evaluation

NOTES = pa.schema(
    [
        pa.field("note_id", pa.string(), nullable=False),
        # 64-bit offsets: the texts of one batch may exceed 2 GiB.
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("patient_id", pa.string()),
        pa.field("lang", pa.string()),
        pa.field("meta", pa.large_string(), nullable=False),
        pa.field("digest", pa.string(), nullable=False),
    ]
)
"""One row per note; ``meta`` is a JSON object of strings."""

SPAN_NOTES = pa.schema(
    [
        pa.field("note_id", pa.string(), nullable=False),
        pa.field("digest", pa.string(), nullable=False),
        pa.field("n_spans", pa.int32(), nullable=False),
    ]
)
"""One row per note, also for the note in which nothing was found."""

SPANS = pa.schema(
    [
        pa.field("note_id", pa.string(), nullable=False),
        pa.field("start", pa.int32(), nullable=False),
        pa.field("end", pa.int32(), nullable=False),
        pa.field("label", pa.string(), nullable=False),
        pa.field("score", pa.float64(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("native_label", pa.string(), nullable=False),
    ]
)
"""One row per span, in the order of ``SPAN_NOTES``; offsets are code points."""

FAILED = pa.schema(
    [pa.field(name, pa.string(), nullable=False) for name in ("note_id", "stage", "error")]
)
"""One row per note that could not be processed."""

SCORES = pa.schema([pa.field(name, pa.string(), nullable=False) for name in ("name", "evaluation")])


def notes_to_table(notes: Iterable[Note]) -> pa.Table:
    """Return the notes as a table with schema ``NOTES``; the only table that holds text."""
    rows = list(notes)
    columns = {
        "note_id": [note.note_id for note in rows],
        "text": [note.text for note in rows],
        "patient_id": [note.patient_id for note in rows],
        "lang": [note.lang for note in rows],
        "meta": [
            json.dumps(dict(note.meta), sort_keys=True) if note.meta else "{}" for note in rows
        ],
        "digest": [note.digest for note in rows],
    }
    return pa.table(columns, schema=NOTES)


def notes_from_table(table: pa.Table) -> list[Note]:
    """Return the notes of a table, in order, each with its digest computed again.

    Raises:
        InputError: A column is missing.
        DigestError: A text is not the one its digest was taken from.
    """
    _require(table, NOTES, "notes")
    columns = [table.column(name).to_pylist() for name in NOTES.names]
    return [_note(*row) for row in zip(*columns, strict=True)]


def _note(  # noqa: PLR0917 - one argument per column, called from one place
    note_id: str, text: str, patient_id: str | None, lang: str | None, meta: str, digest: str
) -> Note:
    note = Note(note_id, text, patient_id, lang, {} if meta == "{}" else json.loads(meta))
    if note.digest != digest:
        raise DigestError(
            f"note {note_id!r}: stored digest {digest[:12]}, but the stored text has"
            f" {note.digest[:12]}; the file was altered, write the notes again"
        )
    return note


def spans_to_tables(span_sets: Iterable[SpanSet]) -> tuple[pa.Table, pa.Table]:
    """Return the span sets as two tables, schemas ``SPAN_NOTES`` and ``SPANS``.

    Raises:
        InputError: Two span sets are for the same note.
    """
    sets = list(span_sets)
    note_ids = [spans.note_id for spans in sets]
    if len(set(note_ids)) != len(note_ids):
        raise InputError("span sets: a note id appears twice; give one span set per note")
    sizes = np.fromiter((len(spans.spans) for spans in sets), dtype=np.int32, count=len(sets))
    notes = pa.table(
        {"note_id": note_ids, "digest": [spans.digest for spans in sets], "n_spans": sizes},
        schema=SPAN_NOTES,
    )
    flat = [span for spans in sets for span in spans.spans]
    columns = {
        "note_id": (
            pa.array(note_ids, pa.string()).take(pa.array(np.repeat(np.arange(len(sets)), sizes)))
        ),
        "start": [span.start for span in flat],
        "end": [span.end for span in flat],
        "label": [span.label.value for span in flat],
        "score": [span.score for span in flat],
        "source": [span.source for span in flat],
        "native_label": [span.native_label for span in flat],
    }
    return notes, pa.table(columns, schema=SPANS)


@overload
def spans_from_tables(
    notes: pa.Table, spans: pa.Table, *, disjoint: Literal[False] = False
) -> list[SpanSet]: ...


@overload
def spans_from_tables(
    notes: pa.Table, spans: pa.Table, *, disjoint: Literal[True]
) -> list[DisjointSpans]: ...


def spans_from_tables(
    notes: pa.Table, spans: pa.Table, *, disjoint: bool = False
) -> list[SpanSet] | list[DisjointSpans]:
    """Return one span set per row of ``notes``, in order; a note without spans gives an empty set.

    Args:
        notes: Columns of ``SPAN_NOTES``.
        spans: Columns of ``SPANS``, in any order.
        disjoint: Return ``DisjointSpans``.

    Raises:
        InputError: A column is missing, a note id is doubled, or the two tables do not agree.
        UnknownLabelError: A label is not a PHI category.
        OffsetError: A span is empty, reversed or negative.
        OverlapError: ``disjoint`` was asked for and two spans overlap.
    """
    _require(notes, SPAN_NOTES, "span notes")
    _require(spans, SPANS, "spans")
    spans, edges = _by_note(notes, spans)
    flat = list(map(Span, *_span_columns(spans)))
    sets = zip(
        notes.column("note_id").to_pylist(),
        notes.column("digest").to_pylist(),
        edges,
        edges[1:],
        strict=False,
    )
    if disjoint:
        return [
            DisjointSpans(note_id, digest, tuple(flat[start:end]))
            for note_id, digest, start, end in sets
        ]
    return [
        SpanSet(note_id, digest, tuple(flat[start:end])) for note_id, digest, start, end in sets
    ]


def spans_by_note(spans: pa.Table) -> dict[str, list[Span]]:
    """Return the spans of a table by note id, where no table of notes is beside it.

    Args:
        spans: Columns of ``SPANS``.

    Raises:
        InputError: A column is missing.
        UnknownLabelError: A label is not a PHI category.
        OffsetError: A span is empty, reversed or negative.
    """
    _require(spans, SPANS, "spans")
    found: dict[str, list[Span]] = {}
    for note_id, *of_span in zip(
        spans.column("note_id").to_pylist(), *_span_columns(spans), strict=True
    ):
        found.setdefault(note_id, []).append(Span(*of_span))
    return found


def _by_note(notes: pa.Table, spans: pa.Table) -> tuple[pa.Table, list[int]]:
    """Return the spans in the order of ``notes``, and the row at which each note begins, plus the
    end.
    """
    note_ids = notes.column("note_id").combine_chunks()
    if pc.count_distinct(note_ids).as_py() != len(note_ids):
        raise InputError("span notes: a note id appears twice; write the spans again")
    place = pc.index_in(spans.column("note_id"), value_set=note_ids)
    if place.null_count:
        raise InputError(
            f"spans: {place.null_count} rows name a note that the notes table lacks; write both"
            " again"
        )
    rows = place.to_numpy()
    if (np.diff(rows) < 0).any():
        order = np.argsort(rows, kind="stable")
        spans, rows = spans.take(pa.array(order)), rows[order]
    sizes = np.bincount(rows, minlength=len(note_ids))
    wrong = np.flatnonzero(sizes != notes.column("n_spans").to_numpy())
    if len(wrong):
        raise InputError(
            f"note {note_ids[int(wrong[0])].as_py()!r}: {sizes[wrong[0]]} spans stored, another"
            f" number declared, and so for {len(wrong)} notes; write both tables again"
        )
    return spans, [0, *np.cumsum(sizes).tolist()]


def _span_columns(spans: pa.Table) -> list[list[Any]]:
    """Return the arguments of ``Span``, column by column.

    Strings repeat, so each is converted once.
    """
    columns = [spans.column("start").to_numpy().tolist(), spans.column("end").to_numpy().tolist()]
    columns.append(
        _repeat(
            spans,
            "label",
            {label: PHI[label] for label in spans.column("label").unique().to_pylist()},
        )
    )
    columns.append(spans.column("score").to_numpy().tolist())
    return [*columns, _repeat(spans, "source"), _repeat(spans, "native_label")]


def _repeat(table: pa.Table, name: str, converted: dict[Any, Any] | None = None) -> list[Any]:
    encoded = table.column(name).combine_chunks().dictionary_encode()
    values = encoded.dictionary.to_pylist()
    if converted is not None:
        values = [converted[value] for value in values]
    return list(map(values.__getitem__, encoded.indices.to_numpy().tolist()))


def failed_to_table(failures: Iterable[Failed]) -> pa.Table:
    """Return the failures as a table with schema ``FAILED``."""
    rows: Sequence[Failed] = list(failures)
    return pa.table(
        {name: [getattr(failed, name) for failed in rows] for name in FAILED.names}, schema=FAILED
    )


def failed_from_table(table: pa.Table) -> list[Failed]:
    """Return the failures of a table, in order.

    Raises:
        InputError: A column is missing.
    """
    _require(table, FAILED, "failures")
    columns = [table.column(name).to_pylist() for name in FAILED.names]
    return [Failed(*row) for row in zip(*columns, strict=True)]


def _require(table: pa.Table, schema: pa.Schema, what: str) -> None:
    missing = [name for name in schema.names if name not in table.column_names]
    if missing:
        raise InputError(
            f"{what} table lacks {', '.join(missing)}; it must have {', '.join(schema.names)}"
        )
    empty = [
        field.name for field in schema if not field.nullable and table.column(field.name).null_count
    ]
    if empty:
        raise InputError(f"{what} table has missing values in {', '.join(empty)}; write it again")


def scores_to_table(evaluations: Mapping[str, Evaluation]) -> pa.Table:
    """Return one row per evaluation, its counts as JSON."""
    rows = [
        {"name": name, "evaluation": json.dumps(found.to_json())}
        for name, found in evaluations.items()
    ]
    return pa.Table.from_pylist(rows, SCORES)


def scores_from_table(table: pa.Table) -> dict[str, Evaluation]:
    """Return the evaluations of a table by name."""
    return {
        row["name"]: Evaluation.from_json(json.loads(row["evaluation"]))
        for row in table.to_pylist()
    }
