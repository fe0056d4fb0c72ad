"""What holds of a bake-off's scores whatever was annotated and found."""

from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.phi import HARMONISED, Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.counts import Counts, Scheme
from deid_evaluation.bench_scores import ReferenceSpans, reach, score

LENGTH = 40
places = st.tuples(
    st.integers(0, LENGTH - 2), st.integers(1, 6), st.sampled_from([Phi.NAME, Phi.DATE, Phi.ZIP])
)
marks = st.lists(places, max_size=6)
corpora = st.lists(st.tuples(marks, marks), min_size=1, max_size=4)
categories = st.frozensets(st.sampled_from(list(Phi)))


def read(sides, source):
    return {
        f"n{at}": SpanSet(
            f"n{at}",
            f"d{at}",
            tuple(
                {
                    Span(start, min(start + size, LENGTH), label, 1.0, source)
                    for start, size, label in side
                }
            ),
        )
        for at, side in enumerate(sides)
    }


def scored(corpus, *, backwards=False):
    gold, found = (
        read([one for one, _ in corpus], "gold"),
        read([other for _, other in corpus], "found"),
    )
    if backwards:
        gold, found = dict(reversed(gold.items())), dict(reversed(found.items()))
    annotated = ReferenceSpans(gold, dict.fromkeys(gold, LENGTH))
    return annotated, score(annotated, {"found": found}, profile=HARMONISED, resamples=100)


@given(corpora, categories)
@settings(max_examples=60, deadline=None)
def test_what_is_in_reach_is_a_part_of_the_gold_and_grows_with_what_is_declared(corpus, labels):
    annotated, result = scored(corpus)
    evaluation = result.evaluations["found"]
    covered = evaluation.micro(Scheme.COVERED)

    some = reach(evaluation, labels, profile=HARMONISED, occurring=annotated.occurring)
    every = reach(evaluation, frozenset(Phi), profile=HARMONISED, occurring=annotated.occurring)

    assert 0 <= some.gold <= every.gold == covered.gold
    assert some.covered.tp <= covered.tp
    assert some.share is None if not covered.gold else 0 <= some.share <= 1 == every.share
    assert set(some.blind) >= set(every.blind) == set()


@given(corpora)
@settings(max_examples=40, deadline=None)
def test_the_order_of_notes_changes_nothing(corpus):
    _, forwards = scored(corpus)
    _, backwards = scored(corpus, backwards=True)

    assert forwards.evaluations == backwards.evaluations
    assert forwards.comparison == backwards.comparison


@given(corpora)
@settings(max_examples=60, deadline=None)
def test_the_coverage_of_one_detector_is_its_score(corpus):
    _, result = scored(corpus)
    evaluation = result.evaluations["found"]
    covered = evaluation.micro(Scheme.COVERED)

    if result.coverage is None:
        assert covered == Counts(0, covered.fp, 0)
    else:
        alone = result.coverage.value(["found"])
        assert alone.char_recall == evaluation.characters.recall
        assert alone.precision == evaluation.characters.precision
