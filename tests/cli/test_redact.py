"""``deid redact``: what it does not know is withheld, and what it does not change survives."""

from pathlib import Path

import pytest

KEY = "00112233445566778899aabbccddeeff"
TAGGED = [
    "[NAME] came on 1999-12-31 with rheumatoid pain.",
    "No rheumatoid signs.",
    "Seen by [NAME].\r\nThen [NAME] left.",
]


@pytest.fixture
def redacted(records):
    return lambda path="out.jsonl": [record["text"] for record in records(path)]


@pytest.fixture
def spans(deid, notes):
    deid("detect", notes, "--detector", "xnames", "--out", "spans.jsonl")
    return "spans.jsonl"


def test_spans_are_replaced_and_the_rest_survives_unchanged(deid, notes, spans, redacted):
    ran = deid("redact", notes, "--spans", spans, "--policy", "tag", "--out", "out.jsonl")

    assert (ran.code, redacted()) == (0, TAGGED)
    assert ran.err.strip() == "3 notes, 3 edits, 0 withheld; written to out.jsonl"


def test_detecting_at_once_gives_the_same(deid, notes, spans, redacted):
    deid("redact", notes, "--spans", spans, "--policy", "tag", "--out", "two.jsonl")
    ran = deid("redact", notes, "--detector", "xnames", "--policy", "tag", "--out", "one.jsonl")

    assert ran.code == 0
    assert redacted("one.jsonl") == redacted("two.jsonl") == TAGGED


@pytest.mark.parametrize("first", [("xdates", "xnames"), ("xnames", "xdates")])
def test_at_once_a_name_wins_over_a_date_of_which_a_policy_may_leave_a_part(
    deid, notes, redacted, first
):
    ensemble = [argument for name in first for argument in ("--detector", name)]
    deid("redact", notes, *ensemble, "--policy", "tag", "--out", "out.jsonl")

    assert redacted()[2] == "Seen by [NAME].\r\nThen [NAME] left."


def test_a_stricter_overlap_policy_applies_at_once(deid, notes):
    ensemble = ("--detector", "xdates", "--detector", "xnames", "--resolve", "intersection")
    ran = deid("redact", notes, *ensemble, "--policy", "tag", "--out", "out.jsonl", "--json")

    assert ran.json["edits"] == 1


def test_neither_patient_ids_nor_fields_of_the_source_are_written(deid, notes, spans, records):
    deid("redact", notes, "--spans", spans, "--policy", "tag", "--out", "out.jsonl")

    assert [sorted(record) for record in records("out.jsonl")] == [["id", "lang", "text"]] * 3


def test_patient_ids_are_written_when_asked_for(deid, notes, spans, records):
    deid(
        "redact",
        notes,
        "--spans",
        spans,
        "--policy",
        "tag",
        "--out",
        "out.jsonl",
        "--keep-patient-ids",
    )

    assert [record.get("patient_id") for record in records("out.jsonl")] == ["p7", None, "p7"]


def test_surrogates_are_the_same_for_one_patient_and_key(deid, notes, spans, monkeypatch, redacted):
    monkeypatch.setenv("DEID_KEY", KEY)
    ran = deid("redact", notes, "--spans", spans, "--policy", "surrogate", "--out", "out.jsonl")
    first, _, third = redacted()

    assert ran.code == 0
    assert first.split()[0] in third
    assert "Quillfeather" not in first + third


def test_a_note_that_the_spans_file_does_not_know_is_withheld(deid, write, spans, redacted, three):
    write("more.jsonl", *three, {"id": "new", "text": "Zyxwick"})
    ran = deid("redact", "more.jsonl", "--spans", spans, "--policy", "tag", "--out", "out.jsonl")

    assert (ran.code, redacted()) == (1, TAGGED)
    assert "note 'new': Missing in redact; withheld" in ran.err


def test_a_note_whose_text_has_changed_is_withheld(deid, write, spans, redacted, three):
    write(
        "changed.jsonl",
        three[0],
        three[1],
        {**three[2], "text": "Seen by Zyxwick and Quillfeather."},
    )
    ran = deid("redact", "changed.jsonl", "--spans", spans, "--policy", "tag", "--out", "out.jsonl")

    assert (ran.code, redacted()) == (1, TAGGED[:2])
    assert "note 'c': DigestError in redact; withheld" in ran.err


def test_a_note_that_a_detector_fails_on_is_withheld(deid, write, redacted, three):
    write("notes.jsonl", three[0], {"id": "bad", "text": "EXPLODE Zyxwick"})
    ran = deid(
        "redact", "notes.jsonl", "--detector", "xnames", "--policy", "tag", "--out", "out.jsonl"
    )

    assert (ran.code, redacted()) == (1, TAGGED[:1])
    assert "note 'bad': RuntimeError in spans_xnames; withheld" in ran.err


