"""The best tag sequences of linear chains, and the probability of each tag.

NumPy, many sequences at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_assets.core.errors import InputError
from deid_assets.core.tagging import OUTSIDE, TagScheme, follows, may_begin, may_end

Scores = NDArray[np.float32]
"""Logarithms, unnormalised."""
Wide = NDArray[np.float64]
_FLOOR = -80.0
"""Least logarithm of a tag against its token's best.

Far below what can show, far above what a double cannot hold.
"""


def constraints(tags: Sequence[str], scheme: TagScheme) -> tuple[Scores, Scores, Scores]:
    """Return transitions, start and end scores, 0 or minus infinity, that allow the scheme's
    sequences and no others.

    Args:
        tags: The tags in the order of the emissions.
        scheme: What the tags follow.
    """
    allowed = np.array(follows(tags, scheme), dtype=bool).reshape(len(tags), len(tags))
    return (
        _scores(allowed),
        _scores(np.array([may_begin(tag) for tag in tags], dtype=bool)),
        _scores(np.array([may_end(tag, scheme) for tag in tags], dtype=bool)),
    )


def _scores(allowed: NDArray[np.bool_]) -> Scores:
    return np.where(allowed, np.float32(0), np.float32(-np.inf))


def viterbi(
    emissions: Scores,
    lengths: Sequence[int] | NDArray[np.int64],
    *,
    transitions: Scores,
    start: Scores,
    end: Scores,
) -> list[NDArray[np.int64]]:
    """Return the best tags of each sequence (Viterbi 1967).

    Of equal ones, the one with the lower tag numbers.

    Args:
        emissions: (batch, tokens, tags), float32, logarithms; what is past a sequence's length is
            not read.
        lengths: Tokens of each sequence, 0 or more.
        transitions: (tags, tags), ``[before, after]``; minus infinity forbids.
        start: (tags,), of the first token.
        end: (tags,), of the last token.

    Raises:
        InputError: The shapes do not fit, an emission is no number, or a sequence has no allowed
            tags.
    """
    sizes = _check_sizes(emissions, lengths, transitions, start, end)
    paths = [np.zeros(size, dtype=np.int64) for size in sizes]
    hard = np.flatnonzero(sizes)
    if hard.size and not any((scores > 0).any() for scores in (transitions, start, end)):
        hard = _greedy(emissions, sizes, (transitions, start, end), paths)
    if not hard.size:
        return paths
    best, back = _forward_best(emissions[hard], sizes[hard], transitions, start)
    best = best + end
    if not np.isfinite(best.max(axis=1)).all():
        raise InputError("a sequence has no allowed tags; allow O everywhere")
    last = best.argmax(axis=1)
    for row, (number, size) in enumerate(zip(hard, sizes[hard], strict=True)):
        tag = last[row]
        for at in range(size - 1, -1, -1):
            paths[number][at] = tag
            tag = back[at, row, tag] if at else tag
    return paths


def _greedy(
    emissions: Scores,
    sizes: NDArray[np.int64],
    chain: tuple[Scores, Scores, Scores],
    paths: list[NDArray[np.int64]],
) -> NDArray[np.int64]:
    """Fill the paths where each token's best tag may stand, and return the numbers of the others.

    Where no transition adds to a score, tags that are best one by one and cost nothing together are
    best together.
    """
    transitions, start, end = chain
    tags = emissions.argmax(axis=2)
    inside = np.arange(emissions.shape[1])[None, :] < sizes[:, None]
    legal = np.ones(len(sizes), dtype=bool)
    filled = np.flatnonzero(sizes)
    if emissions.shape[1] > 1:
        legal = ((transitions[tags[:, :-1], tags[:, 1:]] == 0) | ~inside[:, 1:]).all(axis=1)
    legal[filled] &= (start[tags[filled, 0]] == 0) & (end[tags[filled, sizes[filled] - 1]] == 0)
    for number in np.flatnonzero(legal):
        paths[number] = tags[number, : sizes[number]]
    return np.flatnonzero(~legal)


def _forward_best(
    emissions: Scores, sizes: NDArray[np.int64], transitions: Scores, start: Scores
) -> tuple[Wide, NDArray[np.int16]]:
    """Return the best score of each last tag, and which tag came before which.

    (tokens, batch, tags).
    """
    into = np.ascontiguousarray(transitions.T, dtype=np.float64)
    best = emissions[:, 0].astype(np.float64) + start
    back = np.zeros((emissions.shape[1], *best.shape), dtype=np.int16)
    for at in range(1, int(sizes.max())):
        ways = best[:, None, :] + into[None]
        before = ways.argmax(axis=2)
        back[at] = before
        reached = np.take_along_axis(ways, before[..., None], axis=2)[..., 0] + emissions[:, at]
        best = np.where((at < sizes)[:, None], reached, best)
    return best, back


def marginals(
    emissions: Scores,
    lengths: Sequence[int] | NDArray[np.int64],
    *,
    transitions: Scores,
    start: Scores,
    end: Scores,
) -> list[Scores]:
    """Return the probability of each tag at each token, over all sequences.

    (tokens, tags), rows that sum to 1.

    Forward-backward (Rabiner 1989), scaled at each token. Where a tag is less likely than its
    token's best by a factor of e^80, it is taken to be e^-80 times as likely.

    Args:
        emissions: As for ``viterbi``.
        lengths: As for ``viterbi``.
        transitions: As for ``viterbi``.
        start: As for ``viterbi``.
        end: As for ``viterbi``.

    Raises:
        InputError: As for ``viterbi``.
    """
    sizes = _check_sizes(emissions, lengths, transitions, start, end)
    if not sizes.size or not sizes.max():
        return [np.zeros((0, emissions.shape[2]), dtype=np.float32) for _ in sizes]
    inside = np.arange(int(sizes.max()))[None, :] < sizes[:, None]
    read = np.where(inside[..., None], emissions[:, : inside.shape[1]], 0)
    emitted = _weights(read.astype(np.float64), floor=_FLOOR)
    moves = _weights(transitions.astype(np.float64).reshape(-1)).reshape(transitions.shape)
    first, last = _weights(start.astype(np.float64)), _weights(end.astype(np.float64))
    ahead = np.zeros_like(emitted)
    ahead[:, 0] = _normal(emitted[:, 0] * first)
    for at in range(1, emitted.shape[1]):
        ahead[:, at] = _normal((ahead[:, at - 1] @ moves) * emitted[:, at])
    behind = np.broadcast_to(last, emitted[:, 0].shape)
    for at in range(emitted.shape[1] - 1, -1, -1):
        ended = at >= sizes - 1
        if at + 1 < emitted.shape[1]:
            behind = np.where(
                ended[:, None], last, _normal((behind * emitted[:, at + 1]) @ moves.T)
            )
        ahead[:, at] *= behind
    found = [_normal(ahead[number, :size]) for number, size in enumerate(sizes)]
    if any(not np.isfinite(rows).all() or (rows.sum(axis=1) < 0.5).any() for rows in found):
        raise InputError("a sequence has no allowed tags; allow O everywhere")
    return [rows.astype(np.float32) for rows in found]


def by_label(probabilities: NDArray[Any], tags: Sequence[str]) -> tuple[list[str], NDArray[Any]]:
    """Return the labels of tags, ``O`` first, and the probability of each: (tokens, labels).

    Args:
        probabilities: (tokens, tags).
        tags: Names of the columns, in any scheme.
    """
    of_tags = [OUTSIDE if tag == OUTSIDE else tag.partition("-")[2] for tag in tags]
    labels = list(dict.fromkeys([OUTSIDE, *of_tags]))
    is_of = np.array([[label == other for other in labels] for label in of_tags])
    return labels, probabilities @ is_of.astype(probabilities.dtype)


def _weights(scores: Wide, *, floor: float = -np.inf) -> Wide:
    """Return exponentials, the largest of each last axis 1."""
    top = scores.max(axis=-1, keepdims=True)
    shifted: Wide = np.exp(np.maximum(scores - np.where(np.isfinite(top), top, 0), floor))
    return shifted


def _normal(weights: Wide) -> Wide:
    total = weights.sum(axis=-1, keepdims=True)
    shares: Wide = weights / np.where(total > 0, total, 1)
    return shares


def _check_sizes(
    emissions: Scores,
    lengths: Sequence[int] | NDArray[np.int64],
    transitions: Scores,
    start: Scores,
    end: Scores,
) -> NDArray[np.int64]:
    sizes = np.asarray(lengths, dtype=np.int64).reshape(-1)
    if emissions.ndim != 3:
        raise InputError(f"emissions have {emissions.ndim} axes; give (batch, tokens, tags)")
    batch, tokens, tags = emissions.shape
    if (
        transitions.shape != (tags, tags)
        or start.shape != (tags,)
        or end.shape != (tags,)
        or not tags
    ):
        raise InputError(
            f"{tags} tags in the emissions, transitions {transitions.shape}, start {start.shape},"
            f" end {end.shape}; give the chain of the same tags"
        )
    if len(sizes) != batch or ((sizes < 0) | (sizes > tokens)).any():
        raise InputError(
            f"{len(sizes)} lengths for {batch} sequences of up to {tokens} tokens; give one each"
        )
    inside = np.arange(tokens)[None, :] < sizes[:, None]
    if np.isnan(emissions[inside]).any() or np.isposinf(emissions[inside]).any():
        raise InputError("an emission is no number; the model overflowed or is broken")
    return sizes
