"""Gates on lower bounds: little gold cannot open them by luck, and a step back is seen."""

import pytest

from deid_assets.evaluation.comparison import BaselineDifference
from deid_assets.evaluation.counts import Counts, NoteCounts
from deid_assets.quality import State
from deid_assets.quality.gates import (
    no_regression,
    notes_covered_lower_bound,
    recall_lower_bound,
    worst_group,
)

STATES = {True: State.PASSED, False: State.FAILED, None: State.NOT_APPLICABLE}


@pytest.mark.parametrize(
    ("covered", "floor", "min_gold", "passed"),
    [
        (Counts(tp=1000), 0.99, 100, True),
        # All of twenty found: the lower bound is 0.839.
        (Counts(tp=20), 0.83, 1, True),
        (Counts(tp=20), 0.84, 1, False),
        (Counts(tp=19, fn=1), 0.8, 1, False),
        # Too few to be gated.
        (Counts(tp=20), 0.84, 21, None),
        (Counts(), 0.99, 1, None),
    ],
)
def test_recall_is_gated_by_the_lower_end_of_its_interval(covered, floor, min_gold, passed):
    assert (
        recall_lower_bound({"ALL": covered}, {"ALL": floor}, min_gold=min_gold).state
        is STATES[passed]
    )


def test_one_label_below_its_floor_stops_a_batch_and_is_named():
    counts = {"ALL": Counts(tp=990, fn=10), "NAME": Counts(tp=80, fn=20), "FAX": Counts(tp=1)}

    verdict = recall_lower_bound(counts, {"ALL": 0.9, "NAME": 0.75, "FAX": 0.9}, min_gold=50)

    assert not verdict.passed
    assert verdict.blocking
    assert verdict.counts == {
        "labels": 2,
        "below": 1,
        "too_few": 1,
        "lower_ALL": 0.9817,
        "minimum_ALL": 0.9,
        "lower_NAME": 0.7112,
        "minimum_NAME": 0.75,
    }


@pytest.mark.parametrize(
    ("notes", "floor", "min_notes", "passed"),
    [
        (NoteCounts(notes=120, with_phi=100, covered=95), 0.88, 50, True),
        (NoteCounts(notes=120, with_phi=100, covered=95), 0.9, 50, False),
        (NoteCounts(notes=120, with_phi=100, covered=0), 0.9, 101, None),
        (NoteCounts(notes=120), 0.9, 0, None),
    ],
)
def test_whole_notes_are_gated_by_the_lower_end_of_their_interval(notes, floor, min_notes, passed):
    assert notes_covered_lower_bound(notes, floor, min_notes=min_notes).state is STATES[passed]


def test_the_worst_group_stops_a_batch_whose_mean_is_fine_and_is_not_named():
    groups = {
        "site-a": Counts(tp=990, fn=10),
        "site-b": Counts(tp=90, fn=30),
        "site-c": Counts(tp=0, fn=3),
    }

    verdict = worst_group(groups, 0.8, min_gold=100)

    assert not verdict.passed
    assert (
        verdict.counts.items()
        >= {
            "groups": 2,
            "below": 1,
            "too_few": 1,
            "lower": 0.6656,
            "spans": 120,
        }.items()
    )
    assert verdict.bounds == [("spans", 120, "wanted", 100), ("lower", 0.6656, "minimum", 0.8)]


def test_without_groups_there_is_no_worst_one():
    assert worst_group({}, 1.0, min_gold=1).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("change", "lost", "passed"),
    [
        (None, 0, None),
        (BaselineDifference(0.01, -0.01, 0.02, 0.5), 0, True),
        # A fall, but chance alone may have done it, or it is within the tolerance.
        (BaselineDifference(-0.03, -0.06, 0.001, 0.1), 0, True),
        (BaselineDifference(-0.015, -0.03, -0.009, 0.01), 0, True),
        (BaselineDifference(-0.05, -0.08, -0.02, 0.001), 0, False),
        # Notes of the last release that cannot be compared.
        (None, 1, False),
    ],
)
def test_a_fall_beyond_chance_and_tolerance_stops_a_batch(change, lost, passed):
    assert no_regression(change, notes=50, lost=lost, tolerance=0.01).state is STATES[passed]
