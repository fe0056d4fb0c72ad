import pytest

from deid_assets.quality import Verdict, folded, within_share


def verdict(name, *, passed=True, bad=0):
    return Verdict(name, passed=passed, blocking=True, counts={"rows": 9, "bad": bad})


def test_folding_keeps_what_stands_apart_and_puts_the_rest_into_one():
    kept, together = folded("rest", "The rest", [verdict("a"), verdict("b"), verdict("c")], apart=["b"])

    assert kept == verdict("b")
    assert (together.passed, together.blocking, together.counts) == (True, True, {"checks": 2})


def test_one_failure_fails_the_fold_and_is_named():
    uncounted = Verdict("c", passed=False, blocking=False, counts={"not_evaluated": 1})
    (together,) = folded("rest", "The rest", [verdict("a"), verdict("b", passed=False, bad=4), uncounted], apart=[])

    assert not together.passed
    assert together.counts == {"checks": 3, "b": 4, "c": 1}


@pytest.mark.parametrize(
    ("part", "whole", "limit", "passed"),
    [(0, 0, 0.0, True), (1, 10, 0.1, True), (2, 10, 0.1, False), (1, 1, 1.0, True), (1, 1000, 0.0, False)],
)
def test_a_share_passes_up_to_its_limit(part, whole, limit, passed):
    assert within_share("share", "A share", part=part, whole=whole, limit=limit).passed is passed
