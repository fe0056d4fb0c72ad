"""What each detector of an ensemble adds: recall gained, precision lost, and the best subset."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, takewhile

from deid_assets.core.errors import ConfigError, DigestError, InputError
from deid_assets.core.phi import Profile
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.intervals import Range, union

MAX_DETECTORS = 12
"""All subsets are tried: 4,096 of them."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Code points by who marks them, and gold spans by who covers them; add notes up with ``+``.

    A set of detectors is a whole number, bit ``n`` standing for the detector at place ``n``.

    Args:
        detectors: Names, in the order of the bits.
        gold: Set of detectors to gold code points that exactly these mark.
        other: The same for code points outside all gold, without those that nobody marks.
        spans: Least sets that cover a gold span (one of each must be in an ensemble) to number of
            gold spans.
    """

    detectors: tuple[str, ...]
    gold: Mapping[int, int] = field(default_factory=dict)
    other: Mapping[int, int] = field(default_factory=dict)
    spans: Mapping[frozenset[int], int] = field(default_factory=dict)

    def __add__(self, other: Coverage) -> Coverage:
        if self.detectors != other.detectors:
            raise InputError(
                "coverages of different detectors do not add up; take all notes with the same"
                " ensemble"
            )
        return Coverage(
            self.detectors,
            Counter(self.gold) + Counter(other.gold),
            Counter(self.other) + Counter(other.other),
            Counter(self.spans) + Counter(other.spans),
        )

    def value(self, names: Iterable[str]) -> Subset:
        """Return what the union of some of the detectors gives.

        Raises:
            ConfigError: A detector is not one of these.
            InputError: There is no gold.
        """
        wanted = frozenset(names)
        if strangers := sorted(wanted - set(self.detectors)):
            raise ConfigError(
                f"detector {strangers[0]!r} was not scored; choose of {', '.join(self.detectors)}"
            )
        return self._value(sum(1 << at for at, name in enumerate(self.detectors) if name in wanted))

    def _value(self, chosen: int) -> Subset:
        total, spans = sum(self.gold.values()), sum(self.spans.values())
        if not spans:
            raise InputError(
                "there is no annotations, so that no recall is defined; score against annotated"
                " notes"
            )
        found = sum(count for marked, count in self.gold.items() if marked & chosen)
        wrong = sum(count for marked, count in self.other.items() if marked & chosen)
        covered = sum(
            count
            for needed, count in self.spans.items()
            if all(marked & chosen for marked in needed)
        )
        names = tuple(name for at, name in enumerate(self.detectors) if chosen >> at & 1)
        return Subset(
            names,
            covered / spans,
            found / total,
            found / (found + wrong) if found + wrong else None,
        )


@dataclass(frozen=True, slots=True)
class Subset:
    """Scores of the union of a subset of detectors, labels ignored.

    Args:
        detectors: Their names.
        recall: Share of gold spans of which nothing is left.
        char_recall: Share of gold code points marked.
        precision: Share of marked code points that are gold; ``None`` where nothing is marked.
    """

    detectors: tuple[str, ...]
    recall: float
    char_recall: float
    precision: float | None


def coverage(gold: SpanSet, preds: Mapping[str, SpanSet], *, profile: Profile) -> Coverage:
    """Return who marks what in one note.

    Args:
        gold: What there is to find; a category that the profile does not count is left out.
        preds: Detector to its spans; all categories count, since all would be redacted.
        profile: What counts as gold.

    Raises:
        ConfigError: There is no detector, or more than ``MAX_DETECTORS``.
        DigestError: A set of spans is of another note or another text.
    """
    if not 0 < len(preds) <= MAX_DETECTORS:
        raise ConfigError(
            f"all subsets are tried of 1 to {MAX_DETECTORS} detectors, got {len(preds)}"
        )
    for name, spans in preds.items():
        if (spans.note_id, spans.digest) != (gold.note_id, gold.digest):
            raise DigestError(
                f"note {gold.note_id!r}: spans of {name!r} are of note {spans.note_id!r}, digest"
                f" {spans.digest[:12]}; detect again on the text that was annotated"
            )
    golds = {
        (span.start, span.end, span.label)
        for span in gold.spans
        if profile.label_of(span.label) is not None
    }
    of_gold = union((start, end) for start, end, _ in golds)
    marked = [union((span.start, span.end) for span in spans.spans) for spans in preds.values()]
    inside: Counter[int] = Counter()
    outside: Counter[int] = Counter()
    segments = _segments([of_gold, *marked])
    for start, end, members in segments:
        (inside if members & 1 else outside)[members >> 1] += end - start
    ends = [end for _, end, _ in segments]
    spans_by_need = Counter(
        _need(end, islice(segments, bisect_right(ends, start), None)) for start, end, _ in golds
    )
    return Coverage(tuple(preds), dict(inside), dict(outside), dict(spans_by_need))


def _segments(unions: Sequence[Sequence[Range]]) -> list[tuple[int, int, int]]:
    """Cut where any union begins or ends.

    Each piece with the set of unions that hold it, without empty sets.
    """
    events: dict[int, int] = {}
    for at, ranges in enumerate(unions):
        for place in chain.from_iterable(ranges):
            events[place] = events.get(place, 0) ^ (1 << at)
    pieces, members, last = [], 0, 0
    for place in sorted(events):
        if members:
            pieces.append((last, place, members))
        members ^= events[place]
        last = place
    return pieces


def _need(end: int, segments: Iterable[tuple[int, int, int]]) -> frozenset[int]:
    masks = {
        members >> 1 for _, _, members in takewhile(lambda segment: segment[0] < end, segments)
    }
    return frozenset(
        mask
        for mask in masks
        if not any(other != mask and other & mask == other for other in masks)
    )


@dataclass(frozen=True, slots=True)
class Marginal:
    """One detector of an ensemble, left out and alone.

    Args:
        detector: Its name.
        recall_gained: Recall of the ensemble less that without it, in [0, 1].
        char_recall_gained: The same of code points.
        precision_lost: Precision without it less that of the ensemble; below 0 where it raises
            precision; ``None`` where either is not defined.
        alone: What it gives by itself.
        without: What the others give.
    """

    detector: str
    recall_gained: float
    char_recall_gained: float
    precision_lost: float | None
    alone: Subset
    without: Subset


def marginals(found: Coverage) -> list[Marginal]:
    """Return what each detector adds to all the others, in their order.

    Raises:
        InputError: There is no gold.
    """
    everything = found.value(found.detectors)
    rows = []
    for name in found.detectors:
        without = found.value(other for other in found.detectors if other != name)
        lost = None
        if without.precision is not None and everything.precision is not None:
            lost = without.precision - everything.precision
        gained = everything.recall - without.recall, everything.char_recall - without.char_recall
        rows.append(Marginal(name, *gained, lost, found.value([name]), without))
    return rows


def best_subset(found: Coverage, *, min_precision: float = 0.0) -> Subset:
    """Return the subset of highest recall among those of at least a precision.

    Of several the smallest, then the one of highest code-point recall, then of highest precision: a
    detector that hides no gold span more is not worth its time. Choose it on a development set.

    Raises:
        InputError: There is no gold, or no subset has the precision.
    """
    tried = (found._value(chosen) for chosen in range(1, 1 << len(found.detectors)))  # noqa: SLF001 -- same module
    kept = [
        subset
        for subset in tried
        if subset.precision is not None and subset.precision >= min_precision
    ]
    if not kept:
        raise InputError(
            f"no subset of the detectors has precision {min_precision:.3f}; ask for less"
        )
    return max(kept, key=_worth)


def _worth(subset: Subset) -> tuple[float, int, float, float]:
    return subset.recall, -len(subset.detectors), subset.char_recall, subset.precision or 0.0
