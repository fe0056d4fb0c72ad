"""Published worked numbers of Vakili (2025) and of the generative study, recomputed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.errors import InputError
from deid_assets.evaluation.counts import Counts
from deid_evaluation.leak_estimates import RareLeaks, estimate_errors, rare_leaks


def test_published_counts_give_the_published_rates():
    counts = Counts(1847, 53, 72)

    assert [round(value, 4) for value in (counts.precision, counts.recall, counts.f1)] == [
        0.9721,
        0.9625,
        0.9673,
    ]


@pytest.mark.parametrize(
    ("predicted", "rates", "true", "left"),
    [(12_525_688, (0.98, 0.97), 12.65, 0.38), (10_459_935, (0.77, 0.55), 14.64, 6.59)],
    ids=["first names", "full dates"],
)
def test_published_residuals_in_millions(predicted, rates, true, left):
    precision, recall = rates
    found = estimate_errors(predicted, precision=precision, recall=recall)

    assert round(found.true / 1e6, 2) == true
    assert round(found.left / 1e6, 2) == left
    assert found.right == pytest.approx(predicted * precision)
    assert found.damaged == pytest.approx(predicted * (1 - precision))


def test_published_right_first_names_in_millions():
    assert round(estimate_errors(12_525_688, precision=0.98, recall=0.97).right / 1e6, 2) == 12.28


@given(st.integers(0, 10_000), st.integers(1, 10_000), st.integers(0, 10_000))
def test_the_estimate_is_exact_where_the_rates_are_of_the_same_notes(fp, tp, fn):
    counts = Counts(tp, fp, fn)
    found = estimate_errors(tp + fp, precision=counts.precision, recall=counts.recall)

    assert (found.right, found.left, found.damaged) == (
        pytest.approx(tp),
        pytest.approx(fn, abs=1e-6),
        pytest.approx(fp, abs=1e-6),
    )


@pytest.mark.parametrize(
    ("predicted", "precision", "recall"),
    [(-1, 0.9, 0.9), (1, 0.9, 0.0), (1, 1.1, 0.9), (1, float("nan"), 0.9), (1, 0.9, float("nan"))],
)
def test_an_estimate_without_meaning_is_refused(predicted, precision, recall):
    with pytest.raises(InputError):
        estimate_errors(predicted, precision=precision, recall=recall)


def test_a_rare_name_left_costs_more_than_a_common_one():
    rare_left = rare_leaks([(1 / 1024, True), (1 / 2, False)])
    common_left = rare_leaks([(1 / 1024, False), (1 / 2, True)])

    assert (rare_left.leaked_bits, rare_left.all_bits) == (10, 11)
    assert common_left.weighted_recall == pytest.approx(10 / 11)
    assert rare_left.weighted_recall == pytest.approx(1 / 11)
    assert rare_left.leaked == common_left.leaked == 1


@given(st.lists(st.booleans(), min_size=1))
def test_values_alike_give_the_recall(left):
    found = rare_leaks((0.01, is_left) for is_left in left)

    assert found.weighted_recall == pytest.approx(1 - sum(left) / len(left))


def test_leaks_add_up_and_none_is_no_recall():
    parts = [(0.5, True), (0.01, False), (0.1, True)]

    assert rare_leaks(parts) == sum((rare_leaks([part]) for part in parts), RareLeaks())
    assert RareLeaks().weighted_recall is None


@pytest.mark.parametrize("share", [0, -0.1, 1.1, float("nan"), float("inf")])
def test_a_share_outside_its_range_is_refused(share):
    with pytest.raises(InputError, match="share"):
        rare_leaks([(share, True)])
