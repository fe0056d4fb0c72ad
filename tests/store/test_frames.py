"""Notes, spans and failures survive the way to Arrow and back."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.detector import Failed
from deid_assets.core.errors import DigestError, InputError, OverlapError, UnknownLabelError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import DisjointSpans, Span, SpanSet
from deid_assets.store.frames import (
    failed_from_table,
    failed_to_table,
    notes_from_table,
    notes_to_table,
    spans_from_tables,
    spans_to_tables,
)
from deid_assets.testing import CONTRACT_TEXTS

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
words = st.text(st.characters(categories=["L", "N"]), max_size=12)
spans = st.builds(
    lambda start, size, label, score, source, native: Span(
        start, start + size, label, score, source, native
    ),
    st.integers(0, 10_000),
    st.integers(1, 500),
    st.sampled_from(Phi),
    st.floats(0, 1),
    st.sampled_from(["rules", "gold", "tagger"]),
    words,
)


def note_lists(note_ids: list[str]) -> st.SearchStrategy[list[Note]]:
    one = st.tuples(
        texts,
        st.none() | words,
        st.none() | st.sampled_from(["en", "de"]),
        st.dictionaries(words, texts),
    )
    return st.lists(one, min_size=len(note_ids), max_size=len(note_ids)).map(
        lambda rows: [Note(note_id, *row) for note_id, row in zip(note_ids, rows, strict=True)]
    )


@given(
    st.lists(st.integers(0, 99), unique=True, max_size=8)
    .map(lambda ids: [f"n{i}" for i in ids])
    .flatmap(note_lists)
)
def test_notes_survive_with_every_field(notes: list[Note]) -> None:
    back = notes_from_table(notes_to_table(notes))

    assert back == notes
    assert [note.meta for note in back] == [dict(note.meta) for note in notes]
    assert [note.digest for note in back] == [note.digest for note in notes]


def test_hard_texts_survive_unchanged() -> None:
    notes = [Note(f"n{n}", text) for n, text in enumerate(CONTRACT_TEXTS)]

    assert [note.text for note in notes_from_table(notes_to_table(notes))] == list(CONTRACT_TEXTS)


def test_an_altered_text_is_refused_and_not_quoted() -> None:
    table = notes_to_table([Note("a", "Jane Canary was seen")])
    altered = table.set_column(
        1, table.schema.field("text"), pa.array(["John Canary was seen"], pa.large_string())
    )

    with pytest.raises(DigestError, match="note 'a': stored digest") as caught:
        notes_from_table(altered)
    assert "Canary" not in str(caught.value)


@given(st.lists(st.lists(spans, max_size=6), max_size=6), st.randoms())
def test_span_sets_survive_in_order_whatever_the_order_of_rows(
    per_note: list[list[Span]], random
) -> None:
    sets = [SpanSet(f"n{n}", f"{n:064x}", tuple(found)) for n, found in enumerate(per_note)]
    random.shuffle(sets)

    notes, rows = spans_to_tables(sets)
    shuffled = list(range(rows.num_rows))
    random.shuffle(shuffled)

    assert spans_from_tables(notes, rows) == sets
    assert spans_from_tables(notes, rows.take(pa.array(shuffled, pa.int64()))) == sets


def test_a_note_without_spans_comes_back_as_an_empty_set() -> None:
    sets = [SpanSet("a", "d"), SpanSet("b", "e", (Span(0, 1, Phi.NAME),)), SpanSet("c", "f")]

    assert spans_from_tables(*spans_to_tables(sets)) == sets


def test_no_notes_at_all_come_back_as_none() -> None:
    assert spans_from_tables(*spans_to_tables([])) == []
    assert notes_from_table(notes_to_table([])) == []


def test_disjoint_spans_are_checked_when_asked_for() -> None:
    touching = SpanSet("a", "d", (Span(0, 2, Phi.NAME), Span(2, 4, Phi.DATE)))
    overlapping = SpanSet("a", "d", (Span(0, 3, Phi.NAME), Span(2, 4, Phi.DATE)))

    back = spans_from_tables(*spans_to_tables([touching]), disjoint=True)

    assert type(back[0]) is DisjointSpans
    with pytest.raises(OverlapError):
        spans_from_tables(*spans_to_tables([overlapping]), disjoint=True)


def _one() -> tuple[pa.Table, pa.Table]:
    return spans_to_tables([SpanSet("a", "d", (Span(0, 1, Phi.NAME), Span(1, 2, Phi.DATE)))])


def test_a_lost_span_row_is_noticed() -> None:
    notes, rows = _one()

    with pytest.raises(InputError, match="note 'a': 1 spans stored"):
        spans_from_tables(notes, rows.slice(1))


def test_spans_of_an_unlisted_note_are_refused() -> None:
    notes, rows = _one()

    with pytest.raises(InputError, match="2 rows name a note"):
        spans_from_tables(notes.slice(1), rows)


def test_a_label_outside_the_closed_set_is_refused() -> None:
    notes, rows = _one()
    odd = rows.set_column(3, rows.schema.field("label"), pc.utf8_lower(rows.column("label")))

    with pytest.raises(UnknownLabelError):
        spans_from_tables(notes, odd)


def test_two_span_sets_for_one_note_are_refused() -> None:
    with pytest.raises(InputError, match="twice"):
        spans_to_tables([SpanSet("a", "d"), SpanSet("a", "d")])
    notes, rows = _one()
    with pytest.raises(InputError, match="twice"):
        spans_from_tables(pa.concat_tables([notes, notes]), rows)


@pytest.mark.parametrize(
    "column", ["note_id", "start", "end", "label", "score", "source", "native_label"]
)
def test_a_missing_column_is_named(column: str) -> None:
    notes, rows = _one()

    with pytest.raises(InputError, match=rf"spans table lacks {column};"):
        spans_from_tables(notes, rows.drop_columns([column]))


def test_missing_values_are_refused() -> None:
    table = pa.table(
        {"note_id": ["a"], "stage": ["spans_rules"], "error": pa.array([None], pa.string())}
    )

    with pytest.raises(InputError, match="missing values in error"):
        failed_from_table(table)


def test_failures_survive() -> None:
    failures = [
        Failed("a", "spans_rules", "ValueError"),
        Failed("b", "landing", "UnicodeDecodeError"),
    ]

    assert failed_from_table(failed_to_table(failures)) == failures
    assert failed_from_table(failed_to_table([])) == []


def test_a_large_batch_converts_with_little_work_for_each_span(
    calls_of: Callable[..., int],
) -> None:
    found = tuple(Span(10 * n, 10 * n + 5, list(Phi)[n], n / 20, "rules") for n in range(20))
    sets = [SpanSet(f"n{n}", "d" * 64, found) for n in range(500)]
    spans_from_tables(*spans_to_tables(sets[:1]))  # what is loaded once

    calls = calls_of(lambda: spans_from_tables(*spans_to_tables(sets)))

    assert calls / 10_000 < 8  # 5 when this was written
