"""Every kind of fault.

The note is withheld, the fault says where, no message shows text, and the rest is read.
"""

import json
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deid_assets.core.note import Note
from deid_assets.core.phi import LabelMap, Phi
from deid_assets.formats import Annotated, read_notes, read_spans, write_notes
from deid_assets.formats.source import Source, read_bytes

CANARY = "Zebulon-7731"
TEXT = f"Seen by {CANARY} today."
GOOD = {"start": 8, "end": 20, "label": "NAME"}


def line(**fields):
    return json.dumps({"id": "n1", "text": TEXT, "spans": [GOOD]} | fields)


def with_span(**fields):
    return line(spans=[GOOD, GOOD | fields])


JSONL = [
    ("truncated", line()[:-9], "malformed"),
    ("not json", f"{CANARY}, not JSON", "malformed"),
    ("a list", f'["{CANARY}"]', "malformed"),
    ("a string", f'"{CANARY}"', "malformed"),
    ("a key twice", f'{{"id": "n1", "text": "{CANARY}", "text": "{CANARY}"}}', "malformed"),
    ("deep", "[" * 100_000 + "]" * 100_000, "malformed"),
    ("huge number", '{"id": "n1", "text": ' + "9" * 10_000 + "}", "malformed"),
    ("no id", json.dumps({"text": TEXT}), "missing-field"),
    ("no text", json.dumps({"id": "n1", "note": TEXT}), "missing-field"),
    ("null text", line(text=None), "missing-field"),
    ("id is a number", line(id=7), "malformed"),
    ("id is empty", line(id=""), "malformed"),
    ("id has a line break", line(id=f"{CANARY}\n"), "malformed"),
    ("id is too long", line(id=CANARY * 40), "malformed"),
    ("text is a list", line(text=[TEXT]), "malformed"),
    ("lone surrogate", line(text=TEXT + "\ud800"), "undecodable"),
    ("lone surrogate in a field", line(patient_id=CANARY + "\ud800"), "undecodable"),
    ("meta of numbers", line(meta={CANARY: 7}), "malformed"),
    ("meta is a list", line(meta=[CANARY]), "malformed"),
    ("spans is an object", line(spans={CANARY: 1}), "malformed"),
    ("a span is a list", line(spans=[[0, 3, CANARY]]), "malformed"),
    ("no start", line(spans=[{"end": 3, "label": "NAME", "text": CANARY}]), "missing-field"),
    ("no label", line(spans=[{"start": 0, "end": 3, "text": CANARY}]), "missing-field"),
    ("NaN", with_span(start=float("nan")), "malformed"),
    ("infinity", with_span(end=float("inf")), "malformed"),
    ("bool", with_span(start=True), "offset"),
    ("float", with_span(start=8.0), "offset"),
    ("string", with_span(start=CANARY), "offset"),
    ("beyond 2**53", with_span(end=2**60), "offset"),
    ("negative", with_span(start=-1), "offset"),
    ("empty", with_span(start=20), "offset"),
    ("reversed", with_span(start=20, end=8), "offset"),
    ("out of bounds", with_span(end=len(TEXT) + 1), "offset"),
    ("unknown label", with_span(label="PERSON"), "unknown-label"),
    ("label is text", with_span(label=f"of {CANARY}"), "unknown-label"),
    ("score above 1", with_span(score=1.5), "malformed"),
    ("score is a bool", with_span(score=True), "malformed"),
    ("text differs", with_span(text=f"{CANARY}x"), "text-mismatch"),
    (
        "text differs in a blank",
        line(text="a\tb", spans=[{"start": 0, "end": 3, "label": "NAME", "text": "a b"}]),
        "text-mismatch",
    ),
]


@pytest.mark.parametrize(
    ("content", "kind"), [case[1:] for case in JSONL], ids=[case[0] for case in JSONL]
)
def test_a_broken_line_is_one_fault_and_its_neighbours_are_read(content, kind, tmp_path):
    path = tmp_path / "some notes.jsonl"
    path.write_text("\n".join([line(id="before"), content, "", line(id="after")]))
    before, fault, after = read_notes(path)
    assert (before.note.note_id, after.note.note_id) == ("before", "after")
    assert (fault.kind, fault.file, fault.line) == (kind, "some notes.jsonl", 2)
    assert fault.message.startswith("some notes.jsonl:2: ")
    assert ";" in fault.message
    assert fault.message.isprintable()
    assert CANARY not in fault.message


def test_each_broken_annotation_of_a_note_is_its_own_fault(faults_of):
    spans = [GOOD | {"start": -1}, GOOD, GOOD | {"label": "X", "start": 21}, "no span"]
    faults = faults_of("n.jsonl", line(spans=spans))
    assert sorted(fault.kind for fault in faults) == [
        "malformed",
        "offset",
        "offset",
        "unknown-label",
    ]
    assert {(fault.note_id, fault.line) for fault in faults} == {("n1", 1)}


