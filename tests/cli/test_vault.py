"""``deid redact --vault``, ``deid reidentify`` and ``deid vault``.

The whole way there and back, and what may go wrong.
"""

import json
import os

import pytest

ONE, TWO, KEY = "11" * 32, "22" * 32, "33" * 32
URL = "sqlite:///vault.db"
WHO = ("--by", "officer", "--reason", "trial recall 7")


@pytest.fixture(autouse=True)
def _keys(deid, monkeypatch):
    monkeypatch.setenv("DEID_VAULT_KEY", ONE)
    monkeypatch.setenv("DEID_KEY", KEY)


@pytest.fixture
def redacted(deid, notes):
    line = ("--detector", "xnames", "--detector", "xdates", "--policy", "tag", "--out", "out.jsonl")
    ran = deid("redact", notes, *line, "--vault", URL, "--vault-by-note")
    assert (ran.code, ran.err.strip()) == (0, "3 notes, 4 edits, 0 withheld; written to out.jsonl")
    return "out.jsonl"


def texts(records, path):
    return [(record["id"], record["text"]) for record in records(path)]


def test_there_and_back(deid, redacted, records, three, tmp_path):
    ran = deid("reidentify", redacted, "--vault", URL, *WHO, "--out", "back.jsonl")

    assert (ran.code, ran.err.strip()) == (0, "3 notes, 0 withheld; written to back.jsonl")
    assert texts(records, "back.jsonl") == [(note["id"], note["text"]) for note in three]
    assert [record.get("patient_id") for record in records("back.jsonl")] == ["p7", None, "p7"]
    assert (tmp_path / "home" / "back.jsonl").stat().st_mode & 0o77 == 0


def test_what_the_process_masks_is_as_before(deid, redacted):
    before = os.umask(0o022)
    try:
        deid("reidentify", redacted, "--vault", URL, *WHO, "--out", "back.jsonl")
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)


def test_an_empty_note_comes_back_too(deid, write, records):
    write("empty.jsonl", {"id": "e", "text": "", "lang": "en", "patient_id": "p"})
    deid(
        "redact",
        "empty.jsonl",
        "--detector",
        "xnames",
        "--policy",
        "tag",
        "--out",
        "out.jsonl",
        "--vault",
        URL,
    )
    ran = deid("reidentify", "out.jsonl", "--vault", URL, *WHO, "--out", "back.jsonl")

    assert (ran.code, texts(records, "back.jsonl")) == (0, [("e", "")])


def test_the_log_shows_it(deid, redacted):
    deid("reidentify", redacted, "--vault", URL, *WHO, "--out", "back.jsonl")
    rows = deid("vault", "log", "--vault", URL, "--json").json

    assert [(row["action"], row["who"], row["reason"], len(row["subjects"])) for row in rows] == [
        ("reidentify", "officer", "trial recall 7", 3)
    ]
    assert "officer" in deid("vault", "log", "--vault", URL).out


def test_a_note_that_was_changed_is_withheld(deid, redacted, records, write):
    first, *rest = records(redacted)
    write("changed.jsonl", {**first, "text": first["text"] + " More."}, *rest)
    ran = deid("reidentify", "changed.jsonl", "--vault", URL, *WHO, "--out", "back.jsonl")

    assert ran.code == 1
    assert "note 'a': NotInVault in reidentify; withheld" in ran.err
    assert [record["id"] for record in records("back.jsonl")] == ["b", "c"]


def test_a_note_without_patient_is_withheld_unless_notes_may_stand_for_themselves(deid, notes):
    ran = deid(
        "redact",
        notes,
        "--detector",
        "xnames",
        "--policy",
        "tag",
        "--out",
        "o.jsonl",
        "--vault",
        URL,
    )

    assert ran.code == 1
    assert "note 'b': no patient id, without which the vault cannot erase a patient" in ran.err
    assert "2 notes" in ran.err


def test_erasure_of_a_patient(deid, redacted, records):
    ran = deid("vault", "erase", "--vault", URL, *WHO, "--patient", "p7")
    assert (ran.code, ran.err.strip()) == (0, "2 notes with 4 edits deleted")

    ran = deid("reidentify", redacted, "--vault", URL, *WHO, "--out", "back.jsonl")
    assert (ran.code, [record["id"] for record in records("back.jsonl")]) == (1, ["b"])
    assert deid("vault", "erase", "--vault", URL, *WHO, "--patient", "p7").code == 2


