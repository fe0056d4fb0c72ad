"""Notes in chunks and spans looked up in a file lose nothing and mix nothing up, in any order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.cli import streams
from deid_assets.cli.streams import CHUNK_CHARS, NoteSource, SpansFile, Withheld, read_options
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.formats import Annotated, Columns, WriteOptions, write_notes, write_spans

NOTES = [Note(f"n{number}", "x" * number) for number in range(8)]
SPANS = {note.note_id: SpanSet.of(note, []) for note in NOTES}
ORDERS = st.permutations(sorted(SPANS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("streams")


@settings(deadline=None, max_examples=60)
@given(written=ORDERS, asked=ORDERS, count=st.integers(0, 8))
def test_spans_are_found_whatever_the_order(folder, written, asked, count):
    path = folder / "spans.jsonl"
    write_spans(path, (SPANS[note_id] for note_id in written))
    stored = SpansFile(path)

    assert [stored.take(note_id) for note_id in asked[:count]] == [
        SPANS[note_id] for note_id in asked[:count]
    ]
    assert stored.take("unknown") is None
    assert stored.rest() == {note_id: SPANS[note_id] for note_id in asked[count:]}


def test_spans_are_given_once(folder):
    write_spans(folder / "once.jsonl", SPANS.values())
    stored = SpansFile(folder / "once.jsonl")

    assert (stored.take("n3"), stored.take("n3")) == (SPANS["n3"], None)


@settings(deadline=None, max_examples=20)
@given(
    sizes=st.lists(
        st.sampled_from([0, 1, CHUNK_CHARS // 2, CHUNK_CHARS - 1, CHUNK_CHARS, 2 * CHUNK_CHARS]),
        min_size=1,
    )
)
def test_chunks_hold_every_note_once_in_order_and_are_no_larger_than_need_be(folder, sizes):
    path = folder / "notes.jsonl"
    notes = [Note(f"n{number}", "x" * size) for number, size in enumerate(sizes)]
    write_notes(path, map(Annotated, notes))
    withheld = Withheld()
    chunks = list(
        NoteSource(path, None, None, read_options([], annotations=False)).chunks(withheld)
    )

    assert [note for chunk in chunks for note in chunk] == notes
    assert len(withheld) == 0
    assert all(sum(map(len, chunk[:-1])) < CHUNK_CHARS for chunk in chunks)


def test_chunks_grow_while_they_are_done_soon_and_not_otherwise(folder, monkeypatch):
    path = folder / "many.jsonl"
    write_notes(
        path, (Annotated(Note(f"n{number}", "x" * (CHUNK_CHARS // 4))) for number in range(100))
    )
    source = NoteSource(path, None, "en", read_options([], annotations=False))
    quick = [len(chunk) for chunk in source.chunks(Withheld(), growing=True)]
    monkeypatch.setattr(streams, "QUICK_S", 0.0)
    slow = [len(chunk) for chunk in source.chunks(Withheld(), growing=True)]

    assert quick == [4, 8, 16, 32, 32, 8]
    assert slow == [4] * 25


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_settings_name_the_columns_of_each_format(tmp_path, name):
    note = Note("1", "text")
    columns = Columns(note_id="number", text="body")
    write_notes(tmp_path / name, [Annotated(note)], options=WriteOptions(columns=columns))
    options = read_options(["column.id=number", "column.text=body"], annotations=False)

    assert list(NoteSource(tmp_path / name, None, None, options).chunks(Withheld())) == [[note]]
