"""Two systems on the same notes.

The gold spans that only one of them covers, and the false alarms of one alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from deid_assets.extending import DigestError, Phi, Profile, SpanSet
from deid_assets.extending.scoring import is_inside, is_touched, union
from deid_evaluation.span_errors import Place, places, predictions

Verdict = tuple[bool, bool]
"""Pair for the first and the second system.

Whether the span is covered, or for a false alarm whether it is given.
"""


@dataclass(frozen=True, slots=True)
class SystemDifference:
    """A span on which two systems differ.

    Args:
        note_id: Where.
        place: The gold span, or the false alarm.
        is_gold: Whether it is gold.
        by_first: Whether the first system alone has it; if not, the second alone.
    """

    note_id: str
    place: Place
    is_gold: bool
    by_first: bool


def differences(
    gold: SpanSet,
    first: SpanSet,
    second: SpanSet,
    *,
    profile: Profile,
    scope: frozenset[Phi] | None = None,
) -> tuple[list[SystemDifference], Counter[tuple[str, Verdict]]]:
    """Return the spans of one note that one system alone has, and gold spans by label and verdict.

    A gold span is had where predictions of any label cover all of it; a false alarm is a prediction
    that touches no gold, and the other system has it where it marks any of it. Of categories
    outside ``scope``, which the gold does not annotate, none is a false alarm.

    Raises:
        DigestError: The three are not of the same note and text.
    """
    for spans in (first, second):
        if (spans.note_id, spans.digest) != (gold.note_id, gold.digest):
            raise DigestError(
                f"note {gold.note_id!r}: predictions are of note {spans.note_id!r}, digest"
                f" {spans.digest[:12]}; detect again on the text that was annotated"
            )
    golds = places(gold, profile)
    covers = [union((span.start, span.end) for span in spans.spans) for spans in (first, second)]
    table: Counter[tuple[str, Verdict]] = Counter()
    found = []
    for place in golds:
        verdict = is_inside(place[:2], covers[0]), is_inside(place[:2], covers[1])
        table[place[2], verdict] += 1
        if verdict[0] is not verdict[1]:
            found.append(SystemDifference(gold.note_id, place, is_gold=True, by_first=verdict[0]))
    marked = union(place[:2] for place in golds)
    for at, spans in enumerate((first, second)):
        found += [
            SystemDifference(gold.note_id, place, is_gold=False, by_first=at == 0)
            for place in _alarms(spans, profile, scope, marked)
            if not is_touched(place[:2], covers[1 - at])
        ]
    return found, table


def _alarms(
    spans: SpanSet, profile: Profile, scope: frozenset[Phi] | None, marked: list[tuple[int, int]]
) -> Iterator[Place]:
    found = predictions(spans, profile, scope=scope)
    return (one.place for one in found if one.counts and not is_touched(one.place[:2], marked))
