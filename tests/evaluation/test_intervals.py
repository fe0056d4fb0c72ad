import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.errors import InputError
from deid_assets.evaluation.intervals import (
    count_matches,
    is_inside,
    is_touched,
    size,
    size_of_common,
    union,
    wilson,
)

RANGES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 9)).map(lambda pair: (pair[0], pair[0] + pair[1])),
    max_size=7,
)


def points(ranges):
    return {point for start, end in ranges for point in range(start, end)}


def most_pairs(lefts, rights):
    """Maximum matching by trying every partner of the first range."""
    if not lefts:
        return 0
    (start, end), *others = lefts
    best = most_pairs(others, rights)
    for at, (other_start, other_end) in enumerate(rights):
        if start < other_end and other_start < end:
            best = max(best, 1 + most_pairs(others, rights[:at] + rights[at + 1 :]))
    return best


@given(RANGES)
def test_a_union_holds_the_same_points_in_ranges_apart(ranges):
    merged = union(ranges)

    assert points(merged) == points(ranges)
    assert all(before[1] < after[0] for before, after in itertools.pairwise(merged))
    assert size(merged) == len(points(ranges))


@given(RANGES, RANGES)
def test_the_common_size_equals_that_of_the_point_sets(left, right):
    assert size_of_common(union(left), union(right)) == len(points(left) & points(right))


@given(RANGES, RANGES)
def test_inside_and_touched_agree_with_the_point_sets(inner, cover):
    for found in inner:
        assert is_inside(found, union(cover)) == (points([found]) <= points(cover))
        assert is_touched(found, union(cover)) == bool(points([found]) & points(cover))


@given(RANGES, RANGES)
def test_no_other_pairing_has_more_matches(lefts, rights):
    assert count_matches(lefts, rights) == most_pairs(lefts, rights)


@given(RANGES, RANGES, st.randoms())
def test_matches_depend_neither_on_order_nor_on_side(lefts, rights, random):
    expected = count_matches(lefts, rights)
    shuffled = random.sample(lefts, len(lefts))

    assert count_matches(shuffled, rights) == count_matches(rights, shuffled) == expected


def test_a_greedy_pairing_is_mended():
    # The long range would take the only partner of the short one if it were paired for good.
    assert count_matches([(0, 10), (0, 3)], [(1, 2), (5, 6)]) == 2


def test_thousands_of_ranges_over_one_place_are_matched():
    stacked = [(n, 5_000 + n) for n in range(1_000)]

    assert count_matches(stacked, stacked) == 1_000


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [
        # 81 of 263: 95 % limits 0.2553 and 0.3662, Newcombe (1998), Stat Med 17 857-872, table I,
        # method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (41, 41, 0.9143, 1.0),
    ],
)
def test_wilson_gives_the_published_limits(hits, trials, low, high):
    assert wilson(hits, trials) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


@given(
    st.integers(1, 10_000).flatmap(
        lambda trials: st.tuples(st.integers(0, trials), st.just(trials))
    )
)
def test_wilson_holds_the_proportion_and_stays_a_probability(counts):
    hits, trials = counts
    low, high = wilson(hits, trials)

    assert 0 <= low <= hits / trials <= high <= 1
    assert high - low < 1


@pytest.mark.parametrize(("hits", "trials"), [(0, 0), (-1, 5), (6, 5)])
def test_wilson_refuses_counts_that_are_no_proportion(hits, trials):
    with pytest.raises(InputError, match=f"{hits} of {trials}"):
        wilson(hits, trials)
