"""French triage notes have the statistics of a real emergency department (Dorémus et al. 2025,
tables 1 and 2).
"""

import statistics
from collections import Counter

import pytest

from deid_assets.core.errors import InputError
from deid_assets.core.phi import Phi
from deid_synthesis import make_corpus

CODES = {
    Phi.NAME: "NAME",
    Phi.DATE: "DATE",
    Phi.PHONE: "TEL",
    **dict.fromkeys((Phi.CITY, Phi.ZIP, Phi.STREET, Phi.HOSPITAL, Phi.ORGANIZATION), "LOC"),
}
"""Categories of the study; ages and professions are none."""
MIX = {"NAME": 0.289, "LOC": 0.373, "TEL": 0.021, "DATE": 0.316}
"""Of the 1,912 items of its 3,000 notes drawn at random."""


@pytest.fixture(scope="module")
def notes():
    return list(make_corpus(lang="fr", notes=3000, seed=31, mix="triage"))


def test_lengths_are_those_of_the_study(notes):
    lengths = [len(note) for note, _ in notes]
    assert statistics.mean(lengths) == pytest.approx(439, rel=0.1)
    assert statistics.pstdev(lengths) == pytest.approx(283, rel=0.1)
    assert max(lengths) <= 2138


def test_three_notes_in_ten_hold_phi(notes):
    found = [len(spans) for _, spans in notes]
    assert sum(map(bool, found)) / len(found) == pytest.approx(0.312, abs=0.02)
    assert sum(found) / sum(map(bool, found)) == pytest.approx(2.05, rel=0.1)


def test_the_mix_of_categories_is_that_of_the_study(notes):
    counts = Counter(CODES.get(span.label, span.label) for _, spans in notes for span in spans)
    for code, share in MIX.items():
        assert counts[code] / counts.total() == pytest.approx(share, abs=0.02), code


def test_no_two_long_notes_are_alike(notes):
    long = [note.text for note, _ in notes if len(note) > 100]
    assert len(set(long)) == len(long)


def test_another_language_has_none():
    with pytest.raises(InputError, match="not written in 'en'"):
        make_corpus(lang="en", notes=1, seed=1, mix="triage")
    with pytest.raises(InputError, match="unknown mix"):
        make_corpus(lang="fr", notes=1, seed=1, mix="ward")
