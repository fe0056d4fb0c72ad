"""``deid adjudicate``, ``audit-gold`` and ``corrections``.

Gold made, doubted and corrected, without a word of it.
"""

import csv
import json
from pathlib import Path

import pytest


@pytest.fixture
def annotate(deid, write, three):
    """Write an annotator's file: marks (start, end, label) by note."""

    def made(name, **marks):
        return write(
            name,
            *(
                {
                    **record,
                    "spans": [
                        dict(zip(("start", "end", "label"), mark, strict=True))
                        for mark in marks.get(record["id"], ())
                    ],
                }
                for record in three
            ),
        )

    return made


NAME, DATE = (0, 12, "NAME"), (21, 31, "DATE")


def test_a_majority_makes_gold_and_ties_are_withheld_and_listed(deid, annotate, records):
    annotate("ann.jsonl", a=[NAME, DATE], c=[(8, 15, "NAME")])
    annotate("ben.jsonl", a=[NAME], c=[(8, 15, "CITY")])
    annotate("cem.jsonl", a=[NAME, DATE], c=[(8, 15, "DATE")])
    ran = deid(
        "adjudicate",
        "ann.jsonl",
        "ben.jsonl",
        "cem.jsonl=third",
        "--out",
        "gold.jsonl",
        "--ties",
        "ties.jsonl",
    )

    assert ran.code == 1
    assert {
        record["id"]: [(s["start"], s["end"], s["label"]) for s in record["spans"]]
        for record in records("gold.jsonl")
    } == {
        "a": [NAME, DATE],
        "b": [],
    }
    assert records("ties.jsonl") == [
        {
            "note_id": "c",
            "start": 8,
            "end": 15,
            "annotations": {
                "ann": [[8, 15, "NAME"]],
                "ben": [[8, 15, "CITY"]],
                "third": [[8, 15, "DATE"]],
            },
        }
    ]
    assert "2 notes settled, 1 withheld for 1 ties" in ran.err
    assert "CITY 8-15" in ran.out


def test_where_all_agree_nothing_is_withheld(deid, annotate):
    for name in ("ann.jsonl", "ben.jsonl"):
        annotate(name, a=[NAME])
    ran = deid("adjudicate", "ann.jsonl", "ben.jsonl", "--out", "gold.jsonl", "--json")

    assert (ran.code, ran.json["notes"], ran.json["ties"]) == (0, 3, [])


def test_gold_that_is_tied_everywhere_is_not_written(deid, annotate):
    annotate("ann.jsonl", a=[NAME], b=[(0, 2, "NAME")], c=[(8, 15, "NAME")])
    annotate("ben.jsonl")
    ran = deid("adjudicate", "ann.jsonl", "ben.jsonl", "--out", "gold.jsonl")

    assert (ran.code, "all 3 notes have a place without a majority" in ran.err) == (2, True)
    assert not Path("gold.jsonl").exists()


def test_what_systems_agree_on_and_gold_lacks_is_listed_without_text(deid, annotate, records):
    annotate("gold.jsonl", a=[NAME, DATE], c=[(8, 15, "NAME")])
    deid("detect", "gold.jsonl", "--detector", "xnames", "--out", "one.jsonl")
    deid("detect", "gold.jsonl", "--detector", "xnames", "--out", "two.jsonl")
    options = ("audit-gold", "--gold", "gold.jsonl", "--pred", "one.jsonl", "--pred", "two.jsonl")
    ran = deid(*options, "--out", "doubts.csv")

    assert ran.code == 0
    assert "1 places where at least 2 of 2 systems agree against the annotations" in ran.err
    with Path("doubts.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert {key: row[key] for key in ("note", "start", "end", "label", "gold_label")} == {
        "note": "c",
        "start": "23",
        "end": "35",
        "label": "NAME",
        "gold_label": "",
    }
    assert deid(*options, "--json").json["places"][0]["systems"] == ["one: xnames", "two: xnames"]


def test_a_spans_file_of_two_detectors_is_two_systems(deid, annotate):
    annotate("gold.jsonl", a=[NAME])
    deid(
        "detect",
        "gold.jsonl",
        "--detector",
        "xnames",
        "--detector",
        "xdates",
        "--out",
        "both.jsonl",
    )
    ran = deid("audit-gold", "--gold", "gold.jsonl", "--pred", "both.jsonl", "--json")

    assert (ran.json["systems"], ran.json["agreeing"]) == (["xdates", "xnames"], 2)
    assert [(place["note"], place["start"]) for place in ran.json["places"]] == [("c", 8)]


def test_a_correction_is_told_by_kind_and_the_score_is_given_before_and_after(
    deid, annotate, records
):
    annotate("old.jsonl", a=[NAME], c=[(0, 15, "NAME")])
    annotate("new.jsonl", a=[NAME, DATE], c=[(8, 15, "NAME"), (23, 35, "NAME")])
    deid("detect", "old.jsonl", "--detector", "xnames", "--out", "pred.jsonl")
    ran = deid(
        "corrections",
        "old.jsonl",
        "new.jsonl",
        "--pred",
        "pred.jsonl",
        "--out",
        "changes.jsonl",
        "--json",
    )

    assert [(change["note"], change["kind"]) for change in ran.json["changes"]] == [
        ("a", "added"),
        ("c", "moved"),
        ("c", "added"),
    ]
    assert records("changes.jsonl") == ran.json["changes"]
    assert ran.json["scores"]["xnames"]["before"]["strict_f1"] == pytest.approx(2 / 5)
    assert ran.json["scores"]["xnames"]["after"]["strict_f1"] == pytest.approx(6 / 7)
    shown = deid("corrections", "old.jsonl", "new.jsonl", "--pred", "pred.jsonl")
    assert "3 spans changed in 2 notes" in shown.err
    assert [line.split()[-1] for line in shown.out.splitlines() if line.startswith("change")] == [
        "+0.457"
    ]


def test_gold_that_was_not_corrected_has_no_changes(deid, annotate):
    annotate("old.jsonl", a=[NAME])
    ran = deid("corrections", "old.jsonl", "old.jsonl", "--json")

    assert (ran.code, ran.json["changes"], ran.json["scores"]) == (0, [], {})


def test_a_list_in_csv_computes_nothing_in_a_spreadsheet(deid, annotate, write, three):
    path = annotate("old.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    write("old.jsonl", {**lines[0], "id": "=1+2"}, *lines[1:])
    write(
        "new.jsonl",
        {**lines[0], "id": "=1+2", "spans": [{"start": 0, "end": 2, "label": "NAME"}]},
        *lines[1:],
    )
    deid("corrections", "old.jsonl", "new.jsonl", "--out", "changes.csv")

    assert Path("changes.csv").read_text().splitlines()[1].startswith("'=1+2,added")
