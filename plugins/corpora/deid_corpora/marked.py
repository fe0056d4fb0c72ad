"""Notes with their marks in the text, as people write a corpus, and what may be wrong in them.

A file holds the notes of one language. Each begins with a line ``### ID LANG what it is``. A mark
is ``{{CITY:Lund}}``, or ``{{NAME/patient:…}}`` with the role of the person, or ``{{DATE:Tue the
4th|the 4th}}`` where only the part behind the bar is meant; the bar's part stands in the text once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid_assets import Phi
from deid_assets.extending import InputError

HEAD = "### "
ROLES = frozenset({"patient", "staff", "relative", "other"})
_MARK = re.compile(r"\{\{([A-Z_]+)(?:/([a-z]+))?:(.*?)\}\}", re.DOTALL)
_WORD = re.compile(r"\w[\w'\u2019-]{3,}")
_REPEATED = frozenset({Phi.NAME, Phi.CITY, Phi.HOSPITAL, Phi.ORGANIZATION})
"""Categories whose words are marked wherever they stand."""


@dataclass(frozen=True, slots=True)
class MarkedRange:
    """A marked range of a note.

    Args:
        start: First code point.
        end: Code point behind the last.
        label: Category.
        role: Of a person, or empty.
    """

    start: int
    end: int
    label: Phi
    role: str = ""


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A note of a corpus.

    Args:
        note_id: Such as ``sv-kb-07``: language, author, number.
        lang: ISO 639-1.
        kind: Genre, country and register, in a few words.
        text: Without marks.
        marks: In order.
    """

    note_id: str
    lang: str
    kind: str
    text: str = field(repr=False)
    marks: tuple[MarkedRange, ...]

    def as_json(self) -> dict[str, Any]:
        """Return a line of JSON Lines as ``deid`` reads it."""
        spans = []
        for mark in self.marks:
            span: dict[str, Any] = {"start": mark.start, "end": mark.end, "label": str(mark.label)}
            spans.append({**span, "native_label": mark.role} if mark.role else span)
        return {
            "id": self.note_id,
            "lang": self.lang,
            "text": self.text,
            "spans": spans,
            "meta": {"kind": self.kind},
        }


def read_marked(path: Path) -> Iterator[MarkedText]:
    """Yield the notes of a file.

    Raises:
        InputError: A mark is broken, a category or a role is none, or two notes have one id. The
            message says which note, and no text.
    """
    known: set[str] = set()
    for head, body in _parts(path.read_text(encoding="utf-8")):
        note_id, _, rest = head.partition(" ")
        lang, _, kind = rest.partition(" ")
        if note_id in known:
            raise InputError(f"{path.name}: note {note_id!r} is there twice; give each its own id")
        known.add(note_id)
        text, marks = _unmark(body, f"{path.name}: note {note_id!r}")
        yield MarkedText(note_id, lang, kind, text, marks)


def _parts(content: str) -> Iterator[tuple[str, str]]:
    head = ""
    lines: list[str] = []
    for line in [*content.splitlines(), HEAD]:
        if not line.startswith(HEAD):
            lines.append(line)
            continue
        if head:
            yield head, "\n".join(lines).strip("\n") + "\n"
        head = line[len(HEAD) :]
        lines = []


def _unmark(body: str, where: str) -> tuple[str, tuple[MarkedRange, ...]]:
    parts: list[str] = []
    marks: list[MarkedRange] = []
    length = 0
    last = 0
    for number, match in enumerate(_MARK.finditer(body), 1):
        before = body[last : match.start()]
        whole, start, end = _find_meant(match[3])
        parts += [before, whole]
        length += len(before)
        marks.append(
            MarkedRange(
                length + start,
                length + end,
                _label(match, where, number),
                _role(match, where, number),
            )
        )
        length += len(whole)
        last = match.end()
    parts.append(body[last:])
    text = "".join(parts)
    if "{{" in text or "}}" in text:
        raise InputError(f"{where}: marks are not balanced; write {{{{CATEGORY:text}}}}")
    return text, tuple(marks)


def _find_meant(content: str) -> tuple[str, int, int]:
    """Return the text of a mark and which part of it is meant, without blanks at its ends."""
    whole, bar, part = content.rpartition("|")
    if not bar or part not in whole:
        whole = content
        part = content
    start = whole.rindex(part)
    stripped = part.strip()
    start += part.index(stripped)
    return whole, start, start + len(stripped)


def _label(match: re.Match[str], where: str, number: int) -> Phi:
    try:
        return Phi(match[1])
    except ValueError:
        raise InputError(
            f"{where}, mark {number}: no category {match[1]}; choose one of deid labels phi"
        ) from None


def _role(match: re.Match[str], where: str, number: int) -> str:
    role = match[2] or ""
    if role and role not in ROLES:
        raise InputError(
            f"{where}, mark {number}: no role {role!r}; choose {', '.join(sorted(ROLES))}"
        )
    return role


def find_unmarked_repeats(note: MarkedText) -> list[int]:
    """Return where words of marked names, places and institutions stand unmarked.

    Some are ordinary words there and stay; the author decides.
    """
    covered = {place for mark in note.marks for place in range(mark.start, mark.end)}
    words = {
        word
        for mark in note.marks
        if mark.label in _REPEATED
        for word in _WORD.findall(note.text[mark.start : mark.end])
    }
    places: list[int] = []
    for word in words:
        found = re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", note.text)
        places += [one.start() for one in found if covered.isdisjoint(range(*one.span()))]
    return sorted(places)


def overlapping(note: MarkedText) -> list[int]:
    """Return where marks are empty or overlap."""
    found = []
    last = 0
    for mark in note.marks:
        if mark.start < last or mark.start >= mark.end:
            found.append(mark.start)
        last = max(last, mark.end)
    return found
