"""Annotations that travel through a translator as markers in the text.

``[#NAME Ana Lee]`` (Myntti 2025, section 2).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from deid_assets import Note, Phi, Span, SpanSet
from deid_assets.extending import InputError, Token
from deid_zero_shot.projection import Projected, ProjectionDoubt, Why, is_other_sex

_MARK = re.compile(r"\[#(?P<label>\w*)\s*|\]")


class _Found(NamedTuple):
    """A marker of a translation.

    Its label as written, and its range in the text without markers.
    """

    label: str
    place: Token
    is_inside: bool


def mark(note: Note, spans: Sequence[Span]) -> str:
    """Return the text of a note with a marker around each span, for a translator.

    Raises:
        InputError: The text could be taken for a marker: it has ``[#``, or a span has a bracket.
    """
    text, parts, cursor = note.text, list[str](), 0
    for span in sorted(spans):
        inside = text[span.start : span.end]
        if "[" in inside or "]" in inside:
            raise InputError(
                f"note {note.note_id!r}: the span at {span.start} has a bracket; project it by"
                " alignment"
            )
        parts += [text[cursor : span.start], f"[#{span.label.value} {inside}]"]
        cursor = span.end
    if "[#" in text:
        raise InputError(
            f"note {note.note_id!r}: the text has '[#' itself; project it by alignment"
        )
    return "".join([*parts, text[cursor:]])


def unmark(source: Note, spans: Sequence[Span], marked: Note) -> tuple[Note, Projected]:
    """Return a translation without its markers, and the spans that they stand for.

    The n-th marker of a category is the n-th span of it in the original. Told are spans without a
    marker, markers in another order than the spans, one inside another, of no category of the
    original, and letters for another sex.

    Args:
        source: The original.
        spans: In it, disjoint.
        marked: Its translation, with markers.
    """
    text, found = _read(marked.text)
    target = replace(marked, text=text)
    waiting: dict[str, list[int]] = defaultdict(list)
    ordered = sorted(spans)
    for number, span in enumerate(ordered):
        waiting[span.label.value].append(number)
    placed: list[Span] = []
    order: list[int] = []
    doubts: dict[int, list[ProjectionDoubt]] = defaultdict(list)
    extra: list[ProjectionDoubt] = []
    for one in sorted(found, key=lambda one: one.place):
        start, end = one.place
        own = waiting.get(one.label)
        if not own or start == end or one.is_inside:
            why = Why.NESTED if one.is_inside else Why.EXTRA
            at = min(start, len(text) - 1)
            extra += (
                [ProjectionDoubt(Span(at, max(end, at + 1), Phi.OTHER), why, placed=False)]
                if text
                else []
            )
            continue
        number = own.pop(0)
        order.append(number)
        placed.append(replace(ordered[number], start=start, end=end))
        if is_other_sex(source, ordered[number], target, one.place):
            doubts[number].append(ProjectionDoubt(ordered[number], Why.SEX, placed=True))
    for number, rightful in zip(order, sorted(order), strict=True):
        if number != rightful:
            doubts[number].append(ProjectionDoubt(ordered[number], Why.REORDERED, placed=True))
    for numbers in waiting.values():
        for number in numbers:
            doubts[number].append(ProjectionDoubt(ordered[number], Why.DROPPED, placed=False))
    told = [doubt for number in sorted(doubts) for doubt in doubts[number]]
    return target, Projected(SpanSet.of(target, placed), [*told, *extra], len(ordered))


def _read(marked: str) -> tuple[str, list[_Found]]:
    """Return a text without its markers, and the markers.

    A bracket that closes none stays; one left open ends there.
    """
    parts: list[str] = []
    size = cursor = 0
    opened: list[tuple[str, int]] = []
    found: list[_Found] = []
    for match in _MARK.finditer(marked):
        parts.append(marked[cursor : match.start()])
        size += match.start() - cursor
        cursor = match.end()
        if match["label"] is not None:
            opened.append((match["label"], size))
        elif opened:
            label, start = opened.pop()
            found.append(_Found(label, (start, size), bool(opened)))
        else:
            parts.append("]")
            size += 1
    text = "".join([*parts, marked[cursor:]])
    return text, [
        *found,
        *(_Found(label, (start, start), is_inside=False) for label, start in opened),
    ]
