"""``deid detect``: spans without text, every prediction or one, and what fails set apart."""

import json
from pathlib import Path

import pytest

from deid_assets.formats import read_spans


@pytest.fixture
def spans_of(records):
    return lambda path: {
        record["id"]: [(s["start"], s["end"], s["label"], s["source"]) for s in record["spans"]]
        for record in records(path)
    }


def test_each_note_has_a_line_with_offsets_and_no_text(deid, notes, spans_of):
    ran = deid("detect", notes, "--detector", "xnames", "--out", "spans.jsonl")

    assert (ran.code, ran.out) == (0, "")
    assert ran.err.strip() == "3 notes, 3 spans, 0 withheld; written to spans.jsonl"
    assert spans_of("spans.jsonl") == {
        "a": [(0, 12, "NAME", "xnames")],
        "b": [],
        "c": [(8, 15, "NAME", "xnames"), (23, 35, "NAME", "xnames")],
    }
    assert not any(word in Path("spans.jsonl").read_text() for word in ("Quill", "Zyx", "text"))


def test_several_detectors_leave_every_prediction(deid, notes, spans_of):
    deid("detect", notes, "--detector", "xdates", "--detector", "xnames", "--out", "spans.jsonl")

    assert spans_of("spans.jsonl")["c"] == [
        (8, 15, "DATE", "xdates"),
        (8, 15, "NAME", "xnames"),
        (23, 35, "NAME", "xnames"),
    ]


@pytest.mark.parametrize("names", [("xdates", "xnames"), ("xnames", "xdates")])
def test_resolving_names_an_overlap_by_the_category_that_no_policy_leaves(
    deid, notes, spans_of, names
):
    ensemble = [argument for name in names for argument in ("--detector", name)]
    deid("detect", notes, *ensemble, "--resolve", "union", "--out", "spans.jsonl")

    assert spans_of("spans.jsonl")["c"] == [(8, 15, "NAME", "xnames"), (23, 35, "NAME", "xnames")]


def test_options_reach_the_detector_they_name(deid, notes, spans_of):
    deid(
        "detect",
        notes,
        "--detector",
        "xnames",
        "--option",
        "xnames.words=Zyx[a-z]+",
        "--out",
        "spans.jsonl",
    )

    assert spans_of("spans.jsonl") == {"a": [], "b": [], "c": [(8, 15, "NAME", "xnames")]}


def test_a_note_that_makes_the_detector_raise_is_named_and_left_out(deid, write, spans_of, three):
    write("notes.jsonl", three[0], {"id": "bad", "text": "EXPLODE, Quillfeather"}, three[1])
    ran = deid("detect", "notes.jsonl", "--detector", "xnames", "--out", "spans.jsonl", "--json")

    assert ran.code == 1
    assert list(spans_of("spans.jsonl")) == ["a", "b"]
    assert ran.err.strip() == "note 'bad': RuntimeError in spans_xnames; withheld"
    assert ran.json == {
        "notes": 2,
        "spans": 1,
        "withheld": 1,
        "withheld_notes": [
            {"note": "bad", "place": None, "reason": "RuntimeError in spans_xnames"}
        ],
        "out": "spans.jsonl",
    }


def test_a_line_that_is_no_note_is_named_and_left_out(deid, write, spans_of, three):
    path = write("notes.jsonl", three[0], {"id": "no-text"}, three[1], three[0])
    path.write_text(path.read_text() + '{"id": "cut", "text": "Quillfea\n')
    ran = deid("detect", path, "--detector", "xnames", "--out", "spans.jsonl", "--json")

    assert (ran.code, ran.json["withheld"]) == (1, 3)
    assert [(entry["place"], entry["reason"]) for entry in ran.json["withheld_notes"]] == [
        ("notes.jsonl:2", "missing-field"),
        ("notes.jsonl:4", "duplicate-id"),
        ("notes.jsonl:5", "malformed"),
    ]
    assert list(spans_of("spans.jsonl")) == ["a", "b"]


def test_many_chunks_keep_every_note_in_order(deid, write):
    write(
        "notes.jsonl",
        *({"id": f"n{number}", "text": "Zyxwick, " + "x" * 60_000} for number in range(20)),
    )
    deid("detect", "notes.jsonl", "--detector", "xnames", "--out", "spans.parquet")

    found = list(read_spans(Path("spans.parquet")))
    assert [spans.note_id for spans in found] == [f"n{number}" for number in range(20)]
    assert {len(spans) for spans in found} == {1}


def test_settings_of_the_source_are_taken(deid, spans_of):
    Path("notes.csv").write_text("number;body\n1;Zürich, Zyxwick\n", encoding="cp1252")
    ran = deid(
        *("detect", "notes.csv", "--detector", "xnames", "--out", "spans.jsonl"),
        *("--read", "encoding=cp1252", "--read", "delimiter=;", "--read", "column.id=number"),
        *("--read", "column.text=body"),
    )

    assert ran.code == 0, ran.err
    assert spans_of("spans.jsonl") == {"1": [(8, 15, "NAME", "xnames")]}


def test_the_language_given_is_that_of_notes_without_one(deid, write, records):
    write("notes.jsonl", {"id": "a", "text": "x"}, {"id": "b", "text": "x", "lang": "es"})
    deid(
        "redact",
        "notes.jsonl",
        "--detector",
        "xnames",
        "--lang",
        "de",
        "--policy",
        "tag",
        "--out",
        "out.jsonl",
    )

    assert [record["lang"] for record in records("out.jsonl")] == ["de", "es"]


def test_summary_is_one_json_document(deid, notes):
    ran = deid("detect", notes, "--detector", "xnames", "--out", "spans.jsonl", "--json")

    assert json.loads(ran.out) == {
        "notes": 3,
        "spans": 3,
        "withheld": 0,
        "withheld_notes": [],
        "out": "spans.jsonl",
    }
    assert ran.err == ""


def test_several_processes_give_what_one_gives(deid, write):
    notes = [
        {"id": f"n{number}", "text": f"{number}: Zyxwick, " + "x" * 90_000} for number in range(24)
    ]
    write("notes.jsonl", *notes, {"id": "bad", "text": "EXPLODE Zyxwick"})
    one = deid("detect", "notes.jsonl", "--detector", "xnames", "--out", "one.jsonl")
    two = deid("detect", "notes.jsonl", "--detector", "xnames", "--out", "two.jsonl", "--jobs", "2")

    assert one.code == two.code == 1
    assert Path("one.jsonl").read_bytes() == Path("two.jsonl").read_bytes()
    assert "note 'bad': RuntimeError in spans_xnames; withheld" in two.err


def test_a_process_that_dies_ends_the_command_without_output(deid, write):
    write("notes.jsonl", {"id": "a", "text": "DIE Zyxwick"})
    ran = deid("detect", "notes.jsonl", "--detector", "xnames", "--out", "out.jsonl", "--jobs", "2")

    assert ran.code == 2
    assert "a detecting process ended early" in ran.err
    assert sorted(path.name for path in Path().iterdir()) == ["notes.jsonl"]
