"""What is wrong with each span: missed, spurious, off at its boundaries, or of another label.

And the confusion.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from deid_assets.extending import DigestError, Phi, Profile, Span, SpanSet
from deid_assets.extending.scoring import size_of_common, union


class SpanErrorKind(StrEnum):
    """Kind of error."""

    MISSED = "missed"
    """A gold span that no prediction touches."""
    BOUNDARY = "boundary"
    """The two overlap and have the same label, and other boundaries."""
    LABEL = "label"
    """The two overlap and have other labels, whatever the boundaries."""
    SPURIOUS = "spurious"
    """A prediction that touches no gold span."""


Place = tuple[int, int, str]
"""Start, end, profile label."""


@dataclass(frozen=True, slots=True)
class SpanError:
    """One span that is wrong under the strict scheme.

    Args:
        kind: What is wrong with it.
        note_id: Where.
        gold: What there was to find; ``None`` for a spurious prediction.
        pred: What was predicted; ``None`` for a missed span.
        score: Of the prediction, in [0, 1].
        sources: Who predicted it, sorted.
        left: Gold code points that no prediction of any label covers.
    """

    kind: SpanErrorKind
    note_id: str
    gold: Place | None
    pred: Place | None
    score: float | None = None
    sources: tuple[str, ...] = ()
    left: int = 0

    @property
    def label(self) -> str:
        """Label of the gold span, else of the prediction."""
        return (self.gold or self.pred or (0, 0, ""))[2]

    @property
    def place(self) -> tuple[int, int]:
        """Range of the gold, else of the prediction."""
        start, end, _ = self.gold or self.pred or (0, 0, "")
        return start, end

    def identity(self, system: str) -> str:
        """Return 16 hexadecimal digits that name this error of a system, the same in every run."""
        what = repr((system, self.note_id, str(self.kind), self.gold, self.pred))
        return hashlib.sha256(what.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class PlacedPrediction:
    """A prediction.

    Args:
        place: Where and what; a category that the profile does not count goes by its own name.
        score: The highest of those given to this place.
        sources: Who gave it, sorted.
        counts: Whether it can be wrong: its category is counted, and the gold annotates it.
    """

    place: Place
    score: float
    sources: tuple[str, ...]
    counts: bool = True


Confusion = Counter[tuple[str | None, str | None]]
"""Gold label and predicted label to spans; ``None`` where there is nothing on that side."""


def places(spans: SpanSet, profile: Profile) -> list[Place]:
    """Return the distinct spans under a profile, sorted; what it does not count is left out."""
    found = ((span.start, span.end, profile.label_of(span.label)) for span in spans.spans)
    return sorted({(start, end, label) for start, end, label in found if label is not None})


def predictions(
    spans: SpanSet, profile: Profile, *, scope: frozenset[Phi] | None = None
) -> list[PlacedPrediction]:
    """Return each predicted place once, sorted."""
    in_scope = set(profile.labels.values())
    if scope is not None:
        in_scope &= {
            label for category in scope if (label := profile.label_of(category)) is not None
        }
    by_place: dict[Place, list[Span]] = {}
    for span in spans.spans:
        label = profile.label_of(span.label) or span.label.value
        by_place.setdefault((span.start, span.end, label), []).append(span)
    return [
        PlacedPrediction(
            place,
            max(span.score for span in same),
            tuple(sorted({span.source for span in same})),
            counts=any(profile.label_of(span.label) in in_scope for span in same),
        )
        for place, same in sorted(by_place.items())
    ]


def span_errors(
    gold: SpanSet, pred: SpanSet, *, profile: Profile, scope: frozenset[Phi] | None = None
) -> tuple[list[SpanError], Confusion]:
    """Return what is wrong in one note, in order, and the confusion of its labels.

    Every gold span that is wrong under ``Scheme.STRICT`` is in one error, with the prediction that
    overlaps it most, one of its own label first. Every prediction that is wrong is in at least one.

    Args:
        gold: What there is to find.
        pred: What was found.
        profile: Labels to count under; a category that it does not count is left out of the gold.
        scope: Categories that the gold annotates. Predictions of others are never spurious, yet
            they cover.

    Raises:
        DigestError: The two sets belong to different notes or different versions of a text.
    """
    if (gold.note_id, gold.digest) != (pred.note_id, pred.digest):
        raise DigestError(
            f"note {gold.note_id!r}: the predictions were made for note {pred.note_id!r}, digest"
            f" {pred.digest[:12]}; detect again on the text that was annotated"
        )
    golds, found = places(gold, profile), predictions(pred, profile, scope=scope)
    cover = union((one.place[0], one.place[1]) for one in found)
    by_place = {one.place: one for one in found}
    confusion: Confusion = Counter()
    errors: list[SpanError] = []
    used: set[Place] = set()
    for place in golds:
        partner = by_place.get(place) or _partner(place, found)
        confusion[place[2], partner.place[2] if partner else None] += 1
        if partner is not None:
            used.add(partner.place)
        if partner is None or partner.place != place:
            left = place[1] - place[0] - size_of_common([place[:2]], cover)
            errors.append(_error(gold.note_id, place, partner, left))
    for one in found:
        if one.counts and one.place not in used:
            over = _find_overlapped(one.place, golds)
            confusion[None, one.place[2]] += over is None
            errors.append(_error(gold.note_id, over, one, 0))
    return sorted(errors, key=lambda error: (error.place, error.label)), confusion


def _partner(place: Place, found: Sequence[PlacedPrediction]) -> PlacedPrediction | None:
    def likeness(one: PlacedPrediction) -> tuple[bool, int, float]:
        return one.place[2] == place[2], _common(place, one.place), one.score

    return max((one for one in found if _common(place, one.place)), key=likeness, default=None)


def _find_overlapped(place: Place, golds: Sequence[Place]) -> Place | None:
    over = [gold for gold in golds if _common(place, gold)]
    return max(over, key=lambda gold: (gold[2] == place[2], _common(place, gold)), default=None)


def _common(one: Place, other: Place) -> int:
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def _error(
    note_id: str, gold: Place | None, found: PlacedPrediction | None, left: int
) -> SpanError:
    if found is None:
        return SpanError(SpanErrorKind.MISSED, note_id, gold, None, left=left)
    kind = SpanErrorKind.SPURIOUS
    if gold is not None:
        kind = SpanErrorKind.BOUNDARY if gold[2] == found.place[2] else SpanErrorKind.LABEL
    return SpanError(kind, note_id, gold, found.place, found.score, found.sources, left)
