from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import ConfigError, DigestError, InputError
from deid_assets.core.note import Note
from deid_assets.core.phi import HARMONISED, Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.marginal import Coverage, best_subset, coverage, marginals
from deid_assets.evaluation.score import Scheme, evaluate
from deid_assets.testing import parse_marked

LENGTH = 30


def covered(gold, **preds):
    return coverage(
        parse_marked(gold)[1],
        {name: parse_marked(text)[1] for name, text in preds.items()},
        profile=HARMONISED,
    )


def test_what_each_detector_adds_by_hand():
    found = covered(
        "<NAME>Ann</NAME> and <NAME>Lee</NAME> in <CITY>York</CITY>",
        names="<NAME>Ann</NAME> and <NAME>Lee</NAME> in York",
        noisy="<NAME>Ann</NAME> <NAME>and</NAME> Lee in York",
        places="Ann and Lee in <CITY>York</CITY>",
    )
    names, noisy, places = marginals(found)

    assert found.value(found.detectors).recall == 1
    assert (names.recall_gained, names.char_recall_gained) == (
        pytest.approx(1 / 3),
        pytest.approx(3 / 10),
    )
    assert (noisy.recall_gained, noisy.precision_lost) == (0, pytest.approx(1 - 10 / 13))
    assert noisy.alone.precision == 0.5
    assert places.without.detectors == ("names", "noisy")
    assert names.precision_lost < 0
    assert best_subset(found).detectors == ("names", "places")


def test_two_detectors_can_hide_a_span_that_neither_hides():
    found = covered("<NAME>Ann Lee</NAME>", a="<NAME>Ann </NAME>Lee", b="Ann <NAME>Lee</NAME>")

    assert [row.alone.recall for row in marginals(found)] == [0, 0]
    assert found.value("ab").recall == 1
    assert [row.recall_gained for row in marginals(found)] == [1, 1]


def test_a_precision_can_be_asked_for():
    found = covered(
        "<NAME>Ann</NAME> and <AGE>93</AGE>",
        sure="<NAME>Ann</NAME> and 93",
        wild="<NAME>Ann and 93</NAME>",
    )

    assert best_subset(found).detectors == ("wild",)
    assert best_subset(found, min_precision=0.9).detectors == ("sure",)
    with pytest.raises(InputError, match=r"precision 1\.100"):
        best_subset(found, min_precision=1.1)


def test_bad_input_is_refused():
    gold = parse_marked("<NAME>Ann</NAME>")[1]
    with pytest.raises(InputError, match="no annotations"):
        covered("Ann", a="<NAME>Ann</NAME>").value("a")
    with pytest.raises(InputError, match="no annotations"):
        best_subset(covered("Ann", a="Ann"))
    with pytest.raises(ConfigError, match="'z' was not scored"):
        covered("<NAME>Ann</NAME>", a="Ann").value("z")
    with pytest.raises(ConfigError, match="got 13"):
        coverage(gold, {str(at): gold for at in range(13)}, profile=HARMONISED)
    with pytest.raises(DigestError):
        coverage(gold, {"a": SpanSet.of(Note("marked", "Kim"), [])}, profile=HARMONISED)
    with pytest.raises(InputError, match="do not add up"):
        Coverage(("a",)) + Coverage(("b",))


SPANS = st.lists(
    st.tuples(st.integers(0, LENGTH - 1), st.integers(1, 9), st.sampled_from([Phi.NAME, Phi.DATE])),
    max_size=5,
).map(lambda found: [Span(start, min(start + size, LENGTH), label) for start, size, label in found])
NOTES = st.lists(st.tuples(SPANS, st.lists(SPANS, min_size=3, max_size=3)), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(NOTES)
def test_every_subset_scores_as_its_union_does(notes):
    total, scored = Coverage(("a", "b", "c")), {}
    for number, (gold, preds) in enumerate(notes):
        note = Note(f"n{number}", "x" * LENGTH)
        sides = {name: SpanSet.of(note, spans) for name, spans in zip("abc", preds, strict=True)}
        total += coverage(SpanSet.of(note, gold), sides, profile=HARMONISED)
        scored[note] = SpanSet.of(note, gold), sides
    if not any(gold for gold, _ in notes):
        return
    values = []
    for names in (names for size in (1, 2, 3) for names in combinations("abc", size)):
        evaluations = [
            evaluate(
                gold,
                SpanSet.of(note, [span for name in names for span in sides[name]]),
                profile=HARMONISED,
                length=LENGTH,
            )
            for note, (gold, sides) in scored.items()
        ]
        whole = sum(evaluations[1:], evaluations[0])
        value = total.value(names)
        values.append(value)
        assert value.recall == whole.micro(Scheme.COVERED).recall
        assert value.char_recall == whole.characters.recall
        assert value.precision == whole.characters.precision
    if any(value.precision is not None for value in values):
        assert best_subset(total).recall == max(value.recall for value in values)


def test_the_best_subset_is_the_smallest_of_those_that_hide_as_much():
    """One that marks more of an identifier, and covers no other, is not worth its time."""
    found = covered(
        "<NAME>Ann</NAME> and <NAME>Lee Roy</NAME>",
        names="<NAME>Ann</NAME> and Lee Roy",
        partly="Ann and <NAME>Lee</NAME> Roy",
        noisy="<NAME>Ann and</NAME> Lee Roy",
    )

    assert best_subset(found).detectors == ("names",)
