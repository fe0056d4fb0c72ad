"""Intervals and differences.

Figures with a closed form, properties, and a simulation of what they promise.
"""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.phi import HARMONISED
from deid_assets.evaluation.comparison import COLUMNS, SCHEMES, Ratio
from deid_assets.evaluation.intervals import wilson
from deid_assets.evaluation.resampling import auc, compare, percentiles, resample
from deid_assets.evaluation.score import Scheme, evaluate_by_note, pair
from deid_assets.testing import parse_marked

RECALL, F1, PRECISION = (
    (Scheme.STRICT, Ratio.RECALL),
    (Scheme.STRICT, Ratio.F1),
    (Scheme.STRICT, Ratio.PRECISION),
)


def rows(*counts):
    """One note per (tp, fp, fn), the same under every scheme."""
    return {f"n{at}": tuple(triple) * len(COLUMNS) for at, triple in enumerate(counts)}


def test_the_interval_of_a_proportion_is_that_of_the_binomial():
    # One gold span per note, so a draw is a binomial: mean 0.8, standard error sqrt(0.16 / 400) =
    # 0.02.
    found = compare({"a": rows(*[(1, 0, 0)] * 320, *[(0, 0, 1)] * 80)}, resamples=4_000).interval(
        "a", *RECALL
    )

    assert found.value == 0.8
    assert (found.low, found.high) == (
        pytest.approx(0.7608, abs=0.004),
        pytest.approx(0.8392, abs=0.004),
    )


def test_an_interval_of_whole_notes_is_wider_where_errors_come_together():
    spread = compare({"a": rows(*[(8, 0, 2)] * 50)}).interval("a", *RECALL)
    together = compare({"a": rows(*[(10, 0, 0)] * 40, *[(0, 0, 10)] * 10)}).interval("a", *RECALL)

    assert spread.value == together.value == 0.8
    assert (spread.low, spread.high) == (0.8, pytest.approx(0.8))
    assert together.high - together.low > 0.15


def test_notes_of_one_patient_are_drawn_together():
    counts = rows(*[(1, 0, 0)] * 40, *[(0, 0, 1)] * 20)
    patients = {note: f"p{at // 10}" for at, note in enumerate(counts)}
    by_note, by_patient = compare({"a": counts}), compare({"a": counts}, patients=patients)

    assert (by_note.unit, by_note.units) == ("note", 60)
    assert (by_patient.unit, by_patient.units) == ("patient", 6)
    assert by_patient.interval("a", *RECALL).low < by_note.interval("a", *RECALL).low


def test_a_note_without_a_patient_is_a_unit_even_where_a_patient_has_its_name():
    assert compare({"a": rows(*[(1, 0, 1)] * 4)}, patients={"n0": "n3", "n1": "n3"}).units == 3


@pytest.mark.parametrize(("triple", "hits"), [((2, 0, 0), 30), ((0, 3, 2), 0)])
def test_a_ratio_of_all_or_nothing_keeps_a_width(triple, hits):
    found = compare({"a": rows(*[triple] * 30, (0, 0, 0))})

    for measure in (RECALL, PRECISION, F1):
        interval = found.interval("a", *measure)
        assert (interval.low, interval.high) == wilson(hits, 30)


def test_what_is_not_defined_has_no_interval_and_no_difference():
    found = compare({"a": rows((0, 0, 2), (0, 0, 1)), "b": rows((1, 0, 1), (0, 1, 1))})

    assert found.interval("a", *PRECISION) is None
    assert found.interval("a", *RECALL).value == 0
    assert found.difference("b", *PRECISION) is None
    assert found.difference("b", *RECALL).value == pytest.approx(1 / 3)
    assert found.difference("a", *RECALL) is None


def test_one_unit_tells_nothing_of_others():
    found = compare({"a": rows((3, 0, 1), (0, 0, 0)), "b": rows((4, 0, 0), (0, 0, 0))})
    interval, difference = found.interval("a", *RECALL), found.difference("b", *RECALL)

    assert (interval.low, interval.high) == (0, 1)
    assert (difference.value, difference.low, difference.high, difference.p) == (0.25, -1, 1, 1)


def test_a_detector_does_not_differ_from_itself():
    counts = rows((3, 1, 2), (5, 0, 0), (0, 2, 1))
    found = compare({"a": counts, "again": counts}).difference("again", *F1)

    assert (found.value, found.low, found.high, found.p) == (0, 0, 0, 1)


def test_pairing_shows_a_small_difference_that_intervals_hide():
    hard = [(1, 0, 9)] * 50 + [(9, 0, 1)] * 50
    better = [(2, 0, 8)] * 50 + [(9, 0, 1)] * 50
    found = compare({"a": rows(*hard), "b": rows(*better)})

    assert found.interval("a", *RECALL).high > found.interval("b", *RECALL).value
    assert found.difference("b", *RECALL).low > 0
    assert found.difference("b", *RECALL).p == pytest.approx(1 / 1_001)


