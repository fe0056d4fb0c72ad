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
    assert ran.json["f1"] == {"strict": 0, "overlap": pytest.approx(2 / 5), "characters": pytest.approx(14 / 48)}
    assert 0 < ran.json["observed"] < 1
    assert ran.json["missed"]["value"] == pytest.approx(4 * 3 / 2 - 1 - 4)


def test_without_notes_what_needs_their_length_is_not_given(deid, both):
    ran = deid("agreement", both, *SOURCES)

    assert ran.code == 0
    assert [line.split()[-1] for line in ran.out.splitlines() if "kappa" in line] == ["n/a"]
    assert deid("agreement", both, *SOURCES, "--json").json["kappa"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--source", "xnames"), "give --source twice"),
        (("--source", "xnames", "--source", "xnames"), "with two names"),
        (("--source", "xnames", "--source", "crf"), "no span is from crf; it has xdates, xnames"),
    ],
)
def test_other_than_two_sources_are_refused(deid, both, arguments, message):
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
