"""Offsets corrected and glued entities spaced, as Catelli (2021, section on pre-processing) did.

Each change is reported.

Both propose. Nothing is changed in place: the caller writes corrected notes elsewhere, and reports
every change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from deid_assets.extending import Span, SpanSet
from deid_assets.extending.commands import Annotated, Annotation, ParsedNote

_BLANKS = re.compile(r"\s+")


class OffsetVerdict(StrEnum):
    """What became of an annotation whose offsets do not cover its text."""

    MOVED = "moved"
    """Its text stands elsewhere.

    The offsets are those of the place that is nearest to where it should be.
    """
    AMBIGUOUS = "ambiguous"
    """Two places are equally near."""
    MISSING = "missing"
    """Its text is nowhere in the note."""
    UNREADABLE = "unreadable"
    """It has fragments, or does not say which text it covers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCorrection:
    """One annotation that does not fit its text; never the text itself.

    Args:
        note_id: Of its note.
        line: Of the annotation in its file, where it has one.
        label: As the source has it.
        start: As the source has it.
        end: As the source has it.
        verdict: What became of it.
        new_start: Where its text stands, where it was moved.
        new_end: One past it.
        places: In how many places its text stands.
    """

    note_id: str
    line: int | None
    label: str
    start: int
    end: int
    verdict: OffsetVerdict
    new_start: int | None = None
    new_end: int | None = None
    places: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return what a machine reads."""
        return asdict(self)


def correct_offsets(parsed: ParsedNote) -> tuple[ParsedNote, list[OffsetCorrection]]:
    """Return the note with every annotation at its text, where that can be said, and what was found
    wrong.

    An annotation that carries the text it covers, and whose offsets cover another, is moved to
    where its text stands: of several places to the one nearest to its offsets, moved as the
    annotation before it was. One that cannot be placed is left as it is, so that reading the note
    fails as before.

    Args:
        parsed: As read, unchecked; offsets in code points.
    """
    found: list[OffsetCorrection] = []
    kept: list[Annotation] = []
    drift = 0
    for annotation in parsed.annotations or ():
        if _fits(annotation, parsed):
            drift = 0 if len(annotation.fragments) == 1 else drift
            kept.append(annotation)
            continue
        correction = _place(annotation, parsed, drift)
        found.append(correction)
        if correction.new_start is None or correction.new_end is None:
            kept.append(annotation)
            continue
        drift = correction.new_start - correction.start
        fragments = ((correction.new_start, correction.new_end),)
        kept.append(replace(annotation, fragments=fragments, covered=None))
    return replace(parsed, annotations=None if parsed.annotations is None else tuple(kept)), found


def _fits(annotation: Annotation, parsed: ParsedNote) -> bool:
    size = len(parsed.text)
    if not all(0 <= start < end <= size for start, end in annotation.fragments):
        return False
    if annotation.covered is None:
        return True
    covered = " ".join(parsed.text[start:end] for start, end in annotation.fragments)
    return covered == annotation.covered or (
        parsed.fold_blanks and _fold_blanks(covered) == _fold_blanks(annotation.covered)
    )


def _fold_blanks(text: str) -> str:
    return "".join(" " if char.isspace() else char for char in text)


def _place(annotation: Annotation, parsed: ParsedNote, drift: int) -> OffsetCorrection:
    (start, end), *others = annotation.fragments
    said = {
        "note_id": parsed.note_id,
        "line": annotation.line,
        "label": annotation.label,
        "start": start,
        "end": end,
    }
    covered = (annotation.covered or "").strip()
    if others or not covered:
        return OffsetCorrection(**said, verdict=OffsetVerdict.UNREADABLE)  # type: ignore[arg-type]
    pattern = r"\s+".join(map(re.escape, _BLANKS.split(covered)))
    places = [match.span() for match in re.finditer(pattern, parsed.text)]
    if not places:
        return OffsetCorrection(**said, verdict=OffsetVerdict.MISSING)  # type: ignore[arg-type]
    first, *rest = sorted(places, key=lambda place: abs(place[0] - start - drift))
    if rest and abs(rest[0][0] - start - drift) == abs(first[0] - start - drift):
        return OffsetCorrection(**said, verdict=OffsetVerdict.AMBIGUOUS, places=len(places))  # type: ignore[arg-type]
    return OffsetCorrection(
        **said,  # type: ignore[arg-type]
        verdict=OffsetVerdict.MOVED,
        new_start=first[0],
        new_end=first[1],
        places=len(places),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingSpace:
    """A place where an entity is glued to what stands beside it.

    Args:
        note_id: Of its note.
        label: Category of the entity.
        at: Offset in the note as it was, before which a blank is put.
        side: ``before`` or ``after`` the entity.
    """

    note_id: str
    label: str
    at: int
    side: str

    def to_json(self) -> dict[str, Any]:
        """Return what a machine reads."""
        return asdict(self)


def add_spaces(annotated: Annotated) -> tuple[Annotated, list[MissingSpace]]:
    """Return the note with a blank wherever an entity is glued to a letter or digit, and all spans
    moved along.

    An entity is glued where a letter or digit of it touches one outside of it, as in "ItalyHome".
    Where two entities touch, one blank parts them. Blanks within an entity are left as they are.
    """
    note, spans = annotated.note, annotated.spans
    gaps = list(_gaps(annotated)) if spans is not None else []
    if spans is None or not gaps:
        return annotated, []
    places = sorted({gap.at for gap in gaps})
    text = (
        "".join(
            note.text[start:stop] + " "
            for start, stop in zip([0, *places[:-1]], places, strict=True)
        )
        + note.text[places[-1] :]
    )
    made = replace(note, text=text)
    moved = [
        replace(span, start=_after(places, span.start), end=_after(places, span.end - 1) + 1)
        for span in spans
    ]
    return Annotated(made, SpanSet.of(made, moved)), gaps


def _gaps(annotated: Annotated) -> Iterator[MissingSpace]:
    text = annotated.note.text
    seen: set[int] = set()
    spans: Sequence[Span] = () if annotated.spans is None else annotated.spans.spans
    for span in spans:
        for at, side in ((span.start, "before"), (span.end, "after")):
            inside = any(other.start < at < other.end for other in spans)
            if at in seen or inside or not 0 < at < len(text):
                continue
            if text[at - 1].isalnum() and text[at].isalnum():
                seen.add(at)
                yield MissingSpace(
                    note_id=annotated.note.note_id, label=span.label.value, at=at, side=side
                )


def _after(places: Sequence[int], offset: int) -> int:
    """Return where a character stands once a blank was put before each of the places."""
    return offset + sum(place <= offset for place in places)
