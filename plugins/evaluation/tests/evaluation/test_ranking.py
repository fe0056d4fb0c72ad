"""Curves and thresholds, against scikit-learn and by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import DigestError, InputError
from deid_assets.core.phi import HARMONISED, Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.testing import parse_marked
from deid_evaluation.ranking import (
    average_precision,
    best_f1,
    calibration,
    rank_predictions,
    rank_spans,
    roc,
    sweep,
    threshold_for_recall,
)

RANKINGS = st.lists(
    st.tuples(st.sampled_from([at / 16 for at in range(17)]), st.booleans()),
    min_size=2,
    max_size=40,
)


def of(pairs, **options):
    scores, right = zip(*pairs, strict=True)
    return rank_predictions(scores, right, **options)


def test_a_sweep_by_hand():
    found = sweep(of([(0.9, True), (0.8, False), (0.8, True), (0.3, False)], missed=2))

    assert found.thresholds.tolist() == [0.9, 0.8, 0.3]
    assert found.tp.tolist() == [1, 2, 2]
    assert found.fp.tolist() == [0, 1, 2]
    assert found.recall.tolist() == [0.25, 0.5, 0.5]
    assert found.f1.tolist() == pytest.approx([2 / 5, 4 / 7, 4 / 8])


@settings(max_examples=60, deadline=None)
@given(RANKINGS)
def test_curves_agree_with_scikit_learn(pairs):
    metrics = pytest.importorskip("sklearn.metrics")
    scores, right = (np.array(side) for side in zip(*pairs, strict=True))
    if right.all() or not right.any():
        return
    found = of(pairs)
    precision, recall, thresholds = metrics.precision_recall_curve(right, scores)
    fpr, tpr, _ = metrics.roc_curve(right, scores, drop_intermediate=False)

    ours = sweep(found)
    assert ours.thresholds[::-1].tolist() == thresholds.tolist()
    assert ours.precision[::-1].tolist() == pytest.approx(precision[:-1].tolist())
    assert ours.recall[::-1].tolist() == pytest.approx(recall[:-1].tolist())
    assert average_precision(found) == pytest.approx(metrics.average_precision_score(right, scores))
    assert roc(found).area == pytest.approx(metrics.roc_auc_score(right, scores))
    assert roc(found).false_positive_rate.tolist() == pytest.approx(fpr.tolist())
    assert roc(found).true_positive_rate.tolist() == pytest.approx(tpr.tolist())


@settings(max_examples=60, deadline=None)
@given(RANKINGS, st.integers(1, 12))
def test_calibration_agrees_with_scikit_learn(pairs, bins):
    metrics, curves = (
        pytest.importorskip("sklearn.metrics"),
        pytest.importorskip("sklearn.calibration"),
    )
    scores, right = (np.array(side) for side in zip(*pairs, strict=True))
    if right.all() or not right.any():
        return
    found = calibration(of(pairs), bins=bins)
    share, mean = curves.calibration_curve(right, scores, n_bins=bins)

    assert found.share_right.tolist() == pytest.approx(share.tolist())
    assert found.mean_score.tolist() == pytest.approx(mean.tolist())
    assert found.brier == pytest.approx(metrics.brier_score_loss(right, scores))


def test_calibration_error_by_hand():
    found = calibration(of([(0.95, True), (0.85, True), (0.95, False), (0.25, False)]), bins=2)

    assert found.count.tolist() == [1, 3]
    assert found.error == pytest.approx((0.25 + 3 * abs(2.75 / 3 - 2 / 3)) / 4)
    assert found.max_error == pytest.approx(0.25)
    with pytest.raises(InputError, match=r"in \[0, 1\]"):
        calibration(of([(1.5, True)]))


def test_gold_that_nothing_finds_lowers_the_area():
    pairs = [(0.9, True), (0.8, True)]

    assert average_precision(of(pairs)) == 1
    assert average_precision(of(pairs, missed=2)) == 0.5


@settings(max_examples=60, deadline=None)
@given(RANKINGS, st.integers(0, 3), st.floats(0.05, 1))
def test_the_threshold_for_a_recall_is_the_highest_that_reaches_it(pairs, missed, aim):
    found = of(pairs, missed=missed)
    if not found.gold:
        return
    reached = [
        at
        for at in sorted({score for score, _ in pairs}, reverse=True)
        if sum(right for score, right in pairs if score >= at) >= aim * found.gold - 1e-9
    ]
    if not reached:
        with pytest.raises(InputError, match="no threshold reaches"):
            threshold_for_recall(found, aim)
        return
    point = threshold_for_recall(found, aim)
    kept = [right for score, right in pairs if score >= point.threshold]

    assert point.threshold == reached[0]
    assert point.false_alarms == kept.count(False)
    assert point.per_found == kept.count(False) / kept.count(True)
    assert point.recall == kept.count(True) / found.gold


@settings(max_examples=60, deadline=None)
@given(RANKINGS)
def test_no_threshold_has_a_higher_f1(pairs):
    found = of(pairs)
    if found.gold:
        assert best_f1(found).f1 == max(sweep(found).f1)


@pytest.mark.parametrize(
    ("scores", "right", "says"),
    [
        ([0.5, math.nan], [1, 0], "1 of 2 scores are NaN"),
        ([math.inf, -math.inf], [1, 0], "2 of 2 scores"),
        ([0.5], [1, 0], "same length"),
        ([[0.5]], [[1]], "two lists"),
        ([0.5], [2], "true or false"),
    ],
)
def test_bad_scores_are_refused(scores, right, says):
    with pytest.raises(InputError, match=says):
        rank_predictions(scores, right)


@pytest.mark.parametrize(
    "run", [sweep, average_precision, best_f1, lambda found: threshold_for_recall(found, 0.9)]
)
def test_nothing_to_find_and_nothing_found_are_no_zero(run):
    with pytest.raises(InputError, match="no annotations"):
        run(of([(0.5, False)]))
    with pytest.raises(InputError, match="nothing was predicted"):
        run(rank_predictions([], [], missed=1))


def test_a_curve_of_one_kind_is_refused():
    for right in (True, False):
        with pytest.raises(InputError, match="right and wrong"):
            roc(of([(0.5, right), (0.6, right)]))


def test_spans_become_a_ranking():
    note, gold = parse_marked("<NAME>Ann</NAME> and <NAME>Lee</NAME> in <CITY>York</CITY>")
    pred = SpanSet.of(
        note,
        [
            Span(0, 3, Phi.NAME, 0.4, "a"),
            Span(0, 3, Phi.NAME, 0.9, "b"),  # the same, surer
            Span(8, 10, Phi.NAME, 0.8, "a"),
            Span(15, 19, Phi.CITY, 0.7, "a"),
            Span(15, 19, Phi.LOCATION, 0.2, "a"),  # the same label under the profile
        ],
    )
    found = rank_spans([(gold, pred)], profile=HARMONISED)

    assert sorted(zip(found.scores.tolist(), found.right.tolist(), strict=True)) == [
        (0.7, True),
        (0.8, False),
        (0.9, True),
    ]
    assert (found.missed, found.gold) == (1, 3)
    with pytest.raises(InputError, match="twice"):
        rank_spans([(gold, pred)] * 2, profile=HARMONISED)
    with pytest.raises(DigestError):
        rank_spans([(gold, parse_marked("<NAME>Kim</NAME>")[1])], profile=HARMONISED)


def test_no_spans_at_all_are_refused_when_swept():
    note, gold = parse_marked("<NAME>Ann</NAME>")

    with pytest.raises(InputError, match="nothing was predicted"):
        sweep(rank_spans([(gold, SpanSet.of(note, []))], profile=HARMONISED))
