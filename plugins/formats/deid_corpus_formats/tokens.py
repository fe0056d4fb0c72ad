"""Tokens and the text they were cut from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from deid_assets.extending import TOKEN, Span
from deid_assets.extending.formats import OffsetUnit, Problem, to_code_points, width

UNSPECIFIED = "_"
"""Placeholder of a token that cannot stand in a column; its offsets and the text say what it is."""


class TokenRow(NamedTuple):
    """One token as the file has it.

    Offsets count from the start of the note, in the unit of the source.
    """

    line: int
    form: str
    tag: str
    start: int | None = None
    end: int | None = None


Sentences = Sequence[Sequence[TokenRow]]
Places = list[tuple[int, int]]
"""Start and end of each token in code points, in order."""


def pieces(text: str, spans: Sequence[Span]) -> Iterator[tuple[int, int, Span | None]]:
    """Yield the tokens of a text as start, end and the span they belong to.

    A span cuts a token that it covers in part, and owns the blanks at its ends, so that its tokens
    begin and end where it does. Blanks outside of spans and inside them belong to no token.

    Args:
        text: The note.
        spans: Sorted and disjoint.
    """
    cursor = 0
    for span in spans:
        yield from ((start, end, None) for start, end in _cut(text, cursor, span.start))
        inside = list(_cut(text, span.start, span.end)) or [(span.start, span.end)]
        if span.start < inside[0][0]:
            inside.insert(0, (span.start, inside[0][0]))
        if inside[-1][1] < span.end:
            inside.append((inside[-1][1], span.end))
        yield from ((start, end, span) for start, end in inside)
        cursor = span.end
    yield from ((start, end, None) for start, end in _cut(text, cursor, len(text)))


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    return (match.span() for match in TOKEN.finditer(text, start, end))


def join_sentences(sentences: Sentences) -> tuple[str, Places]:
    """Return the text of sentences, and where each token is.

    Tokens are joined by blanks and sentences by line breaks.
    """
    parts: list[str] = []
    places: Places = []
    size = 0
    for sentence in sentences:
        for at, row in enumerate(sentence):
            if parts:
                parts.append(" " if at else "\n")
                size += 1
            parts.append(row.form)
            places.append((size, size + len(row.form)))
            size += len(row.form)
    return "".join(parts), places


def space_tokens(
    sentences: Sentences, unit: OffsetUnit, *, max_offset: int
) -> tuple[str, Places] | list[Problem]:
    """Return a text with every token at its offsets, or one problem per token that cannot be there.

    What lies between tokens is not in the file: it becomes blanks, the first a line break between
    sentences.
    """
    parts: list[str] = []
    places: Places = []
    problems: list[Problem] = []
    size = point = 0
    for sentence in sentences:
        for at, row in enumerate(sentence):
            start, end = row.start or 0, row.end or 0
            if not size <= start < end <= max_offset or width(row.form, unit) != end - start:
                reason = (
                    f"[{start}, {end}) is not the place of this token; number tokens in order, in"
                    f" {unit} units"
                )
                problems.append(Problem("offset", reason, row.line))
                continue
            gap = start - size
            parts += [
                "\n" if gap and places and not at else " " * min(gap, 1),
                " " * (gap - 1),
                row.form,
            ]
            places.append((point + gap, point + gap + len(row.form)))
            size, point = end, places[-1][1]
    return problems or ("".join(parts), places)


def place_tokens(
    sentences: Sentences, text: str, unit: OffsetUnit
) -> tuple[str, Places] | list[Problem]:
    """Return the text and where each token is in it, or the first thing that does not fit.

    By the offsets where the file has them, else by search from left to right. Only blanks may lie
    between tokens: other characters would be text that no tag speaks of.

    Args:
        sentences: May be empty where the text is blank.
        text: Without lone surrogates.
        unit: What offsets count.
    """
    rows = list(chain.from_iterable(sentences))
    offsets = [offset for row in rows for offset in (row.start, row.end) if offset is not None]
    points = to_code_points(text, offsets, unit)
    places: Places = []
    cursor = 0
    for row in rows:
        if row.start is None or row.end is None:
            start = _next_token(text, cursor)
            end = start + len(row.form)
        else:
            first, last = points[row.start], points[row.end]
            if first is None or last is None or not cursor <= first < last:
                reason = (
                    f"[{row.start}, {row.end}) is no {unit} range behind the token before it; fix"
                    " the offsets"
                )
                return [Problem("offset", reason, row.line)]
            start, end = first, last
        is_given = row.start is not None and row.form == UNSPECIFIED
        if not (is_given or text[start:end] == row.form) or not _is_blank(text[cursor:start]):
            return [_mismatch(row.line, cursor)]
        places.append((start, end))
        cursor = end
    return (text, places) if _is_blank(text[cursor:]) else [_mismatch(rows[-1].line, cursor)]


def _next_token(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def _is_blank(gap: str) -> bool:
    return not gap or gap.isspace()


def _mismatch(line: int, offset: int) -> Problem:
    reason = (
        f"the tokens are not those of the note's text from offset {offset}; check that neither was"
        " altered"
    )
    return Problem("text-mismatch", reason, line)


def overlap_of(spans: Sequence[Span]) -> tuple[Span, Span] | None:
    """Return the first two spans that share a character, of sorted spans."""
    return next(((left, right) for left, right in pairwise(spans) if left.overlaps(right)), None)
