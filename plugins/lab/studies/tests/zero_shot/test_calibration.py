"""Thresholds are the best that the development notes allow.

Statistics agree with scikit-learn and with the study.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from deid_assets import Note, Phi, Span
from deid_assets.core.errors import InputError
from deid_zero_shot import calibration, plots
from deid_zero_shot.encoding import EncodedNote
from deid_zero_shot.points import (
    Points,
    average_precision,
    bootstrap,
    points_of,
    rates,
    roc_auc,
    score_decisions,
    sweep,
)
from deid_zero_shot.scorer import KEPT, ScoredNote, ScoredWord
from deid_zero_shot.study import row_of

PUBLISHED = """
en BERT .528 .279 .733 .172|en BioClin-BERT .823 .470 .561 .405|en BioMedRoBERTa .740 .396 .684 .279
en SAPBERT .447 .174 .578 .103|en Dil-BERT .865 .569 .586 .554|en PubMedBERT .885 .585 .568 .602
en XLM-R .818 .212 .243 .189|fi BERT .674 .303 .560 .208|fi SAPBERT .089 .163 1 .089
fi XLM-R .259 .174 .880 .096|es BERT .659 .326 .654 .217
es SAPBERT .083 .152 .998 .083|es XLM-R .404 .180 .792 .102
"""
"""Accuracy, F1, recall and precision of Myntti (2025), section 4.2."""

made = st.lists(st.tuples(st.integers(-8, 0), st.booleans()), min_size=2, max_size=40).filter(
    lambda pairs: 0 < sum(gold for _, gold in pairs) < len(pairs)
)


def points(pairs: list[tuple[float, bool]], notes: list[int] | None = None) -> Points:
    scores, gold = zip(*pairs, strict=True)
    return Points(
        np.array(scores, float), np.array(gold, bool), np.array(notes or [0] * len(pairs))
    )


@settings(deadline=None)
@given(made)
def test_areas_are_those_of_scikit_learn(pairs: list[tuple[int, bool]]) -> None:
    found = points(pairs)

    assert roc_auc(found) == pytest.approx(roc_auc_score(found.gold, -found.scores))
    assert average_precision(found) == pytest.approx(
        average_precision_score(found.gold, -found.scores)
    )


@settings(deadline=None)
@given(made)
def test_the_threshold_is_the_best_of_all(pairs: list[tuple[int, bool]]) -> None:
    found = points(pairs)
    every = [score + change for score in found.scores for change in (-0.5, 0.5)]

    chosen = calibration.choose(found, "f1")

    assert chosen.f1 == pytest.approx(
        max(f1_score(found.gold, found.scores < one) for one in every)
    )
    assert chosen.f1 == pytest.approx(f1_score(found.gold, found.scores < chosen.log_threshold))


@settings(deadline=None)
@given(made, st.sampled_from([0.5, 0.9, 1.0]))
def test_a_wanted_recall_is_reached_at_the_highest_precision(
    pairs: list[tuple[int, bool]], wanted: float
) -> None:
    found = points(pairs)

    chosen = calibration.choose(found, f"recall={wanted}")

    own = score_decisions(found.gold, found.scores < chosen.log_threshold)
    every = [score_decisions(found.gold, found.scores < score + 0.5) for score in found.scores]
    assert own.recall is not None
    assert own.recall >= wanted
    assert own.precision == pytest.approx(
        max(one.precision for one in every if one.recall and one.recall >= wanted)
    )


def test_what_is_never_redacted_is_within_no_threshold() -> None:
    found = points([(KEPT, True), (KEPT, True), (-3, False), (-2, True), (KEPT, False)])

    chosen = calibration.choose(found, "f2")

    assert -2 < chosen.log_threshold < 1
    assert chosen.recall == pytest.approx(1 / 3)
    with pytest.raises(InputError, match="no threshold reaches"):
        calibration.choose(found, "recall=0.9")


def test_f2_redacts_no_less_than_f_half() -> None:
    rng = np.random.default_rng(0)
    gold = rng.random(400) < 0.2
    found = Points(rng.normal(-3.0 * gold, 2.0), gold, np.zeros(400, int))

    assert calibration.choose(found, "f2").recall >= calibration.choose(found, "f0.5").recall


@pytest.mark.parametrize(
    "target", ["", "f", "f0", "recall=0", "recall=2", "recall=x", "best", "f-1"]
)
def test_a_target_that_is_none_is_named(target: str) -> None:
    with pytest.raises(InputError, match=r"recall=0\.95"):
        calibration.choose(points([(-1, True), (0, False)]), target)


@pytest.mark.parametrize("gold", [True, False])
def test_notes_of_one_class_give_no_threshold(gold: bool) -> None:
    with pytest.raises(InputError, match="with and without PHI"):
        calibration.choose(points([(-1, gold), (0, gold)]), "f1")


def test_recall_rises_with_the_threshold_and_the_curve_is_recomputed() -> None:
    rng = np.random.default_rng(1)
    found = Points(rng.normal(size=900), rng.random(900) < 0.3, np.zeros(900, int))

    chosen = calibration.choose(found, "f1")

    rows = [
        [float(value) for value in line.split(",")]
        for line in plots.curve_csv(chosen).splitlines()[1:]
    ]
    recalls = [row[4] for row in rows]
    assert recalls == sorted(recalls)
    for row in rows[:: len(rows) // 7]:
        own = score_decisions(found.gold, found.scores < row[0] * np.log(10))
        assert row[1:] == pytest.approx(
            [own.accuracy, own.f1, own.precision or 1.0, own.recall], abs=0.004
        )
    assert plots.curve_png(chosen, title="a model").startswith(b"\x89PNG")


def test_redacting_all_has_recall_one_and_the_precision_of_chance() -> None:
    gold = np.array([True, False, False, True, False])

    everything, nothing = (
        score_decisions(gold, np.ones(5, bool)),
        score_decisions(gold, np.zeros(5, bool)),
    )

    assert (everything.recall, everything.precision) == (1.0, 0.4)
    assert (nothing.recall, nothing.precision, nothing.accuracy) == (0.0, None, 0.6)


@pytest.mark.parametrize(
    "row", [row for line in PUBLISHED.strip().splitlines() for row in line.split("|")]
)
def test_published_f1_follows_from_published_recall_and_precision(row: str) -> None:
    _, f1, recall, precision = map(float, row.split()[-4:])
    tp, fp, fn = recall, recall * (1 - precision) / precision, 1 - recall

    assert rates(tp, fp, fn, 0.0).f1 == pytest.approx(f1, abs=0.0015)


def test_sub_tokens_have_their_word_s_score_and_their_span_s_label() -> None:
    encoded = EncodedNote(
        np.array([7, 8, 9, 5, 6]), np.array([0, 3, 6, 6, 7]), np.array([3, 5, 7, 6, 8])
    )
    scored = ScoredNote([ScoredWord(0, 5, -4.0, 2)], [range(2)], encoded)

    found = points_of([(scored, [Span(0, 5, Phi.NAME)])])

    # the sub-token without text is not counted
    assert found.scores.tolist() == [-4.0, -4.0, KEPT, KEPT]
    assert found.labels == ["NAME", "NAME", "", ""]


def test_dropping_a_category_lowers_its_recall_alone() -> None:
    gold = np.array([True, True, True, False])
    labels = ["NAME", "NAME", "AGE", ""]

    recalls = [
        row_of("one", Points(np.array(scores), gold, np.zeros(4, int), labels), -1.0, None).recalls
        for scores in ([-5.0, -5.0, -5.0, 0.0], [-5.0, -5.0, 0.0, 0.0])
    ]

    assert recalls == [{"NAME": 1.0, "AGE": 1.0}, {"NAME": 1.0, "AGE": 0.0}]


def test_few_notes_give_wide_intervals() -> None:
    rng = np.random.default_rng(3)

    def width(notes: int) -> float:
        numbers = np.repeat(np.arange(notes), 10)
        gold = rng.random(len(numbers)) < 0.2 + 0.3 * (numbers % 3 == 0)
        redacted = rng.random(len(numbers)) < np.where(gold, 0.3 + 0.6 * (numbers % 2), 0.1)
        found = Points(np.where(redacted, -5.0, 0.0), gold, numbers)
        (interval,) = bootstrap(
            found, lambda one: [score_decisions(one.gold, one.scores < -1).recall]
        )
        assert interval.low is not None
        assert interval.high is not None
        assert interval.low <= (interval.value or 0) <= interval.high
        return interval.high - interval.low

    assert width(20) > 1.5 * width(200)


def test_intervals_hold_the_true_value_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(120):
        redacted = rng.random(400) < 0.7
        found = Points(
            np.where(redacted, -5.0, 0.0), np.ones(400, bool), np.repeat(np.arange(40), 10)
        )
        (interval,) = bootstrap(
            found, lambda one: [score_decisions(one.gold, one.scores < -1).recall], samples=200
        )
        held += (interval.low or 0) <= 0.7 <= (interval.high or 1)

    assert held >= 105


def test_one_note_gives_no_interval() -> None:
    (interval,) = bootstrap(points([(-1, True), (0, False)]), lambda one: [roc_auc(one)])

    assert (interval.value, interval.low, interval.high) == (1.0, None, None)


def test_sweeps_begin_with_nothing_and_end_with_everything() -> None:
    found = sweep(points([(-3, True), (-2, False), (-2, True)]))

    assert (found.tp + found.fp).tolist() == [0, 1, 3]
    assert found.thresholds[0] == -3
    assert found.thresholds[-1] > -2


def test_a_note_that_chose_the_threshold_is_no_test_note() -> None:
    note = Note("n1", "Ana Lee")
    chosen = calibration.choose(points([(-1, True), (0, False)]), "f1", [note])

    with pytest.raises(InputError, match="'other'"):
        calibration.refuse_common(chosen, [Note("other", "Ana Lee")])
    calibration.refuse_common(chosen, [Note("n1", "Ana Leo")])


def test_intervals_are_those_that_the_loop_here_drew():
    """Figures at commit 0c2051d, which drew the notes by itself and took the area under the curve
    of counts.
    """
    rng = np.random.default_rng(5)
    rng.normal(size=190)
    gold = rng.random(300) < 0.3
    found = Points(np.round(rng.normal(size=300) - gold, 1), gold, np.repeat(np.arange(30), 10))
    area, f1 = bootstrap(
        found, lambda one: [roc_auc(one), score_decisions(one.gold, one.scores < -1).f1]
    )
    assert area == pytest.approx((0.7498631773, 0.6907651003, 0.8040783624))
    assert f1 == pytest.approx((0.5108695652, 0.3929552022, 0.6128430532))
