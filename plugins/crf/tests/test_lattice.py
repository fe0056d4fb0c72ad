"""The chain in NumPy against every tag sequence, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.tagging import TagScheme, follows, may_begin, may_end, tag_set
from deid_crf.lattice import Room, SequenceBatch, TransitionWeights, posterior
from deid_crf.search import best

SCHEMES = list(TagScheme)


def legal(tags: list[str], size: int, scheme: TagScheme) -> Iterator[tuple[int, ...]]:
    may_follow = follows(tags, scheme)
    for path in product(range(len(tags)), repeat=size):
        begins, ends = may_begin(tags[path[0]]), may_end(tags[path[-1]], scheme)
        if begins and ends and all(may_follow[a][b] for a, b in pairwise(path)):
            yield path


def weight(path: tuple[int, ...], emissions: np.ndarray, transitions: np.ndarray) -> float:
    steps = pairwise(path)
    return float(
        sum(float(emissions[row, tag]) for row, tag in enumerate(path))
        + sum(float(transitions[a, b]) for a, b in steps)
    )


def chance(seed: int, *shape: int, wide: float = 2.0) -> np.ndarray:
    return (np.random.default_rng(seed).normal(size=shape) * wide).astype(np.float32)


@given(
    seed=st.integers(0, 10_000),
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    scheme=st.sampled_from(SCHEMES),
)
@settings(max_examples=60, deadline=None)
def test_tags_and_probabilities_are_those_of_all_legal_sequences(
    seed: int, sizes: list[int], scheme: TagScheme
) -> None:
    tags = tag_set(["A"], scheme)
    emissions, transitions = (
        chance(seed, sum(sizes), len(tags)),
        chance(seed + 1, len(tags), len(tags)),
    )
    ends = np.cumsum(sizes).tolist()
    parts = [range(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    batch, chain = SequenceBatch.of(parts), TransitionWeights.of(tags, scheme, transitions)

    found = posterior(emissions, batch, chain)
    chosen = best(emissions, batch, chain, found)

    for part in parts:
        ways = {
            path: weight(path, emissions[part.start : part.stop], transitions)
            for path in legal(tags, len(part), scheme)
        }
        total = np.logaddexp.reduce(list(ways.values()))
        shares = {path: np.exp(way - total) for path, way in ways.items()}
        path = tuple(chosen[part.start : part.stop].tolist())
        assert ways[path] == pytest.approx(max(ways.values()), abs=1e-5)
        for row in range(len(part)):
            expected = [
                sum(share for path, share in shares.items() if path[row] == tag)
                for tag in range(len(tags))
            ]
            assert found.tags[part.start + row] == pytest.approx(expected, abs=1e-9)


@given(seed=st.integers(0, 10_000), scheme=st.sampled_from(SCHEMES))
@settings(max_examples=40, deadline=None)
def test_the_probability_of_a_span_is_the_share_of_sequences_that_hold_its_tags(
    seed: int, scheme: TagScheme
) -> None:
    tags = tag_set(["A", "B"], scheme)
    emissions, transitions = chance(seed, 4, len(tags)), chance(seed + 1, len(tags), len(tags))
    found = posterior(
        emissions, SequenceBatch.of([range(4)]), TransitionWeights.of(tags, scheme, transitions)
    )
    ways = {path: weight(path, emissions, transitions) for path in legal(tags, 4, scheme)}
    total = np.logaddexp.reduce(list(ways.values()))

    for part in {path[1:3] for path in ways}:
        share = sum(np.exp(way - total) for path, way in ways.items() if path[1:3] == part)
        tags_of_rows = np.array([0, *part, 0])
        assert found.spans(np.array([1]), np.array([2]), tags_of_rows) == [
            pytest.approx(share, abs=1e-9)
        ]


def test_a_certain_row_may_cut_a_long_sequence_without_changing_it() -> None:
    tags = tag_set(["A", "B"], TagScheme.BIOES)
    emissions, transitions = chance(3, 400, len(tags)), chance(4, len(tags), len(tags))
    emissions[::7, 0] += 60
    chain, batch = (
        TransitionWeights.of(tags, TagScheme.BIOES, transitions),
        SequenceBatch.of([range(400)]),
    )

    chosen = best(emissions, batch, chain, posterior(emissions, batch, chain))

    assert chosen.tolist() == searched(emissions, chain)
    assert len(set(chosen.tolist())) > 3


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("wide", [0.3, 1.0, 3.0])
def test_a_sequence_in_doubt_has_the_tags_that_a_search_over_all_finds(
    scheme: TagScheme, wide: float
) -> None:
    tags = tag_set(["A", "B", "C"], scheme)
    emissions, transitions = chance(11, 900, len(tags), wide=wide), chance(12, len(tags), len(tags))
    emissions[:, 0] += np.where(np.arange(900) % 30 < 20, 4.0 * wide, 0.0)
    chain, parts = (
        TransitionWeights.of(tags, scheme, transitions),
        [
            range(300),
            range(300, 301),
            range(301, 900),
        ],
    )
    batch = SequenceBatch.of(parts)

    chosen = best(emissions, batch, chain, posterior(emissions, batch, chain))

    for part in parts:
        assert chosen[part.start : part.stop].tolist() == searched(
            emissions[part.start : part.stop], chain
        )


def test_what_another_batch_left_in_memory_does_not_show() -> None:
    tags = tag_set(["A", "B"], TagScheme.BIO)
    chain, room = (
        TransitionWeights.of(tags, TagScheme.BIO, chance(13, len(tags), len(tags))),
        Room(),
    )

    for seed, size in ((14, 40), (15, 90), (16, 60)):
        emissions, batch = (
            chance(seed, size, len(tags)),
            SequenceBatch.of([range(25), range(25, size)]),
        )
        shared = posterior(emissions, batch, chain, room).tags
        assert shared.tolist() == posterior(emissions, batch, chain).tags.tolist()


def searched(emissions: np.ndarray, chain: TransitionWeights) -> list[int]:
    score, back = emissions[0] + chain.start, []
    for row in emissions[1:]:
        ways = score[:, None] + chain.weights
        back.append(ways.argmax(axis=0))
        score = ways.max(axis=0) + row
    path = [int((score + chain.end).argmax())]
    for before in reversed(back):
        path.append(int(before[path[-1]]))
    return path[::-1]


def test_a_sequence_gets_the_same_alone_and_among_others() -> None:
    tags = tag_set(["A", "B"], TagScheme.BIOES)
    emissions, transitions = chance(5, 60, len(tags)), chance(6, len(tags), len(tags))
    chain, parts = (
        TransitionWeights.of(tags, TagScheme.BIOES, transitions),
        [
            range(9),
            range(9, 10),
            range(12, 60),
        ],
    )

    together = posterior(emissions, SequenceBatch.of(parts), chain).tags

    for part in parts:
        rows = emissions[part.start : part.stop]
        alone = posterior(rows, SequenceBatch.of([range(len(part))]), chain).tags
        assert together[part.start : part.stop] == pytest.approx(alone, abs=1e-12)


def test_weights_of_any_size_give_probabilities() -> None:
    tags = tag_set(["A"], TagScheme.BIOES)
    emissions = chance(7, 50, len(tags), wide=500.0)
    chain = TransitionWeights.of(tags, TagScheme.BIOES, chance(8, len(tags), len(tags), wide=20.0))

    found = posterior(emissions, SequenceBatch.of([range(50)]), chain).tags

    assert found.sum(axis=1) == pytest.approx(np.ones(50))
