"""``deid diff`` and ``deid why``."""

import pytest


@pytest.fixture
def two(deid, notes, monkeypatch):
    """Edit maps of two redactions: with names alone, and with names and dates."""
    monkeypatch.setenv("DEID_KEY", "5a" * 32)
    for name, detectors in (("old", ("xnames",)), ("new", ("xnames", "xdates"))):
        ensemble = [part for detector in detectors for part in ("--detector", detector)]
        deid(
            "redact",
            notes,
            *ensemble,
            "--policy",
            "tag",
            "--out",
            f"{name}-notes.jsonl",
            "--edits",
            f"{name}.jsonl",
        )
    return "old.jsonl", "new.jsonl"


def test_what_a_new_detector_changed_is_put_down_to_it(deid, two):
    found = deid("diff", *two, "--json").json

    assert found["notes"] == {
        "same": 2,
        "changed": 1,
        "other_text": 0,
        "only_old": 0,
        "only_new": 0,
    }
    (difference,) = found["differences"]
    assert (difference["change"], difference["label"], difference["source"]) == (
        "gained",
        "DATE",
        "xdates",
    )
    assert difference["why"].startswith("xdates 1.0+")
    assert difference["why"].endswith(" is new")


def test_it_is_shown_as_tables(deid, two):
    ran = deid("diff", *two)

    assert ran.code == 0
    assert "2 notes as they were, 1 with a difference" in ran.out
    assert "is new" in ran.out


def test_the_page_says_whether_anything_is_lost(deid, two, tmp_path):
    old, new = two
    deid("diff", old, new, "--out", "gained")
    deid("diff", new, old, "--out", "lost")

    home = tmp_path / "home"
    assert (
        "All that was replaced before is replaced now"
        in (home / "gained" / "diff.html").read_text()
    )
    assert (
        "10 characters that were replaced before are not replaced now"
        in (home / "lost" / "diff.html").read_text()
    )
    assert (home / "lost" / "diff.json").exists()


def test_a_redaction_does_not_differ_from_itself(deid, two):
    assert deid("diff", two[0], two[0], "--json").json["differences"] == []


def test_notes_are_no_edit_maps(deid, two, notes):
    ran = deid("diff", notes, two[1])

    assert (ran.code, ran.err.startswith("error: notes.jsonl:1: not a line of an edit file")) == (
        2,
        True,
    )


@pytest.fixture
def spans(deid, notes):
    deid("detect", notes, "--detector", "xnames", "--detector", "xdates", "--out", "spans.jsonl")
    return "spans.jsonl"


def test_why_names_detectors_and_policies(deid, notes, spans):
    ran = deid("why", notes, "--note", "c", "--at", "9", "--spans", spans, "--policy", "tag")

    assert ran.code == 0
    assert "xnames" in ran.out
    assert "xdates" in ran.out
    # equally long and sure
    assert "note 'c' at 9: union makes it NAME [8, 15), named by xnames" in ran.out
    assert "policy 'tag': Tag" in ran.out


def test_why_says_what_another_overlap_policy_makes_of_it(deid, notes, spans):
    answer = deid(
        "why",
        notes,
        "--note",
        "a",
        "--at",
        "2",
        "--spans",
        spans,
        "--resolve",
        "majority",
        "--json",
    ).json

    assert [span["source"] for span in answer["predictions"]] == ["xnames"]
    assert answer["span"] is None


def test_why_not(deid, notes, spans):
    ran = deid("why", notes, "--note", "b", "--at", "2", "--spans", spans)

    assert "no detector marked it" in ran.out
    assert "not redacted by overlap policy 'union'" in ran.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--note", "zz", "--at", "2"), "no note 'zz'"),
        (("--note", "b", "--at", "99"), "is outside note 'b', which has 20 characters"),
        (("--note", "b", "--at", "2", "--resolve", "vote"), "unknown overlap policy 'vote'"),
    ],
)
def test_a_wrong_question_is_one_line(deid, notes, spans, options, message):
    ran = deid("why", notes, *options, "--spans", spans)

    assert (ran.code, message in ran.err) == (2, True)
