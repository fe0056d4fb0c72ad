"""Near-duplicate notes: copies inflate scores and tie a corpus to the few patients it repeats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
import numpy.typing as npt

from deid_assets.core.note import Note
from deid_assets.quality.verdict import Verdict

SHINGLE_CHARS = 8
BINS = 128
SIMILARITY = 0.8
"""Jaccard similarity from which two notes are close."""
ROWS_PER_BAND = 4
_BASE = np.uint64(0x100000001B3)
_EMPTY = np.uint64(2**64 - 1)

Hashes = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.int64]


def near_duplicate_share(notes: Iterable[Note], *, limit: float) -> Verdict:
    """Check how many notes are close copies of another.

    Two notes are close when the Jaccard similarity of their sets of 8-character shingles, after
    case folding and squeezing blanks, is estimated at 0.8 or more. Close notes form groups, and
    each member of a group but one counts as a near-duplicate. Notes without text are left out.

    The estimate is one permutation hashing with 128 bins (Li, Owen and Zhang, 2012), empty bins
    filled from others (Shrivastava, 2017); its standard error at similarity s is ``sqrt(s (1 - s) /
    128)``, 0.035 at 0.8. Pairs are proposed by 32 bands of 4 bins, which miss a pair of similarity
    0.8 with probability 5e-8; within a band's bucket each note is compared with its neighbour and
    with the first.

    Args:
        notes: The batch.
        limit: Highest share of near-duplicates that passes.

    Returns:
        Counts ``notes``, ``near_duplicates``, ``share`` of the notes with text, and ``limit``.
    """
    normalised = (" ".join(note.text.casefold().split()) for note in notes)
    signatures = [_signature(text) for text in normalised if text]
    copies = _count_copies(np.stack(signatures)) if signatures else 0
    share = copies / len(signatures) if signatures else 0.0
    return Verdict(
        "near_duplicates",
        passed=share <= limit,
        blocking=True,
        counts={
            "notes": len(signatures),
            "near_duplicates": copies,
            "share": round(share, 4),
            "limit": limit,
        },
        description=f"At most {limit:.0%} of the notes are close copies of another.",
    ).unless(len(signatures) < 2, "fewer than two notes with text")


def _signature(text: str) -> Hashes:
    """The least shingle hash in each of 128 equal ranges; shape (128,)."""
    hashes = _shingle_hashes(text)
    signature = np.full(BINS, _EMPTY)
    np.minimum.at(signature, (hashes >> np.uint64(57)).astype(np.intp), hashes)
    empty = signature == _EMPTY
    if empty.any():
        holes = np.flatnonzero(empty)
        probes = _probes()[holes]
        first_filled = (~empty)[probes].argmax(axis=1)
        signature[holes] = signature[probes[np.arange(len(holes)), first_filled]]
    return signature


def _shingle_hashes(text: str) -> Hashes:
    """One hash per shingle, shape (max(1, characters - 7),)."""
    codes = np.frombuffer(text.ljust(SHINGLE_CHARS).encode("utf-32-le"), dtype="<u4").astype(
        np.uint64
    )
    count = len(codes) - SHINGLE_CHARS + 1
    hashes = np.zeros(count, dtype=np.uint64)
    for offset in range(SHINGLE_CHARS):
        hashes = hashes * _BASE + codes[offset : offset + count]
    # The finaliser of SplitMix64 (Steele, Lea and Flood, 2014) spreads the polynomial over all 64
    # bits.
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


@cache
def _probes() -> npt.NDArray[np.intp]:
    """Return for each bin the order in which the others are probed when it is empty.

    Shape (128, 128).
    """
    order = np.random.default_rng(20171)
    return np.stack([order.permutation(BINS) for _ in range(BINS)])


def _count_copies(signatures: npt.NDArray[np.uint64]) -> int:
    """Notes less groups; ``signatures`` has shape (notes, 128)."""
    parents = list(range(len(signatures)))

    def root(note: int) -> int:
        while parents[note] != note:
            parents[note] = parents[parents[note]]
            note = parents[note]
        return note

    copies = 0
    for left, right in _close_pairs(signatures):
        left_root, right_root = root(left), root(right)
        if left_root != right_root:
            parents[right_root] = left_root
            copies += 1
    return copies


def _close_pairs(signatures: npt.NDArray[np.uint64]) -> Iterator[tuple[int, int]]:
    for start in range(0, BINS, ROWS_PER_BAND):
        pairs = _band_pairs(signatures[:, start : start + ROWS_PER_BAND])
        agreement = (signatures[pairs[:, 0]] == signatures[pairs[:, 1]]).mean(axis=1)
        yield from map(tuple, pairs[agreement >= SIMILARITY].tolist())


def _band_pairs(band: npt.NDArray[np.uint64]) -> Indices:
    """Pairs of notes that agree on a band, shape (pairs, 2).

    Each with its neighbour, each with the first.
    """
    order = np.lexsort(band.T)
    ordered = band[order]
    same = (ordered[1:] == ordered[:-1]).all(axis=1)
    begins = np.flatnonzero(np.concatenate([[True], ~same]))
    bucket_first = np.repeat(begins, np.diff([*begins, len(order)]))
    at = np.flatnonzero(same) + 1
    rows = np.concatenate([np.column_stack([at - 1, at]), np.column_stack([bucket_first[at], at])])
    pairs: Indices = np.unique(np.sort(order[rows], axis=1), axis=0)
    return pairs
