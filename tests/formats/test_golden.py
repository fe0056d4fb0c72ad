"""Golden files: written by hand or once, read to the same notes and written to the same bytes
since.
"""

from pathlib import Path

import pytest

from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.formats import (
    FORMATS,
    Annotated,
    Fault,
    detect_format,
    read_notes,
    read_spans,
    write_notes,
    write_spans,
)

NAMES = {
    "jsonl": "notes.jsonl",
    "csv": "notes.csv",
    "parquet": "notes.parquet",
    "txt": "txt",
    "brat": "brat",
    "i2b2": "i2b2",
    "conll": "notes.conll",
}


def fit(annotated: Annotated, format_name: str) -> Annotated:
    """What the format can hold of a golden note."""
    if annotated.spans is None or "spans" not in FORMATS[format_name].keeps:
        return Annotated(annotated.note)
    if format_name == "i2b2":
        natives = {Phi.NAME: "PATIENT", Phi.DATE: ""}
        spans = [
            Span(span.start, span.end, span.label, native_label=natives[span.label])
            for span in annotated.spans
        ]
        return Annotated(annotated.note, SpanSet.of(annotated.note, spans))
    return annotated


def contents(path: Path) -> dict[str, bytes]:
    if path.is_file():
        return {"": path.read_bytes()}
    return {
        file.relative_to(path).as_posix(): file.read_bytes()
        for file in path.rglob("*")
        if file.is_file()
    }


@pytest.mark.parametrize("name", NAMES)
def test_golden_file_reads_to_the_golden_notes(name, golden, golden_notes):
    assert detect_format(golden / NAMES[name]) == name
    assert list(read_notes(golden / NAMES[name])) == [
        fit(annotated, name) for annotated in golden_notes
    ]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "parquet"])
def test_golden_notes_are_written_to_the_golden_bytes(name, golden, golden_notes, tmp_path):
    target = tmp_path / NAMES[name]
    assert (
        write_notes(target, [fit(annotated, name) for annotated in golden_notes], format=name) == 3
    )
    assert contents(target) == contents(golden / NAMES[name])


def test_parquet_is_written_the_same_twice_and_read_back(golden_notes, tmp_path):
    for name in ("one.parquet", "two.parquet"):
        # bytes differ between versions of pyarrow, so none are golden
        assert write_notes(tmp_path / name, golden_notes) == 3
    assert contents(tmp_path / "one.parquet") == contents(tmp_path / "two.parquet")
    assert list(read_notes(tmp_path / "one.parquet")) == golden_notes


def test_spans_file_reads_and_writes_golden_bytes_without_text(golden, golden_notes, tmp_path):
    first = golden_notes[0].note
    spans = [Span(8, 12, Phi.NAME, 0.25, "rules", "PER"), Span(0, 3, Phi.OTHER, 1.0, "gold")]
    span_sets = [SpanSet.of(first, spans), SpanSet.of(golden_notes[1].note, [])]
    assert list(read_spans(golden / "spans.jsonl")) == span_sets
    assert write_spans(tmp_path / "spans.jsonl", span_sets) == 2
    assert contents(tmp_path / "spans.jsonl") == contents(golden / "spans.jsonl")
    assert write_spans(tmp_path / "spans.parquet", span_sets) == 2
    assert list(read_spans(tmp_path / "spans.parquet")) == span_sets


def test_i2b2_of_another_writer_keeps_its_labels(golden):
    (annotated,) = read_notes(golden / "i2b2_foreign.xml")
    assert not isinstance(annotated, Fault)
    note, spans = annotated.note, annotated.spans
    assert spans is not None
    found = [(note.text[span.start : span.end], span.label, span.native_label) for span in spans]
    assert found == [
        ("2069-04-07", Phi.DATE, ""),
        ("Mr.\nHenry Oak", Phi.NAME, "PATIENT"),
        ("Villegas", Phi.NAME, "DOCTOR"),
        ("Hollings", Phi.LOCATION, "ROOM"),
    ]


def test_writing_what_was_read_keeps_doctor_apart_from_patient(golden, tmp_path):
    notes = list(read_notes(golden / "i2b2_foreign.xml"))
    write_notes(tmp_path / "out", notes, format="i2b2")
    assert list(read_notes(tmp_path / "out")) == notes
