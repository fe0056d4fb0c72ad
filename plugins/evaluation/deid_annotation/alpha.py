"""Krippendorff's alpha of any number of annotators: of labels, and of spans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

from deid_assets.extending import InputError, OffsetError, OverlapError
from deid_assets.extending.scoring import Range


@dataclass(frozen=True, slots=True)
class NominalAgreement:
    """Labels of units that annotators share.

    Args:
        alpha: 1 for full agreement, 0 for chance, below 0 for less; ``None`` where all labels are
            one.
        observed: Share of pairs of annotators of a unit that agree, units weighing by their
            annotators.
        units: Units with at least two labels; others say nothing and are left out.
    """

    alpha: float | None
    observed: float
    units: int


def nominal_alpha(units: Iterable[Sequence[Hashable | None]]) -> NominalAgreement:
    """Return the agreement on labels.

    Args:
        units: The label that each annotator gave a unit; ``None`` where one gave none. Annotators
            may differ between units.

    Raises:
        InputError: No unit has two labels.

    Source:
        Krippendorff (2011), Computing Krippendorff's alpha-reliability, nominal data.
    """
    totals: Counter[Hashable] = Counter()
    disagreement, shared = 0.0, 0
    for unit in units:
        labels = Counter(label for label in unit if label is not None)
        size = labels.total()
        if size > 1:
            shared += 1
            totals += labels
            disagreement += (size * size - sum(count * count for count in labels.values())) / (
                size - 1
            )
    pairable = totals.total()
    if not pairable:
        raise InputError(
            "no unit has the labels of two annotators; agreement needs units that two annotated"
        )
    by_chance = pairable * pairable - sum(count * count for count in totals.values())
    alpha = 1 - (pairable - 1) * disagreement / by_chance if by_chance else None
    return NominalAgreement(alpha, 1 - disagreement / pairable, shared)


@dataclass(frozen=True, slots=True)
class UnitizingAgreement:
    """Spans of annotators of one text.

    Args:
        alpha: Over all labels; ``None`` where nobody marked anything.
        by_label: Label to its own alpha.
    """

    alpha: float | None
    by_label: Mapping[str, float] = field(default_factory=dict)


def unitizing_alpha(
    annotators: Sequence[Mapping[str, Sequence[Range]]], *, length: int
) -> UnitizingAgreement:
    """Return the agreement on where spans are, each label by itself.

    Args:
        annotators: Of each annotator the ranges by label; ranges of one label must not overlap.
            Texts are joined end to end, offsets running on, to get one figure of many notes.
        length: Code points of the text.

    Raises:
        InputError: There are fewer than two annotators.
        OffsetError: A range ends after the text.
        OverlapError: Two ranges of one annotator and label overlap.

    Source:
        Krippendorff (2004), Measuring the reliability of qualitative text analysis data, Quality &
        Quantity 38, 787-800: the unitizing alpha with squared distances.
    """
    if len(annotators) < 2:
        raise InputError(f"agreement needs at least two annotators, got {len(annotators)}")
    observed_sum = expected_sum = 0.0
    by_label = {}
    for label in sorted({label for ranges in annotators for label in ranges}):
        sections = [_sections(ranges.get(label, ()), length) for ranges in annotators]
        if any(is_unit for side in sections for _, _, is_unit in side):
            observed, expected = (
                _measure_observed(sections, length),
                _measure_expected(sections, length),
            )
            observed_sum, expected_sum = observed_sum + observed, expected_sum + expected
            by_label[label] = 1 - observed / expected
    return UnitizingAgreement(1 - observed_sum / expected_sum if expected_sum else None, by_label)


_Section = tuple[int, int, bool]
"""Start, length, and whether it is a unit or a gap between units."""


def _sections(ranges: Iterable[Range], length: int) -> list[_Section]:
    sections: list[_Section] = []
    cursor = 0
    for start, end in sorted(ranges):
        if start < cursor:
            raise OverlapError(f"ranges of one label overlap at {start}; resolve them first")
        if start > cursor:
            sections.append((cursor, start - cursor, False))
        sections.append((start, end - start, True))
        cursor = end
    if cursor > length:
        raise OffsetError(f"a range ends at {cursor}, the text has {length} characters")
    if cursor < length:
        sections.append((cursor, length - cursor, False))
    return sections


def _measure_observed(sections: Sequence[Sequence[_Section]], length: int) -> float:
    observers = len(sections)
    total = sum(_distance(left, right) for left, right in permutations(sections, 2))
    return total / (observers * (observers - 1) * length * length)


def _distance(left: Sequence[_Section], right: Sequence[_Section]) -> int:
    total = at = 0
    for start, size, is_unit in left:
        while at < len(right) and right[at][0] < start + size:
            if right[at][0] + right[at][1] > start:
                total += _of_sections((start, size, is_unit), right[at])
            at += 1
        at = max(0, at - 1)
    return total


def _of_sections(one: _Section, other: _Section) -> int:
    """Squared distance of two sections that overlap."""
    (start, size, is_unit), (other_start, other_size, other_is_unit) = one, other
    if is_unit and other_is_unit:
        return (start - other_start) ** 2 + (start + size - other_start - other_size) ** 2
    if is_unit and other_start <= start and start + size <= other_start + other_size:
        return size * size
    if other_is_unit and start <= other_start and other_start + other_size <= start + size:
        return other_size * other_size
    return 0


def _measure_expected(sections: Sequence[Sequence[_Section]], length: int) -> float:
    units = [size for side in sections for _, size, is_unit in side if is_unit]
    gaps = Counter(size for side in sections for _, size, is_unit in side if not is_unit)
    total = 0.0
    for size, count in Counter(units).items():
        inside = sum((gap - size + 1) * times for gap, times in gaps.items() if gap >= size)
        of_units = (len(units) - 1) * size * (size - 1) * (2 * size - 1) / 3
        total += count * (of_units + size * size * inside)
    everything = len(sections) * length
    return (
        2
        / length
        * total
        / (everything * (everything - 1) - sum(size * (size - 1) for size in units))
    )
