"""What is written is read back.

Any text, any span, in every format, or the writer says what it cannot hold.
"""

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import DigestError, InputError
from deid_assets.core.label_maps import LABEL_MAPS
from deid_assets.core.note import Note
from deid_assets.core.phi import I2B2_2014_FINE, Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.formats import (
    FORMATS,
    Annotated,
    Columns,
    ReadOptions,
    WriteOptions,
    read_notes,
    read_spans,
    write_notes,
    write_spans,
)

TARGETS = {
    "jsonl": "n.jsonl",
    "csv": "n.csv",
    "parquet": "n.parquet",
    "txt": "n",
    "brat": "n",
    "i2b2": "n",
    "conll": "n.conll",
}
AWKWARD = [
    "\r\n",
    "\r",
    "\n",
    "\t",
    "\0",
    "\ufeff",
    "\u2028",
    "\x85",
    '"',
    ",",
    "]]>",
    "&#13;",
    "e\u0301",
    "\U0001f468\u200d\u2695",
]
FAST = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

any_text = st.lists(st.one_of(st.sampled_from(AWKWARD), st.text(max_size=8)), max_size=8).map(
    "".join
)
FORBIDDEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@st.composite
def corpora(draw, labels=tuple(Phi)):
    """A few notes with spans, empty spans or no annotation, and every optional field."""
    notes = []
    for number in range(draw(st.integers(1, 3))):
        text = draw(any_text.filter(bool))
        # a blank patient id reads as none
        optional = st.none() | words.filter(lambda word: not word.isspace())
        note = Note(
            f"n{number}",
            text,
            draw(optional),
            draw(st.sampled_from([None, "en"])),
            draw(st.dictionaries(words, words, max_size=2)),
        )
        spans = []
        for _ in range(draw(st.integers(0, 3))):
            start = draw(st.integers(0, len(text) - 1))
            end = draw(st.integers(start + 1, len(text)))
            native = draw(st.just("") | words)
            spans.append(
                Span(
                    start,
                    end,
                    draw(st.sampled_from(labels)),
                    draw(st.floats(0, 1)),
                    draw(words),
                    native,
                )
            )
        notes.append(Annotated(note, draw(st.sampled_from([None, SpanSet.of(note, spans)]))))
    return notes


def through(notes, name, **write):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, TARGETS[name])
        assert write_notes(path, notes, format=name, options=WriteOptions(**write)) == len(notes)
        return list(read_notes(path, format=name, options=ReadOptions(formulas="escaped", **write)))


def fields(annotated):
    return annotated.note, dict(annotated.note.meta), annotated.spans


@pytest.mark.parametrize("name", [name for name, known in FORMATS.items() if "meta" in known.keeps])
@FAST
@given(notes=corpora())
@example([Annotated(Note("n", ""), SpanSet.of(Note("n", ""), []))])
def test_file_formats_keep_every_field(name, notes):
    assert [fields(annotated) for annotated in through(notes, name)] == [
        fields(annotated) for annotated in notes
    ]


@FAST
@given(notes=corpora())
def test_csv_keeps_every_field_with_any_delimiter_and_column_names(notes):
    columns = Columns(note_id="Note;Id", text='no"te', spans="ann,otations")
    read = through(notes, "csv", delimiter=";", columns=columns)
    assert [fields(annotated) for annotated in read] == [fields(annotated) for annotated in notes]


@FAST
@given(text=any_text.filter(bool))
def test_plain_text_keeps_the_text(text):
    notes = [Annotated(Note("a/b c", text))]
    assert through(notes, "txt") == notes


@FAST
@given(notes=corpora())
def test_brat_keeps_text_offsets_and_categories(notes):
    read = through(notes, "brat")
    for before, after in zip(notes, read, strict=True):
        assert after.note.text == before.note.text
        assert (after.spans is None) == (before.spans is None)
        expected = sorted((span.start, span.end, span.label) for span in before.spans or ())
        assert sorted((span.start, span.end, span.label) for span in after.spans or ()) == expected


@FAST
@given(notes=corpora(labels=tuple(I2B2_2014_FINE.labels)))
@example([Annotated(Note("n", "]]>\r]]\r>\r\n\t]]>"))])
def test_i2b2_keeps_text_and_offsets_or_names_the_character_xml_forbids(notes):
    if any(FORBIDDEN.search(annotated.note.text) for annotated in notes):
        with pytest.raises(InputError, match="cannot be in XML"):
            through(notes, "i2b2")
        return
    read = through(notes, "i2b2")
    for before, after in zip(notes, read, strict=True):
        assert after.note.text == before.note.text
        assert (after.spans is None) == (before.spans is None)
        expected = sorted((span.start, span.end, span.label) for span in before.spans or ())
        assert sorted((span.start, span.end, span.label) for span in after.spans or ()) == expected


@pytest.mark.parametrize("char", ["\0", "\x0b", "\x1f", "\ufffe", "\uffff"])
def test_i2b2_refuses_what_xml_cannot_hold_and_leaves_no_folder(char, tmp_path):
    notes = [Annotated(Note("ok", "fine")), Annotated(Note("n1", f"ab{char}secret"))]
    with pytest.raises(InputError, match=rf"'n1': U\+{ord(char):04X} at offset 2") as caught:
        write_notes(tmp_path / "out", notes, format="i2b2")
    assert "secret" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_i2b2_refuses_a_category_without_a_label(tmp_path):
    note = Note("n1", "her sister")
    with pytest.raises(InputError, match="RELATIVE"):
        write_notes(
            tmp_path / "o",
            [Annotated(note, SpanSet.of(note, [Span(4, 10, Phi.RELATIVE)]))],
            format="i2b2",
        )


