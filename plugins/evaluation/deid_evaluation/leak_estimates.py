"""What is probably left, and probably damaged, in a corpus without gold.

And leaks weighed by how rare they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite, log2

from deid_assets.extending import InputError


@dataclass(frozen=True, slots=True)
class ExpectedErrors:
    """Expected numbers of spans, from rates measured elsewhere.

    Args:
        right: Predictions that are right.
        true: Spans there are.
        left: Spans that were missed: an upper bound on what a model trained on the corpus can have
            learnt.
        damaged: Predictions that replaced something else.
    """

    right: float
    true: float
    left: float
    damaged: float


def estimate_errors(predicted: int, *, precision: float, recall: float) -> ExpectedErrors:
    """Return what a detector probably left in and damaged.

    It holds where the rates of the annotated sample hold for the corpus; on other notes recall is
    usually lower.

    Args:
        predicted: Spans predicted in the corpus, at least 0.
        precision: Measured on annotated notes, in [0, 1].
        recall: Measured on annotated notes, in (0, 1].

    Raises:
        InputError: A number is outside its range. With a recall of 0 there is no estimate.

    Source:
        Vakili (2025), Preserving the Privacy of Language Models, discussion of recall and residual
        names.
    """
    if predicted < 0:
        raise InputError(f"predicted spans must not be negative, got {predicted}")
    if not (0 <= precision <= 1 and 0 < recall <= 1):
        raise InputError(
            f"an estimate needs precision in [0, 1] and recall in (0, 1], got {precision} and"
            f" {recall}"
        )
    right = predicted * precision
    true = right / recall
    return ExpectedErrors(right, true, true - right, predicted - right)


@dataclass(frozen=True, slots=True)
class RareLeaks:
    """Leaks weighed by rarity, in bits; ``RareLeaks()`` is the zero of ``+``.

    Args:
        leaked_bits: Sum over the spans left.
        all_bits: Sum over all gold spans.
        leaked: Number of spans left.
        spans: Number of gold spans.
    """

    leaked_bits: float = 0.0
    all_bits: float = 0.0
    leaked: int = 0
    spans: int = 0

    def __add__(self, other: RareLeaks) -> RareLeaks:
        return RareLeaks(
            self.leaked_bits + other.leaked_bits,
            self.all_bits + other.all_bits,
            self.leaked + other.leaked,
            self.spans + other.spans,
        )

    @property
    def weighted_recall(self) -> float | None:
        """Share of the bits covered, in [0, 1]; ``None`` where there are none.

        All values alike give the recall.
        """
        return 1 - self.leaked_bits / self.all_bits if self.all_bits else None


def rare_leaks(spans: Iterable[tuple[float, bool]]) -> RareLeaks:
    """Return leaks weighed by what each value tells: ``-log2`` of the share of people who bear it.

    A name that one in 1,024 bears counts 10 bits, one that half of all bear 1 bit.

    Args:
        spans: Of each gold span the share of its value in the population, in (0, 1], and whether it
            was left. A value that the reference does not list needs an upper bound, such as one in
            the size of the reference.

    Raises:
        InputError: A share is outside (0, 1] or not a number.

    Source:
        Self-information of Shannon (1948), section 6.
    """
    total = RareLeaks()
    for share, is_left in spans:
        if not (isfinite(share) and 0 < share <= 1):
            raise InputError(
                f"the share of a value must be in (0, 1], got {share}; bound what the reference"
                " lacks"
            )
        bits = -log2(share)
        total += RareLeaks(bits if is_left else 0.0, bits, int(is_left), 1)
    return total