def test_p_is_that_of_all_exchanges():
    # Six notes that differ: of the 64 ways to exchange them, count those at least as far apart.
    gaps = [1, 1, 1, 1, 1, -1]
    a = rows(*[(1, 0, 1) if gap > 0 else (2, 0, 0) for gap in gaps])
    b = rows(*[(2, 0, 0) if gap > 0 else (1, 0, 1) for gap in gaps])
    exact = np.mean(
        [
            abs(sum(map(math.prod, zip(gaps, signs, strict=True)))) >= 4
            for signs in product((1, -1), repeat=6)
        ]
    )

    assert compare({"a": a, "b": b}, resamples=20_000).difference("b", *RECALL).p == pytest.approx(
        exact, abs=0.01
    )


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=12), st.randoms())
def test_bounds_hold_the_value_and_ignore_the_order_of_notes(counts, random):
    of_notes = rows(*counts)
    shuffled = list(of_notes.items())
    random.shuffle(shuffled)
    found = compare({"a": of_notes}, resamples=100)

    assert found == compare({"a": dict(shuffled)}, resamples=100)
    for interval in found.intervals["a"].values():
        assert 0 <= interval.low <= interval.high <= 1


def test_intervals_cover_the_truth_as_often_as_they_say():
    draw = np.random.default_rng(7)
    covered = 0
    for _ in range(200):
        hard = draw.random(80) < 0.3
        tp = draw.binomial(6, np.where(hard, 0.6, 0.95))
        found = compare({"a": rows(*((hits, 0, 6 - hits) for hits in tp.tolist()))}, resamples=200)
        interval = found.interval("a", *RECALL)
        covered += interval.low <= 0.3 * 0.6 + 0.7 * 0.95 <= interval.high

    assert 180 <= covered <= 199


def test_rows_of_notes_add_up_to_the_evaluation():
    texts = [
        ("<NAME>Ann</NAME> of <CITY>Rome</CITY>", "<NAME>Ann of</NAME> <DATE>Rome</DATE>"),
        ("<NAME>Bo</NAME> on Monday", "Bo on <DATE>Monday</DATE>"),
    ]
    notes = [
        (parse_marked(gold, note_id=str(at)), parse_marked(pred, note_id=str(at)))
        for at, (gold, pred) in enumerate(texts)
    ]
    lengths = {note.note_id: len(note.text) for (note, _), _ in notes}
    pairs = pair([gold for (_, gold), _ in notes], [pred for _, (_, pred) in notes])
    total, by_note = evaluate_by_note(pairs, profile=HARMONISED, lengths=lengths)
    summed = [sum(column) for column in zip(*by_note.values(), strict=True)]

    for at, scheme in enumerate(SCHEMES):
        micro = total.micro(scheme)
        assert summed[3 * at : 3 * at + 3] == [micro.tp, micro.fp, micro.fn]


@pytest.mark.parametrize(
    ("given", "options", "error"),
    [
        pytest.param({}, {}, InputError, id="no detector"),
        pytest.param({"a": {}}, {}, InputError, id="no note"),
        pytest.param(
            {"a": rows((1, 0, 0)), "b": rows((1, 0, 0), (1, 0, 0))},
            {},
            InputError,
            id="other notes",
        ),
        pytest.param({"a": rows((1, 0, 0))}, {"resamples": 99}, ConfigError, id="too few draws"),
    ],
)
def test_what_cannot_be_compared_is_refused(given, options, error):
    with pytest.raises(error):
        compare(given, **options)


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=9),
    st.lists(st.integers(0, 5), min_size=1, max_size=9),
)
def test_the_area_is_the_share_of_pairs_in_the_right_order(positives, negatives):
    pairs = [(one > other) + (one == other) / 2 for one, other in product(positives, negatives)]

    assert auc(np.array(positives, float), np.array(negatives, float)) == pytest.approx(
        sum(pairs) / len(pairs)
    )


def test_draws_of_several_sets_come_from_one_stream_of_numbers():
    rng = np.random.default_rng(3)
    expected = [(rng.integers(0, 4, 4), rng.integers(0, 6, 6)) for _ in range(5)]

    found = list(resample((4, 6), 5, 3))

    assert all(
        (one == other).all()
        for pair in zip(found, expected, strict=True)
        for one, other in zip(*pair, strict=True)
    )


def test_bounds_leave_out_what_is_not_defined():
    assert percentiles([*range(1_001), math.nan]) == (25.0, 975.0)
