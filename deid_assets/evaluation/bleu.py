"""BLEU-4: how much of a text survived its rewriting."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

from deid_assets.core.errors import InputError

ORDERS = 4
_WORD = re.compile(r"\w+|[^\w\s]")


def words(text: str) -> list[str]:
    """Return runs of letters, digits and underscores, and every other character that is no blank by
    itself.
    """
    return _WORD.findall(text)


@dataclass(frozen=True, slots=True)
class BleuCounts:
    """Counts of one text or many; ``BleuCounts()`` is the zero of ``+``.

    Args:
        matches: N-grams of the output that are in the reference, n from 1 to 4, each as often as
            there at most.
        totals: N-grams of the output.
        output: Words of the output.
        reference: Words of the reference.
    """

    matches: tuple[int, ...] = (0,) * ORDERS
    totals: tuple[int, ...] = (0,) * ORDERS
    output: int = 0
    reference: int = 0

    def __add__(self, other: BleuCounts) -> BleuCounts:
        return BleuCounts(
            tuple(map(sum, zip(self.matches, other.matches, strict=True))),
            tuple(map(sum, zip(self.totals, other.totals, strict=True))),
            self.output + other.output,
            self.reference + other.reference,
        )

    def score(self) -> float:
        """Return BLEU in [0, 1].

        Orders for which the output is too short are left out, so that a text of one word equals
        itself. An order without a match counts one half, the next a quarter, and so on, of one
        match (Chen and Cherry 2014, smoothing 3).

        Raises:
            InputError: There is no reference word; there is nothing to compare with.
        """
        if not self.reference:
            raise InputError("BLEU needs a reference with at least one word")
        orders = [
            (match, total) for match, total in zip(self.matches, self.totals, strict=True) if total
        ]
        if not orders or not orders[0][0]:
            return 0.0
        log_sum, halves = 0.0, 1
        for match, total in orders:
            if not match:
                halves *= 2
            log_sum += log(match / total if match else 1 / (halves * total))
        brevity = min(0.0, 1 - self.reference / self.output)
        return exp(brevity + log_sum / len(orders))


def bleu_counts(output: Sequence[str], reference: Sequence[str]) -> BleuCounts:
    """Return the counts of one text, from its words.

    Args:
        output: Words that were generated.
        reference: Words of the gold redaction.

    Source:
        Papineni et al. (2002), ACL 311-318.
    """
    matches, totals = [], []
    for order in range(1, ORDERS + 1):
        of_output, of_reference = _n_grams(output, order), _n_grams(reference, order)
        matches.append((of_output & of_reference).total())
        totals.append(of_output.total())
    return BleuCounts(tuple(matches), tuple(totals), len(output), len(reference))


def _n_grams(tokens: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[at:] for at in range(order)), strict=False))
