"""What a generated text changed outside the spans that it was to replace."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.intervals import Range, union

_WORD = re.compile(r"\w+|[^\w\s]")
_NEGATION = re.compile(
    "no|not|none|never|without|den(?:y|ies|ied)|negative|nor|neither|cannot|keine?[mnrs]?|nicht|nie|ohne|weder"
    "|pas|non|sans|aucune?|jamais|ni|sin|nunca|nieg[ao]n?|ninguna?|ninguno|senza|nessuna?|nessuno|mai"
    "|geen|niet|nooit|zonder|inte|ej|ingen|inget|inga|utan|aldrig"
)
_UNIT = re.compile(
    "[mkµu]?g|mcg|ng|[dcm]?l|mmol|mol|meq|ie|i?u|ui|mmhg|[cm]?m|bpm|kcal|h|hr|min|s|sec|%|°"
)


class AlterationOutcome(StrEnum):
    """Kind of alteration."""

    INSERTED = "inserted"
    DELETED = "deleted"
    CHANGED = "changed"


class AlterationKind(StrEnum):
    """Kind of token that was altered; the first that applies, the most harmful first."""

    NUMBER = "number"
    NEGATION = "negation"
    UNIT = "unit"
    WORD = "word"
    PUNCTUATION = "punctuation"


@dataclass(frozen=True, slots=True)
class Alteration:
    """One alteration; it holds places, no text.

    Args:
        change: What was done.
        kind: What it was done to.
        start: First code point in the source; where ``start == end`` words were inserted there.
        end: One past the last.
        output_start: First code point in the output.
        output_end: One past the last.
    """

    change: AlterationOutcome
    kind: AlterationKind
    start: int
    end: int
    output_start: int
    output_end: int


def alterations(
    source: Note, spans: SpanSet, output: str, *, replacement: re.Pattern[str] | None = None
) -> list[Alteration]:
    r"""Return every word, number and punctuation mark that the output changed outside the spans.

    Words are compared, with case; blanks are not. A span that was left as it is counts as no
    alteration: it is a leak, which the scores count. Without ``replacement`` what stands in the
    place of a span is taken for its surrogate, and so is a word invented next to it; with it such a
    word is found.

    Args:
        source: The note as it was.
        spans: What was to be replaced, such as the gold.
        output: The text that was generated.
        replacement: What a span becomes, for example ``re.compile(r"\[[A-Z_]+\]")``. Where not
            given, anything.

    Raises:
        DigestError: The spans are of another note or another text.
        OffsetError: A span ends after the note does.
    """
    cover = union((span.start, span.end) for span in spans.check_against(source))
    tags = (
        []
        if replacement is None
        else [match.span() for match in replacement.finditer(output) if match[0]]
    )
    before, after = _pieces(source.text, cover), _pieces(output, tags)
    matcher = SequenceMatcher(
        None, [piece.key for piece in before], [piece.key for piece in after], autojunk=False
    )
    found = []
    for tag, first, last, out_first, out_last in matcher.get_opcodes():
        if tag != "equal":
            lost, fresh = _judge_words(
                before[first:last], after[out_first:out_last], with_tags=replacement is not None
            )
            if lost or fresh:
                place = before[first].start if first < len(before) else len(source.text)
                out_place = after[out_first].start if out_first < len(after) else len(output)
                found.append(_alteration(lost, fresh, place, out_place))
    return found


@dataclass(frozen=True, slots=True)
class _Piece:
    """A word, or a hole: what a span covers in the source, a tag in the output."""

    start: int
    end: int
    key: str
    """The word; empty for a hole, so that all holes are alike."""
    words: tuple[str, ...]


def _pieces(text: str, holes: Sequence[Range]) -> list[_Piece]:
    pieces: list[_Piece] = []
    cursor = 0
    for start, end in [*holes, (len(text), len(text))]:
        words = _WORD.finditer(text, cursor, start)
        pieces += [_Piece(*match.span(), match[0], (match[0],)) for match in words]
        if start < end:
            pieces.append(_Piece(start, end, "", tuple(_WORD.findall(text, start, end))))
        cursor = end
    return pieces


def _judge_words(
    before: Sequence[_Piece], after: Sequence[_Piece], *, with_tags: bool
) -> tuple[list[_Piece], list[_Piece]]:
    """Return the words that were lost outside the spans, and the words and tags that no span
    accounts for.
    """
    lost = [piece for piece in before if piece.key]
    holes = [piece for piece in before if not piece.key]
    fresh = [piece for piece in after if piece.key]
    own = [word for hole in holes for word in hole.words]
    if with_tags:
        for word in own:
            kept = next((piece for piece in fresh if piece.key == word), None)
            if kept is not None:
                fresh.remove(kept)
        fresh += [piece for piece in after if not piece.key][len(holes) :]
    elif holes:
        at = _place_of(own, [piece.key for piece in fresh])
        fresh = [] if at is None else [*fresh[:at], *fresh[at + len(own) :]]
    return lost, sorted(fresh, key=lambda piece: piece.start)


def _place_of(own: Sequence[str], words: Sequence[str]) -> int | None:
    places = range(len(words) - len(own) + 1)
    return next((at for at in places if own and list(words[at : at + len(own)]) == list(own)), None)


def _alteration(
    lost: Sequence[_Piece], fresh: Sequence[_Piece], place: int, out_place: int
) -> Alteration:
    start, end = (lost[0].start, lost[-1].end) if lost else (place, place)
    out_start, out_end = (fresh[0].start, fresh[-1].end) if fresh else (out_place, out_place)
    change = AlterationOutcome.CHANGED
    if not lost:
        change = AlterationOutcome.INSERTED
    elif not fresh:
        change = AlterationOutcome.DELETED
    return Alteration(change, _kind([*lost, *fresh]), start, end, out_start, out_end)


def _kind(pieces: Sequence[_Piece]) -> AlterationKind:
    words = [word.casefold() for piece in pieces for word in piece.words]
    if any(map(str.isdigit, "".join(words))):
        return AlterationKind.NUMBER
    if any(map(_NEGATION.fullmatch, words)):
        return AlterationKind.NEGATION
    if any(map(_UNIT.fullmatch, words)):
        return AlterationKind.UNIT
    return (
        AlterationKind.WORD if any(map(str.isalnum, "".join(words))) else AlterationKind.PUNCTUATION
    )
