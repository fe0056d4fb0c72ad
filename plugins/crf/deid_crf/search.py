"""The best legal tags of many sequences at once, from the probabilities of all."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending.decoding import viterbi
from deid_crf.lattice import Floats, Numbers, Posterior, SequenceBatch, TransitionWeights

_AS_GOOD_AS_CERTAIN = 1e-6
_NEARLY = 1.0 - 1e-6
"""Keeps what is as likely as the best but for rounding."""


def best(
    emissions: NDArray[np.float32], batch: SequenceBatch, chain: TransitionWeights, found: Posterior
) -> Numbers:
    """Return the tags of the best legal sequence among those with ``O`` wherever ``O`` is as good
    as certain.

    Such rows cut a sequence into pieces. Where the likeliest tags of a piece, one by one, leave
    less than half of the probability to everything else, they are the best; only the other pieces
    are searched (Viterbi 1967).

    Args:
        emissions: (rows, tags), logarithmic, finite; tag 0 is ``O``.
        batch: The sequences.
        chain: The transitions.
        found: Probabilities of the same.

    Returns:
        One tag per row; 0 in rows of no sequence.
    """
    chosen, share = found.likeliest()
    doubt = 1.0 - share
    certain = (chosen == 0) & (doubt <= _AS_GOOD_AS_CERTAIN)
    starts, stops = _pieces(batch, certain)
    hard = _sums(doubt, starts, stops) >= 0.5
    if not hard.any():
        return chosen
    rows, kept = _candidates(found, chosen, starts[hard], stops[hard])
    kept[certain[rows], 1:] = False
    is_open, is_cut = np.zeros(len(chosen), dtype=bool), np.ones(len(chosen), dtype=bool)
    is_open[rows] = kept.sum(axis=1) > 1
    is_cut[rows] = ~is_open[rows] & (chosen[rows] == 0)
    starts, stops = _pieces(batch, is_cut)
    hard = _sums(is_open, starts, stops) > 0
    sizes = (stops - starts)[hard]
    places = np.zeros(len(chosen), dtype=np.intp)
    places[rows] = np.arange(len(rows))
    pieces = [
        slice(start, stop)
        for start, stop in zip(starts[hard].tolist(), stops[hard].tolist(), strict=True)
    ]
    # Pieces about as long are searched together: the shorter ones wait for the longest.
    length = np.frexp(sizes)[1]
    for together in (np.flatnonzero(length == one).tolist() for one in np.unique(length)):
        own = [pieces[at] for at in together]
        allowed = (np.where(kept[places[piece]], emissions[piece], -np.inf) for piece in own)
        for piece, path in zip(own, _search(allowed, sizes[together], chain), strict=True):
            chosen[piece] = path
    return chosen


def _search(
    emissions: Iterable[NDArray[np.float32]], sizes: Numbers, chain: TransitionWeights
) -> list[NDArray[np.int64]]:
    """Return the best tags of pieces.

    Args:
        emissions: Of each piece, (rows, tags); minus infinity for a tag that it cannot have.
        sizes: Number of its rows.
        chain: The transitions.
    """
    searched = np.zeros((len(sizes), sizes.max(), len(chain.start)), dtype=np.float32)
    for number, (size, of_piece) in enumerate(zip(sizes, emissions, strict=True)):
        searched[number, :size] = of_piece
    return viterbi(searched, sizes, transitions=chain.weights, start=chain.start, end=chain.end)


def _candidates(
    found: Posterior, chosen: Numbers, starts: Numbers, stops: Numbers
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return the rows of pieces, and which tags the best sequence may have there: (rows, tags).

    No tag is less likely than a sequence that holds it, and the best sequence is at least as likely
    as that of the likeliest tags. So a tag that is less likely than the latter is not in the best.
    """
    sizes = stops - starts
    borders = np.cumsum(sizes) - sizes
    rows = np.arange(sizes.sum()) + np.repeat(starts - borders, sizes)
    places, tags = found.places[rows], chosen[rows]
    with np.errstate(divide="ignore"):
        steps = np.log(found.moves[chosen[rows - 1], tags] * found.emitted[places, tags])
        ends = borders + sizes - 1
        steps[borders] = np.log(
            found.forward[places[borders], tags[borders]] * found.backward[places[ends], tags[ends]]
        )
    least = np.exp(np.add.reduceat(steps, borders)) * _NEARLY
    return rows, found.forward[places] * found.backward[places] >= np.repeat(least, sizes)[:, None]


def _sums(
    values: NDArray[np.float64] | NDArray[np.bool_], starts: Numbers, stops: Numbers
) -> Floats:
    """Return the sum of the values of each range of rows."""
    summed: Floats = np.concatenate([[0.0], np.cumsum(values)])
    found: Floats = summed[stops] - summed[starts]
    return found


def _pieces(batch: SequenceBatch, certain: NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
    """Return where the runs of rows that are not certain begin and end, each with the certain row
    before and after it.
    """
    order = np.argsort(batch.starts)
    starts, stops = batch.starts[order], (batch.starts + batch.sizes)[order]
    is_open = np.zeros(len(certain), dtype=bool)
    is_open[batch.rows] = ~certain[batch.rows]
    open_rows = np.flatnonzero(is_open)
    owner = np.searchsorted(starts, open_rows, side="right") - 1
    is_new = (np.diff(open_rows, prepend=-2) > 1) | (np.diff(owner, prepend=-1) != 0)
    first, last = open_rows[is_new], open_rows[np.append(is_new, True)[1:]]
    owner = owner[is_new]
    return np.maximum(first - 1, starts[owner]), np.minimum(last + 2, stops[owner])
