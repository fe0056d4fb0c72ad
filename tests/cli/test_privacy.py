"""``deid privacy hips``."""

import pytest

KEY = "55" * 32


@pytest.fixture
def gold(deid, monkeypatch):
    monkeypatch.setenv("DEID_KEY", KEY)
    deid("corpus", "make", "--notes", "60", "--seed", "3", "--out", "gold.jsonl")
    return "gold.jsonl"


def test_tags_against_surrogates(deid, gold, tmp_path):
    line = ("--policy", "tag", "--policy", "surrogate", "--recall", "0.9", "--out", "audit", "--json")
    ran = deid("privacy", "hips", gold, *line)

    tags, surrogates = ran.json["findings"]
    assert (tags["policy"], tags["precision"][0], tags["auc"][0]) == ("tag", 1.0, 1.0)
    assert surrogates["precision"][0] < 1
    assert tags["leftovers"] >= surrogates["leftovers"] > 10
    assert {path.name for path in (tmp_path / "home" / "audit").iterdir()} == {"hips.png", "hips.json"}


def test_a_detectors_own_misses_are_judged(deid, gold):
    deid("detect", gold, "--detector", "xdates", "--out", "spans.jsonl")
    ran = deid("privacy", "hips", gold, "--policy", "tag", "--recall", "0.9", "--spans", "spans.jsonl")

    assert ran.code == 0
    assert "detected" in ran.out


def test_a_category_may_be_dropped_on_its_own(deid, gold):
    line = ("--policy", "tag", "--recall", "0.9999", "--drop", "NAME=1", "--json")
    (row,) = deid("privacy", "hips", gold, *line).json["findings"]

    assert row["leftovers"] > 50


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--recall", "1"), "a recall to draw is between 0 and 1, got 1.0"),
        (("--drop", "PERSON=1"), "--drop 'PERSON=1' must read CATEGORY=SHARE"),
        (("--drop", "NAME=2"), "a share to drop is in [0, 1], got 2.0"),
    ],
)
def test_a_wrong_share_is_one_line(deid, gold, options, message):
    ran = deid("privacy", "hips", gold, "--policy", "tag", *options)

    assert (ran.code, message in ran.err) == (2, True)


def test_notes_without_annotations_are_refused(deid, notes):
    ran = deid("privacy", "hips", notes, "--policy", "tag")

    assert (ran.code, "note 'a' has no annotations" in ran.err) == (2, True)


def test_a_policy_that_needs_a_key_says_so(deid, gold, monkeypatch):
    monkeypatch.delenv("DEID_KEY")
    ran = deid("privacy", "hips", gold, "--policy", "surrogate")

    assert (ran.code, "set DEID_KEY" in ran.err) == (2, True)