def test_the_later_of_two_notes_with_one_id_is_a_fault(tmp_path):
    path = tmp_path / "n.jsonl"
    path.write_text(f"{line()}\n{line(text='other', spans=None)}\n")
    first, fault = read_notes(path)
    assert first.note.text == TEXT
    assert (fault.kind, fault.line, fault.note_id) == ("duplicate-id", 2, "n1")


@pytest.mark.parametrize(
    ("name", "bad"), [("n.jsonl", b'{"id": "x", "text": "\xff"}\n'), ("n.csv", b'x,"\xff\r\n"\r\n')]
)
def test_undecodable_bytes_withhold_their_line_only_and_are_placed_in_the_file(name, bad, tmp_path):
    head, good = (
        (b"", line().encode() + b"\n") if name == "n.jsonl" else (b"id,text\r\n", b"n1,fine\r\n")
    )
    (tmp_path / name).write_bytes(head + good + bad + good.replace(b"n1", b"n2"))
    first, fault, last = read_notes(tmp_path / name)
    assert (first.note.note_id, last.note.note_id) == ("n1", "n2")
    assert fault.kind == "undecodable"
    assert f"byte {(head + good + bad).index(0xFF)} " in fault.message


@pytest.mark.parametrize("name", ["n.jsonl", "n.csv", "n.parquet", "n.txt", "n.xml", "n.conll"])
def test_an_empty_file_is_one_fault(name, faults_of):
    (fault,) = faults_of(name, b"")
    assert (fault.kind, fault.file, fault.line) == ("empty-file", name, None)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("n.jsonl", "\n \r\n"),
        ("n.csv", "id,text\r\n"),
        ("n.conll", "# global.columns = FORM TAG\n\n"),
    ],
)
def test_a_file_without_notes_is_an_empty_file(name, content, faults_of):
    assert [fault.kind for fault in faults_of(name, content)] == ["empty-file"]


def test_a_parquet_file_without_rows_is_an_empty_file(tmp_path):
    (fault,) = read_notes(
        parquet(
            tmp_path / "n.parquet", id=pa.array([], pa.string()), text=pa.array([], pa.string())
        )
    )
    assert fault.kind == "empty-file"


@pytest.mark.parametrize(
    "meta",
    [
        [[1, 2]],
        [{"site": 7}],
        [{"site": None}],
        pa.array([[(1, 2)]], pa.map_(pa.int8(), pa.int8())),
    ],
)
def test_parquet_meta_that_is_no_map_of_strings_is_a_fault(meta, tmp_path):
    (fault,) = read_notes(parquet(tmp_path / "n.parquet", id=["n1"], text=[CANARY], meta=meta))
    assert (fault.kind, fault.line, fault.note_id) == ("malformed", 1, "n1")


def test_a_flipped_bit_of_parquet_is_a_fault(tmp_path):
    path = tmp_path / "n.parquet"
    write_notes(path, [Annotated(Note("n1", CANARY))])
    blob = bytearray(path.read_bytes())
    blob[blob.index(CANARY.encode())] ^= 1
    path.write_bytes(blob)
    assert [fault.kind for fault in read_notes(path)] == ["malformed"]


@pytest.mark.parametrize("name", ["n.jsonl", "n.csv"])
def test_a_byte_order_mark_before_the_container_is_no_text(name, tmp_path):
    content = line(spans=None) if name == "n.jsonl" else "id,text\nn1,fine\n"
    (tmp_path / name).write_bytes(content.encode("utf-8-sig"))
    assert [annotated.note.note_id for annotated in read_notes(tmp_path / name)] == ["n1"]


CSV = [
    ("too few cells", "n1", "malformed"),
    ("too many cells", f"n1,{CANARY},x,y", "malformed"),
    ("stray quote", f'n1,{CANARY}" x,', "malformed"),
    ("text after a quote", f'n1,"{CANARY}"x,', "malformed"),
    ("carriage return", f"n1,{CANARY}\rx,", "malformed"),
    ("no id", f",{CANARY},", "missing-field"),
    ("spans not JSON", f"n1,{CANARY},{CANARY}", "malformed"),
    ("offset", f'n1,{CANARY},"[{{""start"": 0, ""end"": 99, ""label"": ""NAME""}}]"', "offset"),
]


@pytest.mark.parametrize(("row", "kind"), [case[1:] for case in CSV], ids=[case[0] for case in CSV])
def test_a_broken_row_of_csv_is_one_fault(row, kind, faults_of):
    faults = faults_of("n.csv", f"id,text,spans\n{row}\n")
    assert [(fault.kind, fault.line) for fault in faults] == [(kind, 2)]
    assert CANARY not in faults[0].message


