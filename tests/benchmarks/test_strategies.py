"""What the strategies benchmark scores.

Categories that all corpora annotate, and each note once.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from deid_assets.core.note import Note
from deid_assets.core.phi import I2B2_2014, Phi
from deid_assets.core.span import DisjointSpans, Span, SpanSet
from deid_assets.core.trainer import Document
from deid_assets.evaluation.six_scores import Granularity, Level, SixScores


@pytest.fixture
def strategies(monkeypatch):
    pytest.importorskip("deid_crf", reason="the benchmark trains the crf plugin")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import strategies

    return strategies


class Fixed:
    """Marks the same places in every note."""

    name, version = "fixed", "1"
    labels = frozenset(Phi)

    def __init__(self, *spans):
        self._spans = [replace(span, source=self.name) for span in spans]

    def detect(self, notes):
        return [SpanSet.of(note, self._spans) for note in notes]


def document(*spans):
    note = Note("n1", "Anna Berg, Malmö, 12 May, 48 y", lang="en")
    return Document(note, DisjointSpans.of(note, spans))


NAME, CITY, DATE, AGE = (
    Span(0, 9, Phi.NAME),
    Span(11, 16, Phi.CITY),
    Span(18, 24, Phi.DATE),
    Span(26, 28, Phi.AGE),
)


def test_every_category_has_one_label_of_its_own(strategies):
    for category, label in strategies.OF_CATEGORY.items():
        assert I2B2_2014.label_of(label) == category
    assert strategies.OF_CATEGORY.keys() == set(I2B2_2014.labels.values())


def test_coarse_keeps_only_shared_categories_under_one_label_each(strategies):
    assert strategies.categories([document(NAME, CITY, AGE)]) == {"NAME", "LOCATION", "AGE"}
    (found,) = strategies.coarse([document(NAME, CITY, AGE)], frozenset({"NAME", "LOCATION"}))
    assert [(span.start, span.label) for span in found.spans] == [(0, Phi.NAME), (11, Phi.LOCATION)]


@pytest.mark.parametrize(
    ("predicted", "counts"),
    [
        ((NAME, CITY), (2, 0, 0)),  # CITY is as right as LOCATION
        ((NAME, AGE), (1, 0, 1)),  # AGE is not annotated, so it is not wrong
        ((NAME, DATE), (1, 1, 1)),
        ((), (0, 0, 2)),
    ],
)
def test_predictions_count_by_category_where_it_is_annotated(strategies, predicted, counts):
    kept = frozenset({"NAME", "LOCATION", "DATE"})
    gold = strategies.coarse([document(NAME, CITY)], kept)
    pooled = sum(strategies._score_notes(Fixed(*predicted), gold, kept), SixScores())
    found = pooled.micro(Level.ENTITY, Granularity.CATEGORY)
    assert (found.tp, found.fp, found.fn) == counts


def test_a_note_that_fails_ends_the_program(strategies):
    class Broken(Fixed):
        def detect(self, notes):
            raise LookupError

    with pytest.raises(SystemExit, match="failed on note 'n1'"):
        strategies._score_notes(Broken(), [document(NAME)], frozenset({"NAME"}))


def test_training_on_a_test_note_is_refused(strategies):
    from deid_assets.core.errors import InputError

    with pytest.raises(InputError, match="among the test notes"):
        strategies._learnt([([[document(NAME)]], [document(NAME)])], None, frozenset({"NAME"}))
