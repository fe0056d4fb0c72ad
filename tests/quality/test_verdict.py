import pytest

from deid_assets.core.errors import DeidError
from deid_assets.quality import State, Verdict, check_share, fold_verdicts


def verdict(name, *, passed=True, bad=0):
    return Verdict(name, passed=passed, blocking=True, counts={"rows": 9, "bad": bad})


def test_folding_keeps_what_stands_apart_and_puts_the_rest_into_one():
    kept, together = fold_verdicts(
        "rest", "The rest", [verdict("a"), verdict("b"), verdict("c")], apart=["b"]
    )

    assert kept == verdict("b")
    assert (together.passed, together.blocking, together.counts) == (
        True,
        True,
        {"checks": 2, "not_applicable": 0},
    )


def test_one_failure_fails_the_fold_and_is_named():
    uncounted = Verdict("c", passed=False, blocking=False, counts={"not_evaluated": 1})
    (together,) = fold_verdicts(
        "rest", "The rest", [verdict("a"), verdict("b", passed=False, bad=4), uncounted], apart=[]
    )

    assert not together.passed
    assert together.counts == {"checks": 3, "not_applicable": 0, "b": 4, "c": 1}


NOTHING = verdict("a").unless(nothing=True, why="no rows")


def test_what_had_nothing_to_judge_has_neither_passed_nor_failed_and_stops_nothing():
    assert (NOTHING.state, NOTHING.passed, NOTHING.failed, NOTHING.stops) == (
        State.NOT_APPLICABLE,
        False,
        False,
        False,
    )
    assert NOTHING.description == "Not applicable: no rows. "


def test_a_failure_stays_one_whatever_there_was_to_judge():
    assert verdict("a", passed=False).unless(nothing=True, why="no rows").stops


def test_nothing_passes_with_nothing_to_judge():
    with pytest.raises(DeidError, match="passed with nothing to judge"):
        Verdict("a", passed=True, blocking=True, applicable=False)


@pytest.mark.parametrize(
    ("parts", "state", "counted"),
    [
        ([NOTHING, verdict("b")], State.PASSED, 1),
        ([NOTHING, NOTHING], State.NOT_APPLICABLE, 2),
        ([NOTHING, verdict("b", passed=False, bad=4)], State.FAILED, 1),
    ],
)
def test_a_fold_is_not_applicable_where_none_of_its_parts_is(parts, state, counted):
    (together,) = fold_verdicts("rest", "The rest", parts, apart=[])

    assert (together.state, together.counts["not_applicable"]) == (state, counted)


def test_of_nothing_no_share_is_judged():
    assert check_share("share", "A share", part=0, whole=0, limit=0.0).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("part", "whole", "limit", "passed"),
    [(1, 10, 0.1, True), (2, 10, 0.1, False), (1, 1, 1.0, True), (1, 1000, 0.0, False)],
)
def test_a_share_passes_up_to_its_limit(part, whole, limit, passed):
    assert check_share("share", "A share", part=part, whole=whole, limit=limit).passed is passed