def test_spans_in_another_order_fit(deid, notes, spans, redacted):
    lines = Path(spans).read_text().splitlines(keepends=True)
    Path("shuffled.jsonl").write_text("".join(reversed(lines)))
    ran = deid(
        "redact", notes, "--spans", "shuffled.jsonl", "--policy", "tag", "--out", "out.jsonl"
    )

    assert (ran.code, redacted()) == (0, TAGGED)


def test_spans_of_other_notes_are_counted(deid, write, spans, three):
    write("fewer.jsonl", three[1])
    ran = deid("redact", "fewer.jsonl", "--spans", spans, "--policy", "tag", "--out", "out.jsonl")

    assert ran.code == 0
    assert "2 notes of the spans file are not among the notes" in ran.err


def test_a_fault_at_the_end_of_the_spans_file_stops_the_command(deid, notes, spans):
    path = Path(spans)
    path.write_text(path.read_text() + '{"id": "z", "digest": "no"}\n')
    ran = deid("redact", notes, "--spans", spans, "--policy", "tag", "--out", "out.jsonl")

    assert ran.code == 2
    assert ran.err.startswith("error: spans.jsonl:4:")
    assert not Path("out.jsonl").exists()


def test_overlapping_predictions_in_a_spans_file_are_united(deid, notes, redacted):
    deid("detect", notes, "--detector", "xdates", "--detector", "xnames", "--out", "spans.jsonl")
    ran = deid(
        "redact", notes, "--spans", "spans.jsonl", "--policy", "keep_nothing", "--out", "out.jsonl"
    )

    assert ran.code == 0
    assert redacted()[2] == "Seen by [REDACTED].\r\nThen [REDACTED] left."


def test_a_policy_file_is_taken(deid, notes, redacted):
    Path("mine.toml").write_text(
        'name = "mine"\n[actions]\nNAME = { action = "blackout", width = 3 }\n'
    )
    ran = deid(
        "redact", notes, "--detector", "xnames", "--policy", "mine.toml", "--out", "out.jsonl"
    )

    assert ran.code == 0, ran.err
    assert redacted()[2] == "Seen by \u2588\u2588\u2588.\r\nThen \u2588\u2588\u2588 left."


def test_a_folder_may_have_the_name_of_a_policy(deid, notes):
    ran = deid(
        "redact", notes, "--detector", "xnames", "--policy", "tag", "--to", "txt", "--out", "tag"
    )

    assert ran.code == 0, ran.err
    assert Path("tag/c.txt").read_bytes() == TAGGED[2].encode()


@pytest.mark.parametrize("at_once", [True, False])
def test_a_category_that_the_policy_keeps_does_not_uncover_what_is_a_name_too(
    deid, notes, redacted, at_once
):
    """Both detectors mark ``Zyxwick``, the first as a date."""
    Path("mine.toml").write_text('name = "mine"\nkeep = ["DATE"]\n')
    ensemble = ("--detector", "xdates", "--detector", "xnames")
    if not at_once:
        deid("detect", notes, *ensemble, "--out", "spans.jsonl")
        ensemble = ("--spans", "spans.jsonl")
    deid("redact", notes, *ensemble, "--policy", "mine.toml", "--out", "out.jsonl")

    assert redacted()[2] == "Seen by [NAME].\r\nThen [NAME] left."
    assert redacted()[0] == "[NAME] came on 1999-12-31 with rheumatoid pain."


def test_a_language_without_a_pack_stops_before_anything_is_written(
    deid, write, monkeypatch, three
):
    monkeypatch.setenv("DEID_KEY", KEY)
    write("notes.jsonl", *three, {"id": "d", "text": "Zyxwick kom hjem.", "lang": "hu"})
    ran = deid(
        "redact",
        "notes.jsonl",
        "--detector",
        "xnames",
        "--policy",
        "surrogate",
        "--out",
        "out.jsonl",
        "--edits",
        "edits.jsonl",
    )

    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert "no locale pack for language 'hu'; install a plugin" in ran.err
    assert not Path("out.jsonl").exists()
    assert not Path("edits.jsonl").exists()


def test_other_languages_are_tagged_by_option_and_counted(deid, write, monkeypatch, redacted):
    monkeypatch.setenv("DEID_KEY", KEY)
    write("notes.jsonl", {"id": "d", "text": "Zyxwick kom hjem.", "lang": "hu"})
    Path("mine.toml").write_text(
        'name = "mine"\ndefault = { action = "surrogate", other_languages = "tag" }\n',
        encoding="utf-8",
    )
    arguments = (
        "redact",
        "notes.jsonl",
        "--detector",
        "xnames",
        "--policy",
        "mine.toml",
        "--out",
        "out.jsonl",
    )
    ran = deid(*arguments)

    assert (ran.code, redacted()) == (0, ["[NAME] kom hjem."])
    assert "could not be carried out: NAME 1" in ran.err
    assert deid(*arguments, "--json").json["fallbacks"] == {"NAME": 1}
