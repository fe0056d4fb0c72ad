"""Figures of the benchmark of a language model's surrogates, on values written by hand."""

from pathlib import Path

import pytest

from deid_assets.core.phi import Phi

PROGRAMS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def figures(monkeypatch):
    """A function from (owner, label, original, drawn) to figures by their heading."""
    monkeypatch.syspath_prepend(str(PROGRAMS))
    import surrogate_mlm

    def counted(*values, learnt=()):
        found = surrogate_mlm._figures(
            [surrogate_mlm.Value(*value) for value in values], frozenset(learnt)
        )
        return dict(zip(surrogate_mlm.HEADER[4:], found, strict=True))

    return counted


def test_a_patients_words_are_followed_through_cases_order_and_the_genitive(figures):
    found = figures(
        ("p", Phi.NAME, "Ann Lee", "Mary Brown"),
        ("p", Phi.NAME, "LEE, ANN", "BROWN, MARY"),
        ("p", Phi.NAME, "Lee's", "Smith's"),
        ("q", Phi.NAME, "Lee", "Jones"),
    )

    assert found["One word, one surrogate"] == "50.0%"
    assert found["Two words, one surrogate"] == "0.0%"
    assert found["Different name words, of"] == "4 of 2"


@pytest.mark.parametrize(
    ("value", "heading", "figure"),
    [
        (("p", Phi.CITY, "Bern", "[CITY]"), "Tagged", "100.0%"),
        (("p", Phi.CITY, "Bern", "BERN"), "Left as they were", "1"),
        (("p", Phi.NAME, "Ann Lee", "Mary Lee"), "Name words kept", "1"),
        (("p", Phi.NAME, "Ann Lee", "Mary Mary"), "Two words, one surrogate", "100.0%"),
        (("p", Phi.NAME, "Ann Lee", "Mary Troponin"), "Names by the lists", "50.0%"),
        (("p", Phi.NAME, "Ann Lee", "Mary Zoltrix"), "Names of the training notes", "50.0%"),
        (("p", Phi.CITY, "Bern", "Oslo 12"), "Digits or identifiers", "1"),
        (("p", Phi.NAME, "Ann Lee", "LEE, ANN"), "Full names of others", "1"),
    ],
)
def test_each_fault_is_counted(figures, value, heading, figure):
    assert figures(value, learnt={"zoltrix"})[heading] == figure