def test_every_i2b2_native_label_survives(tmp_path):
    note = Note("n1", "x" * 40)
    labels = LABEL_MAPS["i2b2"].labels
    spans = [
        Span(at, at + 1, label, native_label=native if native != label.value else "")
        for at, (native, label) in enumerate(labels.items())
        if label is not None
    ]
    write_notes(tmp_path / "o", [Annotated(note, SpanSet.of(note, spans))], format="i2b2")
    (read,) = read_notes(tmp_path / "o")
    assert read.spans == SpanSet.of(note, spans)


def test_brat_writes_native_labels_when_asked(tmp_path):
    note = Note("n1", "Ana")
    notes = [
        Annotated(
            note, SpanSet.of(note, [Span(0, 3, Phi.NAME, native_label="NOMBRE_SUJETO_ASISTENCIA")])
        )
    ]
    write_notes(tmp_path / "o", notes, format="brat", options=WriteOptions(brat_labels="native"))
    assert list(read_notes(tmp_path / "o", labels=LABEL_MAPS["meddocan"])) == notes


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@FAST
@given(notes=corpora())
def test_spans_files_keep_every_prediction_and_no_text(suffix, notes):
    span_sets = [annotated.spans for annotated in notes if annotated.spans is not None]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"s{suffix}")
        assert write_spans(path, span_sets) == len(span_sets)
        if span_sets:
            assert list(read_spans(path)) == span_sets


REFUSED = [
    ("txt", "a", "", "empty note"),
    ("brat", "a", "", "empty note"),
    *[
        ("txt", note_id, "x", "cannot be a file name")
        for note_id in ("../a", "/a", "a//b", "a/./b", "..", "a\\b")
    ],
    ("txt", "a" * 200 + "", "x", ""),
    ("txt", "\U0001f468" * 200, "x", "cannot be written as a file"),
]


@pytest.mark.parametrize(
    ("name", "note_id", "text", "reason"), [case for case in REFUSED if case[3]]
)
def test_folder_formats_refuse_what_a_file_cannot_be(name, note_id, text, reason, tmp_path):
    with pytest.raises(InputError, match=reason):
        write_notes(tmp_path / "deep" / "out", [Annotated(Note(note_id, text))], format=name)
    assert not list((tmp_path / "deep").iterdir())


def test_plain_text_refuses_spans_rather_than_lose_them(tmp_path):
    note = Note("n1", "Ana")
    with pytest.raises(InputError, match="holds no spans"):
        write_notes(
            tmp_path / "o",
            [Annotated(note, SpanSet.of(note, [Span(0, 3, Phi.NAME)]))],
            format="txt",
        )


@pytest.mark.parametrize("name", TARGETS)
def test_a_failed_write_leaves_what_was_there(name, tmp_path):
    path = tmp_path / TARGETS[name]
    if not FORMATS[name].is_folder:
        write_notes(path, [Annotated(Note("old", "old"))])
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    twice = [Annotated(Note("n1", "x")), Annotated(Note("n1", "y"))]
    with pytest.raises(InputError, match="comes twice"):
        write_notes(path, twice, format=name)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_writing_replaces_a_file_but_never_mixes_two_corpora_in_a_folder(tmp_path):
    notes = [Annotated(Note("n1", "x"))]
    for _ in range(2):
        write_notes(tmp_path / "n.jsonl", notes)
    write_notes(tmp_path / "n", notes, format="txt")
    with pytest.raises(InputError, match="there already"):
        write_notes(tmp_path / "n", notes, format="txt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["n", "n.jsonl"]


def test_spans_of_another_text_are_not_written(tmp_path):
    spans = SpanSet.of(Note("n1", "Ana"), [Span(0, 3, Phi.NAME)])
    with pytest.raises(DigestError):
        write_notes(tmp_path / "n.jsonl", [Annotated(Note("n1", "Bob"), spans)])


def test_lone_surrogates_outside_the_text_are_not_written(tmp_path):
    for number, note in enumerate(
        [
            Note("n", "x", "\ud800"),
            Note("n", "x", None, "\ud800"),
            Note("n", "x", meta={"k": "\ud800"}),
        ]
    ):
        with pytest.raises(InputError, match="lone surrogate"):
            write_notes(tmp_path / f"{number}.jsonl", [Annotated(note)])
    with pytest.raises(InputError, match="lone surrogate"):
        write_spans(
            tmp_path / "s.jsonl", [SpanSet("n", "0" * 64, (Span(0, 1, Phi.NAME, source="\ud800"),))]
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", TARGETS)
def test_the_table_says_what_each_format_keeps(name):
    note = Note("n1", "Ana", "p1", "es", {"site": "7"})
    span = Span(0, 3, Phi.NAME, 0.5, "rules", "PER")
    spans = SpanSet.of(note, [span]) if "spans" in FORMATS[name].keeps else None
    (read,) = through([Annotated(note, spans)], name)
    found = read.spans.spans[0] if read.spans else None
    kept = {
        "spans": found is not None and (found.start, found.end, found.label) == (0, 3, Phi.NAME),
        "native_label": found is not None and found.native_label == "PER",
        "score": found is not None and found.score == 0.5,
        "source": found is not None and found.source == "rules",
        "patient_id": read.note.patient_id == "p1",
        "lang": read.note.lang == "es",
        "meta": read.note.meta == {"site": "7"},
    }
    assert {field for field, is_kept in kept.items() if is_kept} == FORMATS[name].keeps
