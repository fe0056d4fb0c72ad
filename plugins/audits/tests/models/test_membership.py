"""Members of an over-fitted model are told apart, those of an unrelated model are not, and bad
input is refused.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from deid_assets.core.errors import InputError
from deid_assets.extending.measuring import auc, wilson
from deid_audits.models.controls import train_released
from deid_audits.models.measures import (
    ThresholdDecisions,
    average_groups,
    derive_balanced_rates,
    difference,
    estimate_measure,
    ranking,
    threshold,
    true_positives_at,
)
from deid_audits.models.membership import (
    ATTACKS,
    NEED_REFERENCE,
    Setup,
    check_disjoint,
    min_k,
    rmia,
    scores,
    shadow_ratio,
    zlib_ratio,
)
from deid_audits.models.scoring import Scorer, TextScores, word_patterns


def texts_of(notes):
    return [
        note.text for note in notes if note.note_id.startswith(("training", "held", "calibration"))
    ]


@pytest.fixture(scope="module")
def over_fitted(small_world, causal, other):
    setup = Setup(Scorer(causal), [Scorer(other)], texts_of(small_world.corpus.calibration))
    sides = small_world.corpus.training, small_world.corpus.held_out
    return tuple(scores(texts_of(side), setup) for side in sides)


def test_every_attack_finds_the_members_of_an_over_fitted_model(over_fitted):
    inside, outside = over_fitted

    assert set(inside) == set(ATTACKS)
    areas = {name: auc(inside[name], outside[name]) for name in ATTACKS}
    assert areas["loss"] > 0.9
    assert areas["reference"] > 0.95
    assert {name for name, area in areas.items() if area < 0.75} <= {"energy"}, areas


def test_neighbours_find_members_of_a_masked_model_by_a_part_of_their_words(small_world, masked):
    scorer = Scorer(masked)
    setup = Setup(scorer, [], texts_of(small_world.corpus.calibration))
    inside, outside = (
        texts_of(side)[:40] for side in (small_world.corpus.training, small_world.corpus.held_out)
    )
    found = [scores(side, setup, ["neighbourhood"])["neighbourhood"] for side in (inside, outside)]
    assert auc(*found) > 0.8
    assert scorer.spent.sequences <= (len(inside) + len(outside)) * (7 + 2 * (1 + 10))


@pytest.mark.long
def test_no_attack_finds_members_of_a_model_that_did_not_read_them(small_world, causal, other):
    setup = Setup(Scorer(other), [], texts_of(small_world.corpus.calibration))
    sides = [
        scores(texts_of(side), setup)
        for side in (small_world.corpus.training, small_world.corpus.held_out)
    ]

    assert set(sides[0]) == set(ATTACKS) - NEED_REFERENCE
    for name in sides[0]:
        found = estimate_measure("AUC", sides[0][name], sides[1][name], auc, chance=0.5)
        assert found.low < 0.5 < found.high or abs(found.value - 0.5) < 0.12, (name, str(found))


def test_a_masked_model_that_learnt_by_heart_is_found_out(small_world, masked):
    scorer = Scorer(masked)
    inside, outside = (
        texts_of(side) for side in (small_world.corpus.training, small_world.corpus.held_out)
    )

    losses = [np.array([-one.loss for one in scorer.tokens(side)]) for side in (inside, outside)]

    assert auc(*losses) > 0.8
    assert scorer.spent.sequences > len(inside) + len(outside)
    assert scorer.spent.rate > 0


def test_the_energy_of_a_masked_model_is_the_mean_over_its_patterns(masked):
    scorer = Scorer(masked)
    text = "Olive was seen in clinic today for pain."

    whole = scorer.energies([text], patterns=4, seed=3)[0]

    encoded = scorer.encode([text])[0]
    by_hand = []
    for words in word_patterns(int(encoded.words.max()) + 1, 4, seed=3):
        hidden = np.flatnonzero(np.isin(encoded.words, words))
        ids = np.concatenate([[masked.opens], encoded.ids, [masked.closes]])
        ids[hidden + 1] = masked.mask
        logp, _, _ = scorer.scores_at(
            [ids], [(0, place + 1) for place in hidden], encoded.ids[hidden].tolist()
        )
        by_hand.append(logp.sum())
    assert whole == pytest.approx(np.mean(by_hand), rel=1e-4)


def test_batches_score_as_single_texts_do(causal, masked, small_world):
    texts = texts_of(small_world.corpus.held_out)[:6]
    for model in (causal, masked):
        together = Scorer(model).tokens(texts)
        for text, one in zip(texts, together, strict=True):
            alone = Scorer(model).tokens([text])[0]
            np.testing.assert_allclose(one.logp, alone.logp, rtol=1e-3, atol=1e-4)
            np.testing.assert_allclose(one.std, alone.std, rtol=1e-3, atol=1e-4)


def test_patterns_are_the_same_for_two_models_and_a_twin_and_hide_a_sixth():
    one, again = word_patterns(20, 10, seed=1), word_patterns(20, 10, seed=1)
    assert all((first == second).all() for first, second in zip(one, again, strict=True))
    assert {len(pattern) for pattern in one} == {3}
    assert {len(pattern) for pattern in word_patterns(2, 5, seed=1)} == {1}


def test_zlib_and_min_k_by_hand():
    own = TextScores(np.array([-1.0, -5.0, -2.0, -0.5, -0.1]), np.full(5, -2.0), np.full(5, 2.0))
    assert own.loss == pytest.approx(1.72)
    assert min_k(own, share=0.2) == -5.0
    assert min_k(own, share=0.4) == -3.5
    assert min_k(own, normalised=True, share=0.2) == -1.5
    assert zlib_ratio("abc", own) == pytest.approx(-8.6 / 11)


def test_rmia_is_the_share_of_the_population_that_is_exceeded():
    found = rmia(np.array([0.5, 2.5, 9.0, 10.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    assert found == pytest.approx([0.0, 0.5, 1.0, 1.0], abs=0.11)
    assert (np.diff(found) > 0).all()


def test_shadow_models_tell_who_is_inside():
    rng = np.random.default_rng(1)
    inside, outside = rng.normal(2, 1, (8, 100)), rng.normal(0, 1, (8, 100))
    assert (
        auc(
            shadow_ratio(rng.normal(2, 1, 100), inside, outside),
            shadow_ratio(rng.normal(0, 1, 100), inside, outside),
        )
        > 0.8
    )
    same = rng.normal(0, 1, (8, 100))
    gap = auc(
        shadow_ratio(rng.normal(0, 1, 100), same, outside),
        shadow_ratio(rng.normal(0, 1, 100), same, outside),
    )
    assert abs(gap - 0.5) < 0.15


@pytest.mark.parametrize(
    ("precision", "recall", "rate", "accuracy"),
    [(0.99, 0.566, 0.0057, 0.780), (0.99, 0.548, 0.0055, 0.771)],
)
def test_balanced_figures_of_the_published_runs(precision, recall, rate, accuracy):
    found = derive_balanced_rates(precision, recall)
    assert round(found[0], 4) == rate
    assert round(found[1], 3) == accuracy


def test_auc_counts_ties_half_and_agrees_with_another_implementation():
    from sklearn.metrics import roc_auc_score

    assert auc(np.array([1.0, 1.0]), np.array([1.0, 1.0])) == 0.5
    assert auc(np.array([2.0]), np.array([1.0])) == 1.0
    rng = np.random.default_rng(2)
    one, two = rng.integers(0, 9, 50).astype(float), rng.integers(0, 7, 40).astype(float)
    assert auc(one, two) == pytest.approx(roc_auc_score([1] * 50 + [0] * 40, [*one, *two]))


def test_the_threshold_leaves_alpha_of_the_calibration_set_above():
    values = np.arange(100, dtype=float)
    border = threshold(values, alpha=0.1)
    assert (values >= border).mean() == pytest.approx(0.1)
    decision = ThresholdDecisions.at(np.arange(60, 160, dtype=float), values, border)
    assert decision.accuracy == pytest.approx((decision.recall + 1 - decision.false_positives) / 2)
    assert decision.recall == pytest.approx(0.7, abs=0.01)
    for one in decision.estimates():
        assert one.low <= one.value <= one.high


def test_low_false_positive_figures_need_enough_negatives():
    rng = np.random.default_rng(3)
    found, left_out = ranking(rng.normal(1, 1, 150), rng.normal(0, 1, 150))
    assert [one.name for one in found] == ["AUC", "true positives at 1.0% false positives"]
    assert left_out == [
        "true positives at 0.1% false positives: the out-set has 150 notes, 1000 are needed"
    ]
    assert true_positives_at(np.array([3.0, 5.0]), np.arange(100) / 25, 0.01) == pytest.approx(0.5)


def test_the_interval_of_an_area_holds_chance_when_there_is_nothing():
    rng = np.random.default_rng(4)
    held = [
        estimate_measure("AUC", rng.normal(size=60), rng.normal(size=60), auc, chance=0.5)
        for _ in range(20)
    ]
    assert sum(one.low <= 0.5 <= one.high for one in held) >= 17
    assert all(one.low < one.high for one in held)


def test_a_perfect_area_has_an_interval_too():
    found = estimate_measure("AUC", np.arange(100, 130.0), np.arange(30.0), auc, chance=0.5)
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low < 1.0


def test_levels_are_means_of_their_samples():
    np.testing.assert_allclose(
        average_groups(np.array([1.0, 3.0, 5.0]), ["b", "a", "b"]), [3.0, 3.0]
    )


def test_wilson_stays_inside_and_holds_the_share():
    assert wilson(0, 20)[0] == 0.0
    assert wilson(20, 20)[1] == 1.0
    assert wilson(10, 20) == pytest.approx((0.299, 0.701), abs=0.001)


def test_what_cannot_be_told_is_refused_in_one_line():
    few = np.zeros(5)
    with pytest.raises(InputError, match="in-set has 5 notes"):
        ranking(few, np.zeros(50))
    with pytest.raises(InputError, match="3 and 2 samples"):
        difference(np.zeros(3), np.zeros(2), np.zeros(3))
    with pytest.raises(InputError, match="shares 1 texts with the in-set"):
        check_disjoint(["a", "b"], ["b", "c"], ["d"])
    with pytest.raises(InputError, match="calibration set has 5"):
        threshold(few)
    assert math.isfinite(difference(np.arange(30.0), np.arange(30.0), np.arange(30.0)).value)


def test_intervals_are_those_that_each_measure_drew_for_itself():
    """Figures of the loops that stood here before all drew by ``resampled``, at commit 0c2051d."""
    rng = np.random.default_rng(5)
    one, out, twin = rng.normal(1, 1, 60), rng.normal(0, 1, 70), rng.normal(0.8, 1, 60)
    area, gap = estimate_measure("AUC", one, out, auc, chance=0.5), difference(one, twin, out)
    assert (area.value, area.low, area.high) == pytest.approx(
        (0.7688095238, 0.6946369048, 0.8460238095)
    )
    assert (gap.value, gap.low, gap.high) == pytest.approx((-0.02, -0.1071726190, 0.0615))


@pytest.mark.long
def test_a_released_model_is_of_the_epoch_that_reads_other_texts_best(small_world):
    texts, others = (
        [note.text for note in part]
        for part in (small_world.corpus.training, small_world.corpus.held_out)
    )
    models = (train_released(texts[:48], asked, "causal") for asked in (others[:30], texts[:48]))
    losses = [np.mean([one.loss for one in Scorer(lm).tokens(others[:30])]) for lm in models]
    assert losses[0] < losses[1]


@pytest.mark.parametrize(
    "changed",
    [
        lambda text: text.replace("\n", "\r\n") + " ",
        str.upper,
        lambda text: text.replace(".", " ;"),
        "{} Seen.".format,
    ],
)
def test_held_out_texts_that_are_training_texts_with_small_changes_are_refused(
    small_world, changed
):
    """The same file with other line ends gave an AUC of one half, and the model passed."""
    corpus = small_world.corpus
    inside, outside, calibration = (
        [note.text for note in part]
        for part in (corpus.training, corpus.held_out, corpus.calibration)
    )
    check_disjoint(calibration, inside, outside)
    copies = [changed(text) for text in inside]
    copies = [text for text in copies if text not in inside]
    with pytest.raises(InputError, match="of the out-set are texts of the in-set"):
        check_disjoint(calibration, inside, copies)
    with pytest.raises(InputError, match="of the calibration set are texts of the in-set"):
        check_disjoint(copies, inside, outside)
