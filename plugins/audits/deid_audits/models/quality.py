"""Quality of generated text: gaps left, repetition, diversity and the distribution of words."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import InputError

BLOCK, TIMES, OFTEN = 3, 2, 50
SMALL = 0.1
"""Count in the place of no match (Chen and Cherry 2014, method 1)."""


@dataclass(frozen=True, slots=True)
class Quality:
    """Figures of a set of texts; the best value is the one nearest to that of human text.

    Args:
        texts: How many.
        masked: How many still hold a gap.
        repeated: How many repeat themselves.
        self_bleu: By n, of 4 and 5.
        zipf: Exponent of frequency over rank.
    """

    texts: int
    masked: int
    repeated: int
    self_bleu: dict[int, float]
    zipf: float


def quality(
    texts: Sequence[str], *, mask: str = "[MASK]", most: int = 200, seed: int = 1
) -> Quality:
    """Return the quality of texts; words are what stands between blanks.

    Raises:
        InputError: There are fewer than two texts.
    """
    if len(texts) < 2:
        raise InputError(f"text quality needs 2 texts, got {len(texts)}")
    words = [text.split() for text in texts]
    return Quality(
        len(texts),
        sum(mask in text for text in texts),
        sum(is_repetitive(own) for own in words),
        {n: self_bleu(words, n, most=most, seed=seed) for n in (4, 5)},
        zipf([word for own in words for word in own]),
    )


def is_repetitive(words: Sequence[str]) -> bool:
    """Whether a text ends in a block of three words or more that stands twice in a row, or has one
    over 50 times.
    """
    for size in range(BLOCK, len(words) // TIMES + 1):
        if list(words[-size:]) == list(words[-2 * size : -size]):
            return True
    blocks = Counter(tuple(words[at : at + BLOCK]) for at in range(len(words) - BLOCK + 1))
    return bool(blocks) and max(blocks.values()) > OFTEN


def self_bleu(texts: Sequence[Sequence[str]], n: int, *, most: int = 200, seed: int = 1) -> float:
    """Return the mean BLEU-n of a text against each other one (Zhu et al. 2018), pair by pair.

    Args:
        texts: As words.
        n: Longest n-gram; all lengths count alike.
        most: Texts of a random subset that are set against the others of it.
        seed: Of the subset.
    """
    each = bleu_of_each(texts, n, most=most, seed=seed)
    return sum(each) / len(each)


def bleu_of_each(
    texts: Sequence[Sequence[str]], n: int, *, most: int = 200, seed: int = 1
) -> list[float]:
    """Return the mean BLEU-n of each text of a random subset against the others of it.

    Arguments as for ``self_bleu``.
    """
    chosen = list(texts)
    if len(chosen) > most:
        chosen = random.Random(seed).sample(chosen, most)  # noqa: S311 - a subset
    grams = [[_grams(text, order) for order in range(1, n + 1)] for text in chosen]
    sizes = [len(text) for text in chosen]
    rows = range(len(chosen))

    def mean(one: int) -> float:
        others = [other for other in rows if other != one]
        scores = (_bleu(grams[one], grams[other], sizes[one], sizes[other]) for other in others)
        return sum(scores) / len(others)

    return [mean(one) for one in rows]


def _grams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))


def _bleu(
    own: Sequence[Counter[tuple[str, ...]]],
    other: Sequence[Counter[tuple[str, ...]]],
    size: int,
    other_size: int,
) -> float:
    """Return BLEU of one text against one reference.

    Orders that the text is too short for are left out.
    """
    logs: list[float] = []
    for mine, theirs in zip(own, other, strict=True):
        total = sum(mine.values())
        if not total:
            break
        hits = sum((mine & theirs).values())
        if not hits and not logs:
            return 0.0
        logs.append(math.log((hits or SMALL) / total))
    if not logs or not size:
        return 0.0
    return math.exp(min(0.0, 1 - other_size / size) + sum(logs) / len(logs))


def zipf(words: Sequence[str]) -> float:
    """Return s of f(r) ~ 1 / r^s, by least squares over all ranks on logarithms.

    Raises:
        InputError: There are fewer than two different words.
    """
    counts = frequencies(words)
    if len(counts) < 2:
        raise InputError("Zipf's exponent needs two different words")
    ranks = np.log(np.arange(1, len(counts) + 1))
    return float(-np.polyfit(ranks, np.log(counts), 1)[0])


def frequencies(words: Sequence[str]) -> NDArray[np.float64]:
    """Return how often each word stands, the most frequent first: the rank-frequency curve."""
    return np.array(sorted(Counter(words).values(), reverse=True), dtype=np.float64)
