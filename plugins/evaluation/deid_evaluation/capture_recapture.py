"""How many identifiers all detectors probably missed, where there is no gold.

Capture and recapture.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log, sqrt

from deid_assets.extending import ConfigError, InputError, Profile, SpanSet, check_same_text
from deid_assets.extending.scoring import Counts
from deid_evaluation.agreement import estimate_missed_by_both

ASSUMPTIONS = (
    "every span that is marked is an identifier: false alarms make the estimate too high",
    (
        "detectors find spans independently of each other: detectors that miss the same hard spans"
        " make it too low"
    ),
    (
        "spans that overlap are one identifier: two identifiers that one detector joins are counted"
        " as one"
    ),
)
"""Assumptions of an estimate; to be shown wherever one is."""
_Z = 1.96
"""Normal quantile of 95 %."""


@dataclass(frozen=True, slots=True)
class Captures:
    """Identifiers by which detectors marked them; add notes up with ``+``.

    Args:
        detectors: Names, in the order of the bits.
        histories: Label to set of detectors (bit ``n`` for the detector at place ``n``) to number
            of identifiers.
    """

    detectors: tuple[str, ...]
    histories: Mapping[str, Mapping[int, int]] = field(default_factory=dict)

    def __add__(self, other: Captures) -> Captures:
        if self.detectors != other.detectors:
            raise InputError(
                "captures of different detectors do not add up; take all notes with the same"
                " detectors"
            )
        labels = sorted({*self.histories, *other.histories})
        return Captures(
            self.detectors,
            {
                label: (
                    Counter(self.histories.get(label, {})) + Counter(other.histories.get(label, {}))
                )
                for label in labels
            },
        )

    def of(self, label: str | None = None) -> Counter[int]:
        """Histories of one label, or of all."""
        chosen = self.histories.values() if label is None else [self.histories.get(label, {})]
        return sum((Counter(found) for found in chosen), Counter[int]())


@dataclass(frozen=True, slots=True)
class CaptureEstimate:
    """Identifiers that no detector marked, estimated.

    Args:
        method: ``Chapman`` for two detectors, ``Chao`` for more; the latter is a lower bound.
        marked: Identifiers that at least one detector marked.
        value: Estimate of those that none marked.
        low: Lower bound of the 95 % interval.
        high: Upper bound.
    """

    method: str
    marked: int
    value: float
    low: float
    high: float

    @property
    def recall(self) -> float:
        """Share of all identifiers that the detectors mark together, by the estimate."""
        return self.marked / (self.marked + self.value)


def captures(predictions: Mapping[str, SpanSet], *, profile: Profile) -> Captures:
    """Return who marked which identifier of one note.

    Spans that overlap, directly or through others, are one identifier. Its label is that of most
    detectors, of several the first in the alphabet.

    Args:
        predictions: Detector to its spans of the note.
        profile: Labels to count under; a category that it does not count is left out.

    Raises:
        ConfigError: There are fewer than two detectors.
        DigestError: Two detectors marked different notes or texts.
    """
    if len(predictions) < 2:
        raise ConfigError(
            f"capture and recapture needs at least two detectors, got {len(predictions)}"
        )
    check_same_text(*predictions.values())
    marked = [
        (span.start, span.end, at, label)
        for at, spans in enumerate(predictions.values())
        for span in spans.spans
        if (label := profile.label_of(span.label)) is not None
    ]
    histories: dict[str, Counter[int]] = {}
    for cluster in clusters(marked):
        votes = Counter(label for _, label in {(at, label) for _, _, at, label in cluster})
        label = min(votes, key=lambda name: (-votes[name], name))
        members = sum(1 << at for at in {at for _, _, at, _ in cluster})
        histories.setdefault(label, Counter())[members] += 1
    return Captures(tuple(predictions), histories)


Marked = tuple[int, int, int, str]
"""Start, end, place of the detector, label."""


def clusters(marked: Iterable[Marked]) -> list[list[Marked]]:
    """Return spans grouped by overlap, direct or through others, in order.

    Touching is not overlapping.
    """
    groups: list[list[Marked]] = []
    reach = -1
    for span in sorted(marked):
        if groups and span[0] < reach:
            groups[-1].append(span)
        else:
            groups.append([span])
        reach = max(reach, span[1])
    return groups


def estimate_missed(found: Captures, *, label: str | None = None) -> CaptureEstimate | None:
    """Return how many identifiers no detector marked.

    It is ``None`` where the counts allow no estimate. ``ASSUMPTIONS`` are what it assumes. It is
    a hint of how much to look for, no evidence of what is left.

    Args:
        found: Who marked what.
        label: One label; all where not given.

    Returns:
        ``None`` where no identifier was marked by two detectors, where, of two detectors, one has
        none of its own, or where, of more, at most one identifier was marked by exactly one: the
        bound is then 0 and has no upper end.

    Source:
        Two detectors: Chapman (1951), interval of Chao (1987). More: the bias-corrected lower bound
            of Chao (1987),
        Biometrics 43(4), 783-791, with the variance and log-normal interval of Chao (1987) for few
        occasions.
    """
    histories = found.of(label)
    marked = histories.total()
    if len(found.detectors) == 2:
        missed = estimate_missed_by_both(Counts(histories[3], histories[2], histories[1]))
        return (
            None
            if missed is None
            else CaptureEstimate("Chapman", marked, missed.value, missed.low, missed.high)
        )
    once, twice = (
        sum(count for who, count in histories.items() if who.bit_count() == times)
        for times in (1, 2)
    )
    if not twice or once < 2:
        return None
    return _chao(marked, once, twice, occasions=len(found.detectors))


def _chao(marked: int, once: int, twice: int, *, occasions: int) -> CaptureEstimate:
    shrink = (occasions - 1) / occasions
    value = shrink * once * (once - 1) / (2 * (twice + 1))
    variance = (
        value
        + shrink**2 * once * (2 * once - 1) ** 2 / (4 * (twice + 1) ** 2)
        + shrink**2 * once**2 * twice * (once - 1) ** 2 / (4 * (twice + 1) ** 4)
    )
    factor = exp(_Z * sqrt(log(1 + variance / value**2)))
    return CaptureEstimate("Chao", marked, value, value / factor, value * factor)


def overlap_matrix(found: Captures) -> Sequence[Sequence[int]]:
    """Return how many identifiers each two detectors both marked; on the diagonal those of one."""
    histories = found.of()
    places = range(len(found.detectors))

    def both(row: int, column: int) -> int:
        of_both = 1 << row | 1 << column
        return sum(count for who, count in histories.items() if who & of_both == of_both)

    return [[both(row, column) for column in places] for row in places]
