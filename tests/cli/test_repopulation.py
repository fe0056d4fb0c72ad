"""``deid repopulate`` and ``deid twin``."""

import pytest

KEY = "44" * 32


@pytest.fixture(autouse=True)
def _key(deid, monkeypatch):
    monkeypatch.setenv("DEID_KEY", KEY)


@pytest.fixture
def redacted(deid, notes):
    line = (
        "--detector",
        "xnames",
        "--policy",
        "numbered",
        "--out",
        "out.jsonl",
        "--edits",
        "e.jsonl",
    )
    assert deid("redact", notes, *line, "--keep-patient-ids").code == 0
    return "out.jsonl"


def test_tags_become_surrogates(deid, redacted, records):
    ran = deid(
        "repopulate",
        redacted,
        "--edits",
        "e.jsonl",
        "--policy",
        "surrogate",
        "--out",
        "filled.jsonl",
    )

    assert (ran.code, ran.err.strip()) == (
        0,
        "3 notes, 3 filled, 0 withheld; written to filled.jsonl",
    )
    assert not any("[" in record["text"] for record in records("filled.jsonl"))
    assert records("filled.jsonl")[1]["text"] == "No rheumatoid signs."


def test_the_new_edits_carry_annotations_over(deid, redacted, records, write):
    deid(
        "repopulate",
        redacted,
        "--edits",
        "e.jsonl",
        "--policy",
        "surrogate",
        "--out",
        "f.jsonl",
        "--edits-out",
        "e2.jsonl",
    )
    write("p.jsonl", {"id": "a", "spans": [{"start": 37, "end": 47, "label": "Diagnosis"}]})
    deid("map-spans", "--edits", "e2.jsonl", "--spans", "p.jsonl", "--out", "over.jsonl")

    (span,) = records("over.jsonl")[0]["spans"]
    assert records("f.jsonl")[0]["text"][span["start"] : span["end"]] == "rheumatoid"


def test_a_changed_note_is_withheld(deid, redacted, records, write):
    first, *rest = records(redacted)
    write("changed.jsonl", {**first, "text": first["text"] + "!"}, *rest)
    ran = deid(
        "repopulate",
        "changed.jsonl",
        "--edits",
        "e.jsonl",
        "--policy",
        "surrogate",
        "--out",
        "f.jsonl",
    )

    assert (ran.code, "note 'a': DigestError in repopulate; withheld" in ran.err) == (1, True)


def test_what_stays_a_tag_is_said(deid, redacted):
    ran = deid("repopulate", redacted, "--edits", "e.jsonl", "--policy", "tag", "--out", "f.jsonl")

    assert "left as tags, for which policy 'tag' writes nothing else: 3 NAME" in ran.err


def test_a_twin_from_spans(deid, notes, records, three):
    deid("detect", notes, "--detector", "xnames", "--detector", "xdates", "--out", "spans.jsonl")
    ran = deid("twin", notes, "--spans", "spans.jsonl", "--out", "twin.jsonl")

    assert (ran.code, ran.err.strip()) == (0, "3 notes, 3 names, 0 withheld; written to twin.jsonl")
    first, second, third = (record["text"] for record in records("twin.jsonl"))
    assert first.endswith(" came on 1999-12-31 with rheumatoid pain.")
    assert second == three[1]["text"]
    assert first.split(" came")[0] in third


def test_a_twin_from_annotations(deid, write, records):
    write(
        "gold.jsonl",
        {
            "id": "g",
            "lang": "en",
            "text": "Zyxwick is well.",
            "spans": [{"start": 0, "end": 7, "label": "NAME"}],
        },
    )
    deid("twin", "gold.jsonl", "--out", "one.jsonl")
    deid("twin", "gold.jsonl", "--out", "two.jsonl", "--number", "2")

    one, two = (records(path)[0]["text"] for path in ("one.jsonl", "two.jsonl"))
    assert one != two
    assert one.endswith(" is well.")


def test_a_twin_needs_annotations_or_spans(deid, notes):
    ran = deid("twin", notes, "--out", "twin.jsonl")

    assert (ran.code, "NoAnnotations in twin; withheld" in ran.err) == (1, True)


def test_a_twin_needs_a_key(deid, notes, monkeypatch):
    monkeypatch.delenv("DEID_KEY")
    ran = deid("twin", notes, "--out", "twin.jsonl")

    assert (ran.code, "other names need a key; set DEID_KEY" in ran.err) == (2, True)
