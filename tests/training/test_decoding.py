"""Viterbi and forward-backward against every sequence written out, and the constraints of both tag
schemes.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import InputError
from deid_assets.core.tagging import TagScheme, tag_set
from deid_assets.extending.decoding import Scores, constraints, marginals, viterbi

CHAIN = tuple[Scores, Scores, Scores]


def chain(rng: np.random.Generator, tags: int, *, forbidden: float = 0.0) -> CHAIN:
    transitions = rng.normal(size=(tags, tags)).astype(np.float32)
    transitions[rng.random((tags, tags)) < forbidden] = -np.inf
    transitions[:, 0] = transitions[0, :] = 0  # tag 0 may always stand, as O may
    return (
        transitions,
        rng.normal(size=tags).astype(np.float32),
        rng.normal(size=tags).astype(np.float32),
    )


def score(path: tuple[int, ...], emissions: Scores, rules: CHAIN) -> float:
    transitions, start, end = rules
    steps = sum(float(transitions[a, b]) for a, b in itertools.pairwise(path))
    return (
        float(start[path[0]])
        + steps
        + float(end[path[-1]])
        + sum(float(emissions[t, y]) for t, y in enumerate(path))
    )


def every(emissions: Scores, rules: CHAIN) -> dict[tuple[int, ...], float]:
    size, tags = emissions.shape
    return {
        path: score(path, emissions, rules) for path in itertools.product(range(tags), repeat=size)
    }


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 5), st.sampled_from([0.0, 0.4]))
def test_the_best_path_is_the_best_of_all_sequences(
    seed: int, tags: int, longest: int, forbidden: float
) -> None:
    rng = np.random.default_rng(seed)
    transitions, start, end = rules = chain(rng, tags, forbidden=forbidden)
    lengths = rng.integers(0, longest + 1, size=3)
    emissions = rng.normal(scale=2, size=(3, longest, tags)).astype(np.float32)

    paths = viterbi(emissions, lengths, transitions=transitions, start=start, end=end)

    for number, size in enumerate(lengths):
        assert len(paths[number]) == size
        if size:
            scores = every(emissions[number, :size], rules)
            assert scores[tuple(paths[number].tolist())] == pytest.approx(
                max(scores.values()), abs=1e-4
            )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 5), st.sampled_from([0.0, 0.4]))
def test_marginals_are_the_shares_of_all_sequences(
    seed: int, tags: int, longest: int, forbidden: float
) -> None:
    rng = np.random.default_rng(seed)
    transitions, start, end = rules = chain(rng, tags, forbidden=forbidden)
    lengths = rng.integers(0, longest + 1, size=3)
    emissions = rng.normal(scale=2, size=(3, longest, tags)).astype(np.float32)

    found = marginals(emissions, lengths, transitions=transitions, start=start, end=end)

    for number, size in enumerate(lengths):
        expected = np.zeros((size, tags))
        weights = (
            {path: np.exp(value) for path, value in every(emissions[number, :size], rules).items()}
            if size
            else {}
        )
        for path, weight in weights.items():
            for token, tag in enumerate(path):
                expected[token, tag] += weight / sum(weights.values())
        np.testing.assert_allclose(found[number], expected, atol=1e-5)


@pytest.mark.parametrize("scheme", list(TagScheme))
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_constrained_paths_are_legal_and_the_best_of_the_legal(
    scheme: TagScheme, seed: int
) -> None:
    tags = tag_set(["A"], scheme)
    rules = constraints(tags, scheme)
    emissions = np.random.default_rng(seed).normal(size=(1, 4, len(tags))).astype(np.float32)

    (path,) = viterbi(emissions, [4], transitions=rules[0], start=rules[1], end=rules[2])

    scores = every(emissions[0], rules)
    assert scores[tuple(path.tolist())] == pytest.approx(max(scores.values()), abs=1e-5)
    assert np.isfinite(scores[tuple(path.tolist())])


@pytest.mark.parametrize(
    ("tags", "scheme", "legal"),
    [
        (["O", "B-A", "I-A"], TagScheme.BIO, True),
        (["B-A", "B-A"], TagScheme.BIO, True),
        (["O", "I-A"], TagScheme.BIO, False),
        (["I-A"], TagScheme.BIO, False),
        (["B-A", "I-B"], TagScheme.BIO, False),
        (["B-A", "E-A", "S-B"], TagScheme.BIOES, True),
        (["B-A", "O"], TagScheme.BIOES, False),
        (["S-A", "I-A", "E-A"], TagScheme.BIOES, False),
        (["O", "B-A"], TagScheme.BIOES, False),
    ],
)
def test_constraints_allow_what_the_scheme_allows(
    tags: list[str], scheme: TagScheme, legal: bool
) -> None:
    names = tag_set(["A", "B"], scheme)
    path = tuple(names.index(tag) for tag in tags)

    assert (
        np.isfinite(
            score(path, np.zeros((len(tags), len(names)), np.float32), constraints(names, scheme))
        )
        == legal
    )


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_sequence_is_decoded_the_same_alone_and_padded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    transitions, start, end = chain(rng, 5)
    emissions = rng.normal(size=(4, 9, 5)).astype(np.float32)
    lengths = [9, 3, 1, 6]

    together = viterbi(emissions, lengths, transitions=transitions, start=start, end=end)
    sure = marginals(emissions, lengths, transitions=transitions, start=start, end=end)

    for number, size in enumerate(lengths):
        alone = emissions[number : number + 1, :size]
        np.testing.assert_array_equal(
            viterbi(alone, [size], transitions=transitions, start=start, end=end)[0],
            together[number],
        )
        np.testing.assert_allclose(
            marginals(alone, [size], transitions=transitions, start=start, end=end)[0],
            sure[number],
            atol=1e-6,
        )


def test_emissions_of_any_size_give_probabilities() -> None:
    transitions, start, end = constraints(["O", "B-A", "I-A"], TagScheme.BIO)
    emissions = np.full((1, 50, 3), -5e4, np.float32)
    emissions[0, :, 2] = 5e4

    (rows,) = marginals(emissions, [50], transitions=transitions, start=start, end=end)

    np.testing.assert_allclose(rows.sum(axis=1), 1, atol=1e-5)
    assert rows[0, 2] == 0


def test_no_sequences_and_empty_sequences_give_nothing() -> None:
    transitions, start, end = constraints(["O", "B-A", "I-A"], TagScheme.BIO)

    assert (
        viterbi(np.zeros((0, 0, 3), np.float32), [], transitions=transitions, start=start, end=end)
        == []
    )
    assert [
        len(path)
        for path in viterbi(
            np.zeros((2, 0, 3), np.float32), [0, 0], transitions=transitions, start=start, end=end
        )
    ] == [0, 0]
    assert [
        rows.shape
        for rows in marginals(
            np.zeros((1, 4, 3), np.float32), [0], transitions=transitions, start=start, end=end
        )
    ] == [(0, 3)]


@pytest.mark.parametrize(
    ("shape", "lengths", "value", "message"),
    [
        ((1, 2), [2], 0.0, "2 axes"),
        ((1, 2, 4), [2], 0.0, "4 tags"),
        ((1, 2, 3), [3], 0.0, "1 lengths"),
        ((1, 2, 3), [2, 2], 0.0, "2 lengths"),
        ((1, 2, 3), [2], np.nan, "no number"),
        ((1, 2, 3), [2], np.inf, "no number"),
    ],
)
def test_what_does_not_fit_is_refused(
    shape: tuple[int, ...], lengths: list[int], value: float, message: str
) -> None:
    transitions, start, end = constraints(["O", "B-A", "I-A"], TagScheme.BIO)

    for decode in (viterbi, marginals):
        with pytest.raises(InputError, match=message):
            decode(
                np.full(shape, value, np.float32),
                lengths,
                transitions=transitions,
                start=start,
                end=end,
            )


def test_a_chain_that_forbids_everything_is_refused() -> None:
    nothing = np.full((2, 2), -np.inf, np.float32)
    free = np.zeros(2, np.float32)

    for decode in (viterbi, marginals):
        with pytest.raises(InputError, match="no allowed tags"):
            decode(np.zeros((1, 3, 2), np.float32), [3], transitions=nothing, start=free, end=free)