def test_an_open_quote_of_csv_withholds_the_rest_it_swallowed(tmp_path):
    (tmp_path / "n.csv").write_text(f'id,text\nn0,"a\nb"\nn1,"{CANARY}\nn2,swallowed\n')
    good, fault = read_notes(tmp_path / "n.csv")
    assert (good.note.text, fault.kind, fault.line) == ("a\nb", "malformed", 4)


@pytest.mark.parametrize(
    ("header", "kind"),
    [("id,note", "missing-field"), ("id,text,text", "malformed"), ("id;text", "missing-field")],
)
def test_a_header_that_does_not_fit_is_one_fault_for_the_file(header, kind, faults_of):
    assert [fault.kind for fault in faults_of("n.csv", f"{header}\n1,2,3\n1,2,3\n")] == [kind]


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def test_parquet_faults_have_their_row(tmp_path):
    texts = pa.array([b"fine", b"\xff\xfe", b"fine", None]).cast(pa.binary()).view(pa.string())
    spans = [[GOOD | {"start": 0, "end": 4}], None, [GOOD], None]
    path = parquet(tmp_path / "n.parquet", id=["n1", "n2", "n3", "n4"], text=texts, spans=spans)
    good, *faults = read_notes(path)
    assert good.spans is not None
    assert [(fault.kind, fault.line) for fault in faults] == [
        ("undecodable", 2),
        ("offset", 3),
        ("missing-field", 4),
    ]


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({"id": ["n1"]}, "missing-field"),
        ({"id": [7], "text": ["x"]}, "malformed"),
        ({"id": ["n1"], "text": [b"x"]}, "malformed"),
    ],
)
def test_parquet_of_other_columns_or_types_is_a_fault(columns, kind, tmp_path):
    (fault,) = read_notes(parquet(tmp_path / "n.parquet", **columns))
    assert fault.kind == kind


@pytest.mark.parametrize(
    "damage", [lambda blob: blob[:-20], lambda blob: b"PAR1" + blob[40:], lambda _: b"no parquet"]
)
def test_a_damaged_parquet_file_is_a_fault_without_its_bytes(damage, tmp_path, faults_of):
    blob = parquet(tmp_path / "ok.parquet", id=["n1"], text=[CANARY * 9]).read_bytes()
    faults = faults_of("n.parquet", damage(blob))
    assert [fault.kind for fault in faults] == ["malformed"]
    assert CANARY not in faults[0].message


def test_a_label_ignored_on_purpose_leaves_no_span_and_no_fault(tmp_path):
    (tmp_path / "n.jsonl").write_text(
        line(spans=[GOOD | {"label": "title"}, GOOD | {"label": "person"}])
    )
    labels = LabelMap("mine", {"title": None, "person": Phi.NAME})
    (annotated,) = read_notes(tmp_path / "n.jsonl", labels=labels)
    assert [(span.label, span.native_label) for span in annotated.spans] == [(Phi.NAME, "person")]


SPANS = [
    ('{"id": "n1", "digest": "%s"}', "missing-field"),
    ('{"id": "n1", "digest": "%s", "spans": null}', "missing-field"),
    ('["%s"]', "missing-field"),
    ('{"id": "n1", "digest": "x%s", "spans": []}', "malformed"),
    ('{"id": "n1", "digest": "%s", "spans": [{"start": 3, "end": 3, "label": "NAME"}]}', "offset"),
    (
        '{"id": "n1", "digest": "%s", "spans": [{"start": 0, "end": 3, "label": "PERSON"}]}',
        "unknown-label",
    ),
    ('{"id": "n0", "digest": "%s", "spans": []}', "duplicate-id"),
    ('{"id": "n1", "digest": "%s", "spans": [', "malformed"),
]


@pytest.mark.parametrize(("content", "kind"), SPANS)
def test_a_broken_line_of_a_spans_file_is_a_fault(content, kind, tmp_path):
    digest = "0" * 64
    (tmp_path / "s.jsonl").write_text(
        f'{{"id": "n0", "digest": "{digest}", "spans": []}}\n{content % digest}\n'
    )
    good, fault = read_spans(tmp_path / "s.jsonl")
    assert (good.note_id, fault.kind, fault.line) == ("n0", kind, 2)


def test_an_empty_spans_file_is_a_fault(tmp_path):
    (tmp_path / "s.jsonl").touch()
    assert [fault.kind for fault in read_spans(tmp_path / "s.jsonl")] == ["empty-file"]


def test_a_small_file_takes_little_room_whatever_is_allowed(tmp_path):
    (tmp_path / "note.txt").write_bytes(b"Seen." * 20)
    source = Source(tmp_path / "note.txt", tmp_path)
    tracemalloc.start()
    assert read_bytes(source, max_bytes=1 << 31) == b"Seen." * 20
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 20
    assert "larger than 99 bytes" in read_bytes(source, max_bytes=99).message
