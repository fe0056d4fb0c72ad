"""Agreement of two sides, and the estimate of what both missed.

Agreement is computed by hand and by scikit-learn's definition.
"""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.errors import DigestError
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.counts import Counts
from deid_assets.testing import parse_marked
from deid_evaluation.agreement import Agreement, agreement, estimate_missed_by_both


def test_counts_by_hand():
    note, first = parse_marked("<NAME>Ann Lee</NAME> of <CITY>Rome</CITY>, <DATE>3 May</DATE>")
    _, second = parse_marked("Ann <NAME>Lee</NAME> of <REGION>Rome</REGION>, <DATE>3 May</DATE>")
    found = agreement(first, second, length=len(note.text))

    assert found == Agreement(Counts(1, 2, 2), Counts(3, 0, 0), Counts(12, 0, 4), 22)
    assert found.observed == pytest.approx(18 / 22)
    # By chance (16 * 12 + 6 * 10) / 22**2.
    assert found.kappa == pytest.approx((18 / 22 - 252 / 484) / (1 - 252 / 484))


def test_kappa_of_cohens_own_shape_of_table():
    # 20 both, 5 and 10 alone, 15 neither: observed 0.7, by chance 0.5, kappa 0.4.
    assert Agreement(characters=Counts(20, 10, 5), length=50).kappa == pytest.approx(0.4)


@pytest.mark.parametrize("characters", [Counts(), Counts(9)])
def test_kappa_is_not_defined_where_both_always_say_the_same(characters):
    assert Agreement(characters=characters, length=9).kappa is None
    assert Agreement(characters=characters, length=9).observed == 1


def test_without_lengths_there_is_no_kappa():
    _, spans = parse_marked("<NAME>Ann</NAME>")
    found = agreement(spans, spans)

    assert (found.observed, found.kappa, found.strict.f1) == (None, None, 1)


SIDE = st.lists(
    st.builds(
        lambda start, size, label: Span(start, start + size, label),
        st.integers(0, 15),
        st.integers(1, 5),
        st.sampled_from([Phi.NAME, Phi.DATE]),
    ),
    max_size=6,
)


@given(SIDE, SIDE)
def test_sides_can_be_exchanged_and_kappa_is_that_of_the_definition(left, right):
    one, other = (SpanSet("n", "d", tuple(side)) for side in (left, right))
    found, mirrored = agreement(one, other, length=20), agreement(other, one, length=20)
    a, b = (
        [any(span.start <= at < span.end for span in side) for at in range(20)]
        for side in (left, right)
    )
    alike = sum(x == y for x, y in zip(a, b, strict=True)) / 20
    chance = (sum(a) * sum(b) + (20 - sum(a)) * (20 - sum(b))) / 400

    assert (found.strict.tp, found.ranges.tp, found.kappa) == (
        mirrored.strict.tp,
        mirrored.ranges.tp,
        mirrored.kappa,
    )
    assert found.observed == pytest.approx(alike)
    assert found.kappa == (pytest.approx((alike - chance) / (1 - chance)) if chance < 1 else None)


def test_spans_of_another_text_are_refused():
    with pytest.raises(DigestError):
        agreement(SpanSet("n", "d"), SpanSet("n", "e"))


def test_what_both_missed_is_chapmans_estimate():
    # First 200, second 100, both 50: 201 * 101 / 51 - 1 = 397.06 in all, 250 seen; variance
    # 201*101*150*50/(51**2*52) = 1125.73; factor exp(1.96 * sqrt(log(1 + 1125.73 / 147.059**2))) =
    # 1.5551.
    found = estimate_missed_by_both(Counts(tp=50, fp=50, fn=150))

    assert found.value == pytest.approx(147.059, abs=0.001)
    assert found.low * found.high == pytest.approx(found.value**2)
    assert (found.low, found.high) == (
        pytest.approx(94.57, abs=0.01),
        pytest.approx(228.69, abs=0.01),
    )


@pytest.mark.parametrize("ranges", [Counts(), Counts(0, 5, 5), Counts(5, 0, 3), Counts(5, 3, 0)])
def test_nothing_is_estimated_where_the_sides_tell_nothing(ranges):
    assert estimate_missed_by_both(ranges) is None


def test_the_interval_covers_the_truth_of_independent_detectors():
    draw = random.Random(5)
    covered = 0
    for _ in range(300):
        seen = [(draw.random() < 0.8, draw.random() < 0.6) for _ in range(400)]
        cells = [
            seen.count(cell)
            for cell in ((True, True), (False, True), (True, False), (False, False))
        ]
        found = estimate_missed_by_both(Counts(*cells[:3]))
        covered += found.low <= cells[3] <= found.high

    # The interval is for the mean number missed; the number itself varies more.
    assert covered / 300 >= 0.8