def test_rotation(deid, redacted, monkeypatch):
    monkeypatch.setenv("DEID_VAULT_KEY", f"{TWO},{ONE}")
    ran = deid("vault", "rotate", "--vault", URL, *WHO)
    # 3 notes, 4 edits, the ids' key, the log's end
    assert (ran.code, "9 values re-encrypted" in ran.err) == (0, True)

    monkeypatch.setenv("DEID_VAULT_KEY", TWO)
    verified = deid("vault", "verify", "--vault", URL)
    assert verified.code == 0
    assert verified.err.startswith(
        "whole: 2 patients, 3 notes, 4 edits, 1 log rows; values sealed: 9 with key "
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "",
            (
                "error: there is no key for the vault; set DEID_VAULT_KEY to the output of `openssl"
                " rand -hex 32`"
            ),
        ),
        (TWO, "error: the vault: sealed with key "),
        ("hello", "error: DEID_VAULT_KEY is not hexadecimal"),
    ],
)
def test_without_the_key_nothing_is_written(  # noqa: PLR0917 - fixtures
    deid, redacted, monkeypatch, tmp_path, value, message
):
    monkeypatch.setenv("DEID_VAULT_KEY", value)
    ran = deid("reidentify", redacted, "--vault", URL, *WHO, "--out", "back.jsonl")

    assert ran.code == 2
    assert ran.err.startswith(message)
    assert len(ran.err.strip().splitlines()) == 1
    assert not (tmp_path / "home" / "back.jsonl").exists()


def test_redaction_into_a_vault_that_cannot_be_opened_writes_nothing(
    deid, redacted, notes, monkeypatch, tmp_path
):
    monkeypatch.setenv("DEID_VAULT_KEY", TWO)
    ran = deid(
        "redact",
        notes,
        "--detector",
        "xnames",
        "--policy",
        "tag",
        "--out",
        "new.jsonl",
        "--vault",
        URL,
    )

    assert (ran.code, "sealed with key" in ran.err) == (2, True)
    assert not (tmp_path / "home" / "new.jsonl").exists()


@pytest.fixture
def encrypted(deid, notes, tmp_path):
    (tmp_path / "home" / "enc.toml").write_text('name = "enc"\ndefault = "encrypt"\n')
    line = ("--detector", "xnames", "--policy", "enc.toml", "--out", "enc.jsonl")
    assert deid("redact", notes, *line).code == 0
    return "enc.jsonl"


def test_encrypted_values_are_read_back_with_the_key_alone(
    deid, encrypted, records, three, tmp_path
):
    for _ in range(2):
        ran = deid(
            "reidentify", encrypted, "--tokens", "--log", "log.jsonl", *WHO, "--out", "back.jsonl"
        )

    assert ran.code == 0
    assert texts(records, "back.jsonl") == [(note["id"], note["text"]) for note in three]
    assert [row["who"] for row in records("log.jsonl")] == ["officer", "officer"]


def test_a_changed_log_of_opened_values_stops(deid, encrypted, records, write):
    deid("reidentify", encrypted, "--tokens", "--log", "log.jsonl", *WHO, "--out", "back.jsonl")
    (row,) = records("log.jsonl")
    write("log.jsonl", {**row, "who": "nobody"})
    ran = deid(
        "reidentify", encrypted, "--tokens", "--log", "log.jsonl", *WHO, "--out", "again.jsonl"
    )

    assert ran.code == 2
    assert "log.jsonl:1: altered" in ran.err


def test_with_another_key_encrypted_notes_are_withheld(deid, encrypted, monkeypatch):
    monkeypatch.setenv("DEID_KEY", TWO)
    ran = deid(
        "reidentify", encrypted, "--tokens", "--log", "log.jsonl", *WHO, "--out", "back.jsonl"
    )

    assert ran.code == 1
    assert "note 'a': ProvenanceError in reidentify; withheld" in ran.err


@pytest.mark.parametrize(
    "options", [(), ("--vault", URL, "--tokens"), ("--tokens",), ("--vault", URL, "--log", "l")]
)
def test_it_takes_a_vault_or_tokens(deid, redacted, options):
    ran = deid("reidentify", redacted, *options, *WHO, "--out", "back.jsonl")

    assert (ran.code, "give --vault with the URL" in ran.err) == (2, True)


def test_a_reason_is_needed(deid, redacted):
    ran = deid(
        "reidentify", redacted, "--vault", URL, "--by", "me", "--reason", " ", "--out", "back.jsonl"
    )

    assert (ran.code, "--reason must be 3 to 500 printable characters" in ran.err) == (2, True)


def test_an_altered_vault_is_found(deid, redacted, tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "home" / "vault.db") as database:
        database.execute("UPDATE deid_vault_edits SET ciphertext = x'00'")
    ran = deid("vault", "verify", "--vault", URL)

    assert (ran.code, "altered, or moved from another place" in ran.err) == (2, True)
    assert json.dumps(ran.err).isascii()
