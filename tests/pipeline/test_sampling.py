"""The bound that a sample gives is the exact one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.errors import InputError
from deid_assets.pipeline.searching import upper_bound


@pytest.mark.parametrize(
    ("hits", "trials", "bound"),
    [
        (0, 1, 0.95),
        (0, 1_000, 1 - 0.05 ** (1 / 1_000)),
        (4, 1_000, 0.009128),
        (5, 1_000, 0.010479),
        (1_000, 1_000, 1.0),
        (0, 0, 1.0),
    ],
)
def test_the_bound_of_small_and_large_samples(hits, trials, bound):
    assert upper_bound(hits, trials) == pytest.approx(bound, rel=1e-3)


@given(st.data())
def test_the_bound_is_the_quantile_of_clopper_and_pearson(data):
    beta = pytest.importorskip("scipy.stats", reason="scipy is the oracle").beta
    trials = data.draw(st.integers(1, 5_000))
    hits = data.draw(st.integers(0, trials - 1))
    confidence = data.draw(st.sampled_from([0.8, 0.95, 0.99]))

    expected = beta.ppf(confidence, hits + 1, trials - hits)
    assert upper_bound(hits, trials, confidence=confidence) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("hits", "trials", "confidence"), [(-1, 5, 0.95), (6, 5, 0.95), (1, 5, 1.0), (1, 5, 0.0)]
)
def test_numbers_that_are_no_sample_are_refused(hits, trials, confidence):
    with pytest.raises(InputError):
        upper_bound(hits, trials, confidence=confidence)
