"""``deid agreement``: two detectors without gold."""

from pathlib import Path

import pytest


@pytest.fixture
def both(deid, notes):
    deid("detect", notes, "--detector", "xnames", "--detector", "xdates", "--out", "both.jsonl")
    return "both.jsonl"


SOURCES = ("--source", "xnames", "--source", "xdates")


def test_figures_are_those_worked_out_by_hand(deid, notes, both):
    # Three names, of which Zyxwick is a date to the other, and a date.
    ran = deid("agreement", both, *SOURCES, "--notes", notes, "--json")

    assert ran.code == 0
    assert (ran.json["sources"], ran.json["notes"]) == (["xnames", "xdates"], 3)
    assert ran.json["spans"] == {"both": 1, "first_alone": 2, "second_alone": 1}
    assert ran.json["f1"] == {
        "strict": 0,
        "overlap": pytest.approx(2 / 5),
        "characters": pytest.approx(14 / 48),
    }
    assert 0 < ran.json["observed"] < 1
    assert ran.json["missed"][0]["estimate"]["value"] == pytest.approx(4 * 3 / 2 - 1 - 4)
    assert ran.json["missed"][0]["estimate"]["method"] == "Chapman"
    assert ran.json["alpha"]["unitizing"]["by_label"].keys() == {"DATE", "NAME"}
    assert ran.json["alpha"]["token_labels"]["units"] == 18


def test_without_notes_what_needs_their_length_is_not_given(deid, both):
    ran = deid("agreement", both, *SOURCES)

    assert ran.code == 0
    assert [line.split()[-2:] for line in ran.out.splitlines() if "xnames and" in line] == [
        ["n/a", "n/a"]
    ]
    assert [line.split()[-3:] for line in ran.out.splitlines() if "of tokens" in line] == [
        ["n/a"] * 3
    ]
    assert deid("agreement", both, *SOURCES, "--json").json["kappa"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--source", "xnames"), "give --source twice"),
        (("--source", "xnames", "--source", "xnames"), "with two names"),
        (("--source", "xnames", "--source", "crf"), "no span is from crf; it has xdates, xnames"),
    ],
)
def test_sources_that_cannot_be_compared_are_refused(deid, both, arguments, message):
    ran = deid("agreement", both, *arguments)

    assert ran.code == 2
    assert message in ran.err


def test_notes_and_spans_must_be_of_each_other(deid, notes, both):
    lines = Path(notes).read_text().splitlines()
    Path("fewer.jsonl").write_text(lines[0] + "\n")
    Path("more.jsonl").write_text("\n".join([*lines, '{"id": "z", "text": "New."}']) + "\n")
    Path("other.jsonl").write_text("\n".join(lines).replace("rheumatoid", "rheumatic") + "\n")

    for name, message in (
        ("fewer", "2 notes of the spans file are not in fewer.jsonl"),
        ("more", "note 'z' is not in the spans file"),
        ("other", "spans were made for"),
    ):
        ran = deid("agreement", both, *SOURCES, "--notes", f"{name}.jsonl")
        assert (ran.code, message in ran.err) == (2, True)


def test_notes_that_cannot_be_read_are_named_and_left_out(deid, notes, both):
    path = Path(notes)
    path.write_text(path.read_text().replace('"text": "', '"txet": "', 1))
    ran = deid("agreement", both, *SOURCES, "--notes", notes, "--json")

    assert (ran.code, ran.json["notes"], ran.json["withheld"]) == (1, 2, 1)


MARKS = {
    "ann": {"a": [(0, 12, "NAME")], "b": [], "c": [(8, 15, "NAME")]},
    "ben": {"a": [(0, 12, "NAME"), (21, 31, "DATE")], "b": [], "c": [(8, 15, "NAME")]},
    "cem": {
        "a": [(0, 12, "CITY"), (21, 31, "DATE")],
        "b": [],
        "c": [(8, 15, "NAME"), (23, 35, "NAME")],
    },
}


@pytest.fixture
def annotated(deid, write, three):
    """Three annotators of three notes."""
    for name, of_note in MARKS.items():
        records = (
            {
                **record,
                "spans": [
                    dict(zip(("start", "end", "label"), mark, strict=True))
                    for mark in of_note[record["id"]]
                ],
            }
            for record in three
        )
        write(f"{name}.jsonl", *records)
    return [f"{name}.jsonl" for name in MARKS]


def test_any_number_of_annotators_is_compared(deid, annotated):
    ran = deid("agreement", *annotated, "--json")
    strict = {(pair["first"], pair["second"]): pair["f1"]["strict"] for pair in ran.json["pairs"]}

    assert (ran.code, ran.json["sources"]) == (0, ["ann", "ben", "cem"])
    assert strict == {
        ("ann", "ben"): pytest.approx(4 / 5),
        ("ann", "cem"): 2 / 6,
        ("ben", "cem"): 4 / 7,
    }
    assert 0 < ran.json["alpha"]["token_labels"]["alpha"] < 1
    assert ran.json["missed"][0]["marked"] == 4
    assert "observed" not in ran.json  # there is more than one pair
    assert deid("agreement", *annotated).out.count(" and ") >= 3


def test_files_must_be_of_the_same_notes(deid, annotated):
    path = Path("ben.jsonl")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    ran = deid("agreement", *annotated)

    assert ran.code == 2
    assert "1 of 3 notes are not in all files: ben lacks 'c'" in ran.err
