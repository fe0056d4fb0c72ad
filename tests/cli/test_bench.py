"""``deid bench``: detectors side by side, with gold and without, and what did not run."""

import json
from pathlib import Path

import pytest

GOLD = (
    {
        "id": "a",
        "text": "Quillfeather came on 1999-12-31 with rheumatoid pain.",
        "lang": "en",
        "patient_id": "p7",
        "spans": [
            {"start": 0, "end": 12, "label": "NAME"},
            {"start": 21, "end": 31, "label": "DATE"},
        ],
    },
    {"id": "b", "text": "No rheumatoid signs.", "lang": "en", "spans": []},
    {
        "id": "c",
        "text": "Seen by Zyxwick.",
        "lang": "en",
        "spans": [{"start": 8, "end": 15, "label": "NAME"}],
    },
)
BOTH = ("--detector", "xnames", "--detector", "xdates")


@pytest.fixture
def gold(deid, write):
    return write("gold.jsonl", *GOLD)


def test_detectors_are_scored_against_the_notes_own_annotations(deid, gold):
    ran = deid("bench", gold, "--gold", *BOTH, "--json")

    assert ran.code == 0
    names, dates = ran.json["detectors"]["xnames"], ran.json["detectors"]["xdates"]
    assert names["micro"]["covered"]["recall"] == pytest.approx(2 / 3)
    assert (names["cannot_find"], dates["cannot_find"]) == (["DATE"], ["NAME"])
    assert names["within_reach"]["share_of_gold"] == pytest.approx(2 / 3)
    assert names["within_reach"]["covered"][0] == 1
    assert dates["difference"]["to"] == "xnames"
    assert names["cost"]["notes"] == 3
    assert ran.json["marginal"]["xdates"]["recall_gained"] == pytest.approx(1 / 3)
    assert ran.json["best_subset"]["detectors"] == ["xnames", "xdates"]


def test_without_gold_they_are_compared_with_each_other(deid, notes):
    ran = deid("bench", notes, *BOTH, "--json")

    assert ran.code == 0
    assert "micro" not in ran.json["detectors"]["xnames"]
    assert ran.json["agreement"][0]["detectors"] == ["xnames", "xdates"]
    assert ran.json["marginal"] == {}


def test_the_report_is_one_page_and_one_document(deid, gold):
    ran = deid("bench", gold, "--gold", *BOTH, "--out", "out")
    stored = json.loads(Path("out/bench.json").read_text("utf-8"))
    page = Path("out/bench.html").read_text("utf-8")

    assert ran.code == 0
    assert stored["format"] == 1
    assert stored["gold"] == "3 annotated notes, label map phi"
    assert "<h2>What each one adds</h2>" in page
    assert "rheumatoid" not in page
    assert "Quillfeather" not in page + json.dumps(stored)


def test_the_table_on_the_screen_says_what_cannot_be_found_by_design(deid, gold):
    ran = deid("bench", gold, "--gold", *BOTH, "--profile", "i2b2")

    assert "Cannot find by design" in ran.out
    assert "0.667" in ran.out
    assert "Best subset: xnames + xdates" in ran.out


def test_a_detector_that_does_not_run_is_listed_and_the_others_are_scored(deid, gold):
    ran = deid("bench", gold, "--gold", *BOTH, "--detector", "nobody", "--json")

    assert ran.code == 1
    assert ran.json["detectors"]["nobody"]["fault"].startswith("unknown detector 'nobody'")
    assert ran.json["detectors"]["xnames"]["micro"]["covered"]["recall"] == pytest.approx(2 / 3)


def test_a_note_that_a_detector_fails_on_is_counted(deid, write):
    gold = write("gold.jsonl", *GOLD, {"id": "d", "text": "EXPLODE", "lang": "en", "spans": []})

    ran = deid("bench", gold, "--gold", *BOTH, "--json")

    assert ran.code == 1
    assert [one["failed"] for one in ran.json["detectors"].values()] == [1, 1]


def test_one_detector_may_come_with_several_models(deid, gold):
    ran = deid(
        "bench", gold, "--gold", "--detector", "xnames=m/a", "--detector", "xnames=m/b", "--json"
    )

    assert list(ran.json["detectors"]) == ["xnames=a", "xnames=b"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gold", *BOTH, "--limit", "0"], "the time limit must be positive"),
        (["--gold", "--detector", "xnames", "--detector", "xnames"], "named twice"),
        (
            ["--gold", "--detector", "xnames", "--option", "xdates.words=a"],
            "an option is for 'xdates'",
        ),
        (["--gold", "--detector", "xnames", "--profile", "none"], "unknown profile 'none'"),
    ],
)
def test_bad_input_ends_with_one_line(deid, gold, arguments, message):
    ran = deid("bench", gold, *arguments)

    assert ran.code == 2
    assert message in ran.err


def test_notes_without_annotations_are_no_gold(deid, notes):
    ran = deid("bench", notes, "--gold", *BOTH)

    assert ran.code == 2
    assert "no note is annotated; give notes with spans, or leave --gold out" in ran.err
