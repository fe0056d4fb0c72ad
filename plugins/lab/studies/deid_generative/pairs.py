"""Pairs of note and right answer, as tokens.

The note's own, with placeholders in the place of its spans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from deid_assets.extending import Document, windows
from deid_assets.extending.measuring import Range, union
from deid_causal.steps import Pair
from deid_generative.placeholders import ANONYMOUS, PLACEHOLDER, make_placeholder

if TYPE_CHECKING:
    from deid_generative.local import Speech

Labelled = tuple[int, int, str]
"""Start, end, tag; the tag is empty where one placeholder stands for all."""


def answer_text(text: str, spans: Sequence[Labelled]) -> str:
    """Return the right answer to a note, as text.

    Spans that overlap, touch or have blanks alone between them share a placeholder, that of the
    first.

    Args:
        text: The note.
        spans: What is to be removed.
    """
    if not spans:
        return ANONYMOUS
    pieces, cursor = [], 0
    for start, end, tag in join_spans(text, spans):
        pieces += [text[cursor:start], make_placeholder(tag) if tag else PLACEHOLDER]
        cursor = end
    return "".join([*pieces, text[cursor:]])


def join_spans(text: str, spans: Sequence[Labelled]) -> list[Labelled]:
    """Return spans in order, those with nothing but blanks between them as one."""
    found: list[Labelled] = []
    for start, end, tag in sorted(spans):
        if found and (start <= found[-1][1] or not text[found[-1][1] : start].strip()):
            first, last, kept = found[-1]
            found[-1] = first, max(last, end), kept
        else:
            found.append((start, end, tag))
    return found


def spans_of(document: Document, *, typed: bool) -> list[Labelled]:
    """Return what is to be removed from a document."""
    if typed:
        return join_spans(
            document.note.text,
            [(span.start, span.end, span.label.value) for span in document.spans],
        )
    plain = union((span.start, span.end) for span in document.spans)
    return join_spans(document.note.text, [(start, end, "") for start, end in plain])


def pairs(document: Document, speech: Speech, *, longest: int) -> Iterator[Pair]:
    """Yield the pairs of a document.

    One, or one per window where note and answer are longer than allowed.

    Args:
        document: An annotated note.
        speech: Tokens of the model.
        longest: Most tokens of prompt and answer.
    """
    text = document.note.text
    source, offsets = speech.plain(text)
    if not source:
        return
    spans = spans_of(document, typed=bool(speech.shape.tags))
    room = speech.shape.window or max(
        8, (longest - len(speech.before) - len(speech.after)) * 2 // 5
    )
    for window in windows(len(source), size=room, overlap=0):
        part = offsets[window.start : window.end]
        yield Pair(
            speech.prompt(source[window.start : window.end]),
            answer_tokens(source[window.start : window.end], part, spans, text, speech),
        )


def answer_tokens(
    source: Sequence[int],
    offsets: Sequence[Range],
    spans: Sequence[Labelled],
    text: str,
    speech: Speech,
) -> list[int]:
    """Return the right answer as tokens.

    Those of the source, whole, with a placeholder for each run in a span.

    A token that a span cuts belongs to it.
    """
    answer: list[int] = []
    inside = None
    for token, (start, end) in zip(source, offsets, strict=True):
        span = next((one for one in spans if _belongs(text, start, end, one)), None)
        if span is None:
            answer.append(token)
        elif span is not inside:
            number = speech.shape.tags.index(span[2]) if speech.shape.tags else 0
            ways = speech.spaced if text[start:end][:1].isspace() else speech.holes
            answer += ways[number]
        inside = span
    is_untouched = not speech.shape.window and answer == list(source)
    return [*(speech.anonymous if is_untouched else answer), speech.end]


def _belongs(text: str, start: int, end: int, span: Labelled) -> bool:
    """Whether a token belongs to a span.

    One that it cuts does, and one of blanks that is within it.
    """
    is_within = span[0] <= start and end <= span[1]
    return is_within or (span[0] < end and start < span[1] and not text[start:end].isspace())
