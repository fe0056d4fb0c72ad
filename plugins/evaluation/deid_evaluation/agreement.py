"""Two detectors or annotators without gold.

How far they agree, and how much both may have missed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, log, sqrt

from deid_assets.extending import SpanSet, check_same_text
from deid_assets.extending.scoring import Counts, count_matches, size, size_of_common, union

_Z = 1.96
"""Normal quantile of 95 %."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Counts of one note or many; ``Agreement()`` is the zero of ``+``.

    In each of the counts ``tp`` is what both have, ``fn`` what the first has alone, ``fp`` what the
    second has alone.

    Args:
        strict: Spans of the same boundaries and label.
        ranges: Overlapping spans, labels left aside; one to one, as many pairs as can be made.
        characters: Marked code points.
        length: Code points of the notes, or 0 where it is not known.
    """

    strict: Counts = field(default_factory=Counts)
    ranges: Counts = field(default_factory=Counts)
    characters: Counts = field(default_factory=Counts)
    length: int = 0

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(
            self.strict + other.strict,
            self.ranges + other.ranges,
            self.characters + other.characters,
            self.length + other.length,
        )

    @property
    def observed(self) -> float | None:
        """Share of code points that both mark or both leave.

        ``None`` where the length is not known.
        """
        return 1 - (self.characters.fp + self.characters.fn) / self.length if self.length else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa (1960) of marked or not, per code point.

        ``None`` where chance alone gives full agreement.
        """
        if self.observed is None:
            return None
        first = (self.characters.tp + self.characters.fn) / self.length
        second = (self.characters.tp + self.characters.fp) / self.length
        by_chance = first * second + (1 - first) * (1 - second)
        return (self.observed - by_chance) / (1 - by_chance) if by_chance < 1 else None


def agreement(first: SpanSet, second: SpanSet, *, length: int = 0) -> Agreement:
    """Return the counts of one note.

    Args:
        first: Spans of one side; several of the same boundaries and label count once.
        second: Spans of the other side.
        length: Code points of the note; left out where not known.

    Raises:
        DigestError: The two sets belong to different notes or different versions of a text.
    """
    check_same_text(first, second)
    labelled = [{(span.start, span.end, span.label) for span in side} for side in (first, second)]
    ranges = [{(start, end) for start, end, _ in side} for side in labelled]
    unions = [union(side) for side in ranges]
    return Agreement(
        _counts(len(labelled[0] & labelled[1]), len(labelled[0]), len(labelled[1])),
        _counts(count_matches(*ranges), len(ranges[0]), len(ranges[1])),
        _counts(size_of_common(*unions), size(unions[0]), size(unions[1])),
        length,
    )


def _counts(both: int, first: int, second: int) -> Counts:
    return Counts(both, second - both, first - both)


@dataclass(frozen=True, slots=True)
class Missed:
    """Spans that neither of two detectors found, estimated, with a 95 % interval."""

    value: float
    low: float
    high: float


def estimate_missed_by_both(ranges: Counts) -> Missed | None:
    """Return an estimate of the spans that both missed, by capture and recapture.

    It holds where every marked span is an identifier, the two find spans independently, and all
    spans are equally easy to find. Detectors that miss the same hard spans make it too low; false
    alarms, and spans that one side cuts in two, make it too high. It is a hint of what to look for,
    no evidence of what is left.

    Args:
        ranges: As in ``Agreement``.

    Returns:
        ``None`` where the two share nothing or one has nothing of its own: the estimate would be
        without meaning, or 0 whatever was missed.

    Source:
        Chapman (1951); variance of Seber (1970); log-normal interval of Burnham et al. (1987), Chao
        (1987).
    """
    both, second_alone, first_alone = ranges.tp, ranges.fp, ranges.fn
    if not (both and first_alone and second_alone):
        return None
    first, second = both + first_alone + 1, both + second_alone + 1
    missed = first * second / (both + 1) - 1 - (both + first_alone + second_alone)
    variance = first * second * first_alone * second_alone / ((both + 1) ** 2 * (both + 2))
    factor = exp(_Z * sqrt(log(1 + variance / missed**2)))
    return Missed(missed, missed / factor, missed * factor)
