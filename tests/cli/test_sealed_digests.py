"""Digests in spans files confirm no guess where ``DEID_KEY`` is set, and still refuse
another text.
"""

import hashlib
import json
from pathlib import Path

import pytest

from deid_assets.formats import read_spans

KEY, OTHER = "5a" * 32, "a5" * 32
REDACT = ("redact", "notes.jsonl", "--spans", "s.jsonl", "--policy", "tag", "--out", "r.jsonl")


class AsWritten:
    """Leaves digests sealed."""

    def seal(self, digest):
        return digest

    def open(self, sealed):
        return sealed


@pytest.fixture
def detected(deid, notes, monkeypatch):
    """Detect with a key, which stays set."""

    def run(key, out="s.jsonl"):
        monkeypatch.delenv("DEID_KEY", raising=False)
        if key:
            monkeypatch.setenv("DEID_KEY", key)
        assert deid("detect", notes, "--detector", "xnames", "--out", out).code == 0
        return [found.digest for found in read_spans(Path(out), seal=AsWritten())]

    return run


def texts(notes):
    return [json.loads(line)["text"] for line in Path(notes).read_text().splitlines()]


def test_a_spans_file_confirms_no_guess_at_a_note_to_who_has_not_the_key(detected, notes):
    plain = [hashlib.sha256(text.encode()).hexdigest() for text in texts(notes)]

    assert detected("") == plain  # who has no key has plain ones
    house, attacker = detected(KEY), detected(OTHER)

    assert not set(house) & {*plain, *attacker}
    assert detected(KEY) == house
    assert len(set(house)) == 3


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_the_holder_of_the_key_redacts_from_it_and_another_text_is_refused(
    deid, detected, write, three, suffix
):
    detected(KEY, f"s.{suffix}")
    asked = [f"s.{suffix}" if argument == "s.jsonl" else argument for argument in REDACT]

    assert deid(*asked).code == 0
    write("notes.jsonl", {**three[0], "text": three[0]["text"] + " "}, *three[1:])
    changed = deid(*asked)

    assert (changed.code, "a: redact:" in changed.err or "'a'" in changed.err) == (1, True)


@pytest.mark.parametrize("key", ["", OTHER])
def test_without_its_key_it_is_refused_in_one_line(deid, detected, monkeypatch, key):
    detected(KEY)
    if key:
        monkeypatch.setenv("DEID_KEY", key)
    else:
        monkeypatch.delenv("DEID_KEY")
    ran = deid(*REDACT)

    assert ran.code == 2
    assert (
        ran.err.strip()
        == "error: s.jsonl:1: the digest is sealed; set DEID_KEY to the key that the file was"
        " written with"
    )
    assert not Path("r.jsonl").exists()


def test_a_file_with_plain_digests_is_still_read_and_named(deid, detected, monkeypatch):
    detected("")
    monkeypatch.setenv("DEID_KEY", KEY)
    ran = deid(*REDACT)

    assert ran.code == 0
    assert ran.err.count("s.jsonl: plain digests, which confirm a guess at a note") == 1
