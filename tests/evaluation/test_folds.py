import math
import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import InputError
from deid_assets.evaluation.folds import (
    Alternative,
    PValueCorrection,
    correct_p_values,
    mann_whitney,
    normal_p,
)

SCORES = st.lists(st.integers(0, 30).map(lambda whole: whole / 30), min_size=1, max_size=14)


@pytest.mark.parametrize(
    ("u", "p"), [(26, 0.0378), (21, 0.0156), (18, 0.0086), (10, 0.0014), (9, 0.0011), (6, 0.0005)]
)
def test_published_p_of_ten_folds(u, p):
    assert round(normal_p(u, first=10, second=10), 4) == p


def test_ten_folds_take_the_published_path():
    # Ten against ten without ties and U = 26: 2.6 of the second lie below each of the first, on
    # average.
    second = [10.0 * rank for rank in range(10)]
    first = [second[2] + 1 + at / 100 for at in range(6)] + [
        second[1] + 1 + at / 100 for at in range(4)
    ]
    found = mann_whitney(first, second, alternative=Alternative.LESS)

    assert (found.u, found.exact, round(found.p, 4)) == (26, False, 0.0378)
    assert found.effect == pytest.approx(0.26)


@settings(max_examples=100, deadline=None)
@given(SCORES, SCORES, st.sampled_from(Alternative))
def test_it_agrees_with_scipy(first, second, alternative):
    stats = pytest.importorskip("scipy.stats")
    found = mann_whitney(first, second, alternative=alternative)
    if len({*first, *second}) == 1:
        assert found.p == 1
        return
    expected = stats.mannwhitneyu(first, second, alternative=str(alternative))

    assert found.u == expected.statistic
    assert found.p == pytest.approx(min(1, expected.pvalue), abs=1e-9)


def test_small_samples_are_counted_out():
    values = random.Random(3).sample(range(100), 7)
    first, second = values[:3], values[3:]
    found = mann_whitney(first, second, alternative=Alternative.LESS)
    as_small = [
        sum(a > b for a in chosen for b in set(values) - set(chosen)) <= found.u
        for chosen in combinations(values, 3)
    ]

    assert found.exact
    assert found.p == pytest.approx(sum(as_small) / math.comb(7, 3))


@pytest.mark.parametrize("first", [[], [0.9, math.nan], [math.inf]])
def test_a_fold_without_a_score_is_refused(first):
    with pytest.raises(InputError):
        mann_whitney(first, [0.5, 0.6])


def test_corrections_by_hand():
    p = {"a": 0.04, "b": 0.01, "c": 0.03}

    assert correct_p_values(p) == pytest.approx({"a": 0.06, "b": 0.03, "c": 0.06})
    assert correct_p_values(p, by=PValueCorrection.BONFERRONI) == pytest.approx(
        {"a": 0.12, "b": 0.03, "c": 0.09}
    )
    assert list(correct_p_values(p)) == ["a", "b", "c"]
    with pytest.raises(InputError, match="'x'"):
        correct_p_values({"x": math.nan})


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=8))
def test_holm_lies_between_raw_and_bonferroni(p):
    holm, bonferroni = correct_p_values(p), correct_p_values(p, by=PValueCorrection.BONFERRONI)

    for name in p:
        assert p[name] <= holm[name] <= bonferroni[name] <= 1


def test_none_of_the_published_tests_survives_150_comparisons():
    p = {str(at): 1.0 for at in range(149)} | {"smallest": 0.0005}

    assert correct_p_values(p)["smallest"] == pytest.approx(0.075)
