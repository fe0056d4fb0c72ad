"""Why each span is there: which detector said what, and what the pipeline made of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from deid_assets import Span, SpanSet
from deid_assets.extending.serving import SPREAD, Batch
from deid_serve.models import FoundBy, GivenSpan, SpanReason

DETECTOR, SEARCH = "detector", "search"


class Ranged(Protocol):
    """Something with a range of code points."""

    @property
    def start(self) -> int:
        """First code point."""
        ...

    @property
    def end(self) -> int:
        """One past the last."""
        ...


_One = TypeVar("_One", bound=Ranged)


def overlapping(spans: Sequence[Ranged], others: Iterable[_One]) -> list[list[_One]]:
    """Return what overlaps each span, in order.

    Args:
        spans: Sorted, of which no two overlap.
        others: In any order.
    """
    ends = [span.end for span in spans]
    found: list[list[_One]] = [[] for _ in spans]
    for other in others:
        at = bisect_right(ends, other.start)
        while at < len(spans) and spans[at].start < other.end:
            found[at].append(other)
            at += 1
    return found


def spans_of(batch: Batch, note_id: str, *, explain: bool = False) -> list[GivenSpan]:
    """Return the spans of a note, each with its reason where asked for.

    Those that were replaced, or where nothing was replaced yet those that were found.
    """
    spans = _last(batch, note_id)
    reasons = reasons_of(batch, note_id) if explain else [None] * len(spans)
    return [
        GivenSpan(
            start=span.start,
            end=span.end,
            label=span.label.value,
            score=span.score,
            source=span.source,
            why=why,
        )
        for span, why in zip(spans, reasons, strict=True)
    ]


def _last(batch: Batch, note_id: str) -> tuple[Span, ...]:
    found = batch.replaced.get(note_id) or batch.spans.get(note_id)
    return found.spans if found else ()


def predictions_of(batch: Batch, note_id: str) -> list[Span]:
    """Return what every detector of the ensemble said of a note, in order."""
    found: list[Span] = []
    for by_note in batch.predictions.values():
        outcome = by_note.get(note_id)
        found += outcome.spans if isinstance(outcome, SpanSet) else ()
    return sorted(found)


def reasons_of(batch: Batch, note_id: str) -> list[SpanReason]:
    """Return why each span of a note is there."""
    spans = _last(batch, note_id)
    found = overlapping(spans, predictions_of(batch, note_id))
    before = overlapping(spans, batch.spans.get(note_id) or ())
    return [
        _reason(span, joined, is_new=not earlier)
        for span, joined, earlier in zip(spans, found, before, strict=True)
    ]


def _reason(span: Span, joined: Sequence[Span], *, is_new: bool) -> SpanReason:
    if span.source == SPREAD:
        decision = (
            f"a value that {span.native_label or 'a detector'} found elsewhere in the patient's"
            " notes stands here again"
        )
        return SpanReason(origin=SPREAD, decision=decision, predictions=list_found_by(joined))
    if is_new:
        decision = f"{span.source} found it when it read the redacted text again"
        return SpanReason(origin=SEARCH, decision=decision, predictions=[])
    decision = _decision(span, joined)
    return SpanReason(origin=DETECTOR, decision=decision, predictions=list_found_by(joined))


def list_found_by(spans: Iterable[Span]) -> list[FoundBy]:
    """Return what detectors said, as it is given out."""
    return [
        FoundBy(
            detector=one.source,
            start=one.start,
            end=one.end,
            label=one.label.value,
            score=one.score,
            native_label=one.native_label,
        )
        for one in spans
    ]


def list_left_out(batch: Batch, note_id: str) -> list[FoundBy]:
    """Return what a detector marked and the overlap policy left out."""
    return list_found_by(outside(_last(batch, note_id), predictions_of(batch, note_id)))


def outside(spans: Sequence[Ranged], others: Sequence[_One]) -> list[_One]:
    """Return what overlaps none of the spans."""
    inside = {id(one) for found in overlapping(spans, others) for one in found}
    return [one for one in others if id(one) not in inside]


def _decision(span: Span, joined: Sequence[Span]) -> str:
    names = sorted({one.source for one in joined})
    said = (
        f"{span.source} alone marked it"
        if len(joined) == 1
        else f"{len(joined)} predictions joined"
    )
    if len(names) > 1:
        said += f" of {', '.join(names)}; {span.source} names the category"
    others = sorted({one.label.value for one in joined if one.label is not span.label})
    if others:
        said += f"; {', '.join(others)} gave way to {span.label.value}"
    grown = (span.end - span.start) - (
        max((one.end for one in joined), default=span.end)
        - min((one.start for one in joined), default=span.start)
    )
    if grown > 0:
        said += f"; grown by {grown} to the borders of words, or by what the search found beside it"
    return said
