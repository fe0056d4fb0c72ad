"""``deid redact --edits`` and ``deid map-spans``.

Annotations keep their place, and nothing is lost in silence.
"""

import json

import pytest


@pytest.fixture
def redacted(deid, notes, monkeypatch):
    monkeypatch.setenv("DEID_KEY", "5a" * 32)
    ran = deid(
        "redact",
        notes,
        "--detector",
        "xnames",
        "--policy",
        "tag",
        "--out",
        "out.jsonl",
        "--edits",
        "e.jsonl",
    )
    assert ran.code == 0


@pytest.fixture
def problems(write, three):
    """A diagnosis clear of names, one across a name, and labels that are no category of ours."""
    return write(
        "problems.jsonl",
        {
            "id": "a",
            "spans": [{"start": 37, "end": 47, "label": "Diagnosis", "code": "M06.9", "note": "x"}],
        },
        {
            "id": "c",
            "spans": [
                {"start": 0, "end": 10, "label": "drug:sig"},
                {"start": 11, "end": 15, "label": "NAME"},
            ],
        },
    )


def places(records, path, texts):
    by_id = {record["id"]: record["text"] for record in texts}
    return [
        by_id[line["id"]][span["start"] : span["end"]]
        for line in records(path)
        for span in line["spans"]
    ]


def test_edit_maps_hold_no_text(redacted, records, three):
    text = "".join(json.dumps(record) for record in records("e.jsonl"))

    assert [record["id"] for record in records("e.jsonl")] == ["a", "b", "c"]
    assert "Quillfeather" not in text
    assert "Zyxwick" not in text
    assert records("e.jsonl")[0]["edits"][0]["source"] == "xnames"


def test_annotations_go_over_with_labels_that_are_not_ours(deid, redacted, problems, records):
    ran = deid("map-spans", "--edits", "e.jsonl", "--spans", problems, "--out", "over.jsonl")

    assert ran.code == 0
    assert places(records, "over.jsonl", records("out.jsonl")) == [
        "rheumatoid",
        "Seen by [NAME]",
        "[NAME]",
    ]
    assert records("over.jsonl")[0]["spans"][0] == {
        "start": 31,
        "end": 41,
        "label": "Diagnosis",
        "code": "M06.9",
    }
    assert (
        "3 of 3 spans of 2 notes written to over.jsonl: 1 as they were, 0 with a replacement in"
        " them" in ran.err
    )
    assert "2 widened, 0 lost, 0 dropped" in ran.err
    assert "'note'" in ran.err


def test_annotations_of_the_redacted_text_come_back(deid, redacted, problems, records, three):
    deid("map-spans", "--edits", "e.jsonl", "--spans", problems, "--out", "over.jsonl")
    ran = deid(
        "map-spans",
        "--edits",
        "e.jsonl",
        "--spans",
        "over.jsonl",
        "--out",
        "back.jsonl",
        "--to-original",
    )

    assert ran.code == 0
    assert places(records, "back.jsonl", three) == ["rheumatoid", "Seen by Zyxwick", "Zyxwick"]


def test_spans_that_meet_a_replacement_are_left_out_when_asked(deid, redacted, problems, records):
    ran = deid(
        "map-spans",
        "--edits",
        "e.jsonl",
        "--spans",
        problems,
        "--out",
        "over.jsonl",
        "--drop-overlapping",
        "--json",
    )

    assert (ran.json["written"], ran.json["dropped"]) == (1, 2)


def test_a_note_without_edit_map_is_named(deid, redacted, write, records):
    write("p.jsonl", {"id": "other", "spans": []}, {"id": "b", "spans": []})
    ran = deid("map-spans", "--edits", "e.jsonl", "--spans", "p.jsonl", "--out", "over.jsonl")

    assert ran.code == 1
    assert "note 'other': no edit map" in ran.err
    assert [record["id"] for record in records("over.jsonl")] == ["b"]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"id": "a", "digest": "0" * 64, "spans": []}, "not of the original text"),
        ({"id": "a", "text": "Another Quillfeather", "spans": []}, "not of the original text"),
        (
            {"id": "a", "spans": [{"start": 0, "end": 99, "label": "x"}]},
            "outside the text of 53 characters",
        ),
        ({"id": "a", "spans": [{"start": "0", "end": 9}]}, "whole numbers"),
        ({"id": "a"}, "a list of spans"),
    ],
)
def test_wrong_annotations_stop_with_one_line(deid, redacted, write, record, message):
    write("p.jsonl", record)
    ran = deid("map-spans", "--edits", "e.jsonl", "--spans", "p.jsonl", "--out", "over.jsonl")

    assert ran.code == 2
    assert len(ran.err.strip().splitlines()) == 1
    assert message in ran.err


@pytest.mark.parametrize(
    "damage",
    [
        lambda record: record.pop("made_by"),
        lambda record: record["edits"][0].update(end="7"),
        lambda record: record["edits"][0].update(label="PERSON"),
        lambda record: record["edits"][0].update(new_end=3),
        lambda record: record.update(digest="abc"),
    ],
)
def test_a_damaged_edit_file_stops_with_one_line(  # noqa: PLR0917 - fixtures
    deid, redacted, problems, records, write, damage
):
    first, *rest = records("e.jsonl")
    damage(first)
    write("e.jsonl", first, *rest)
    ran = deid("map-spans", "--edits", "e.jsonl", "--spans", problems, "--out", "over.jsonl")

    assert ran.code == 2
    assert ran.err.startswith("error: e.jsonl:1: ")


def test_the_edit_file_may_not_be_the_redacted_notes(deid, notes):
    ran = deid(
        "redact",
        notes,
        "--detector",
        "xnames",
        "--policy",
        "tag",
        "--out",
        "o.jsonl",
        "--edits",
        "o.jsonl",
    )

    assert ran.code == 2
    assert "--edits o.jsonl is also an input" in ran.err
