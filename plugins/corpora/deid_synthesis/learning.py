"""How a site's notes look, learnt as shares: of a line its class is counted, never its words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from deid_assets.extending import InputError, Span
from deid_assets.extending.commands import Annotated
from deid_synthesis.profile import (
    BULLETS,
    END,
    FIELD_MARKS,
    LEAST,
    LETTERS,
    OTHER,
    START,
    WIDTHS,
    Shares,
    SiteProfile,
)
from deid_synthesis.sections import SectionBank, section_bank

STEPS = 20
"""Lengths of notes that a profile has, at most."""
MOST_TITLE = 6
"""Words of a heading."""
_DECORATED = (
    ("## {}\n", re.compile(r"#{1,3} +([^#\n]+?) *#*$")),
    ("** {} **\n", re.compile(r"\*{2,} ?([^*\n]+?) ?\*{2,}$")),
    ("[{}]\n", re.compile(r"\[ ?([^\]\n]+?) ?\]$")),
    ("{}:\n", re.compile(r"([^:\n]+?) ?:$")),
)
_INLINE = (
    ("{}: ", re.compile(r"([^:\n]{1,60}?): ")),
    ("{} -- ", re.compile(r"([^:\n]{1,60}?) -{1,2} ")),
)
_ITEMS = (
    ("  - ", re.compile(r"\s{2,}[-*\u2022] ")),
    ("- ", re.compile(r"- ")),
    ("* ", re.compile(r"\* ")),
    ("\u2022 ", re.compile(r"\u2022 ?")),
    ("#{} ", re.compile(r"#\d{1,2} ")),
    ("{}. ", re.compile(r"\d{1,2}\. ")),
    ("{}) ", re.compile(r"\d{1,2}\) ")),
)
_NAME_OF_FIELD = re.compile(r"([^\W\d_][^:|;\n]{0,30}?)(\.{2,} ?: ?|\s*:\s*| - )$")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(slots=True)
class LayoutTally:
    """Counts of things of a closed list, and how many patients show each.

    Args:
        counts: By thing.
        owners: By thing, patients who show it, as many as are needed.
    """

    counts: Counter[str] = field(default_factory=Counter)
    owners: dict[str, set[str]] = field(default_factory=dict, repr=False)

    def add(self, thing: str, owner: str, count: int = 1) -> None:
        """Count a thing that a patient shows."""
        self.counts[thing] += count
        shown = self.owners.setdefault(thing, set())
        if len(shown) < LEAST:
            shown.add(owner)

    def keep(self) -> dict[str, int]:
        """Return the counts of what enough patients show."""
        return {
            thing: count
            for thing, count in sorted(self.counts.items())
            if len(self.owners[thing]) >= LEAST
        }

    def shares(self) -> Shares:
        """Return the shares of what enough patients show, in hundredths."""
        kept = self.keep()
        total = sum(kept.values())
        found = {thing: round(count / total, 2) for thing, count in kept.items()}
        return {thing: share for thing, share in found.items() if share > 0}

    def share(self, thing: str) -> float:
        """Return the share of one thing; 0 where too few patients show it."""
        return self.shares().get(thing, 0.0)

    def means(self, notes: int) -> Shares:
        """Return means of what enough patients show, in tenths."""
        found = {thing: round(count / max(notes, 1), 1) for thing, count in self.keep().items()}
        return {thing: mean for thing, mean in found.items() if mean > 0}


_TALLIES = (
    "first",
    "blank_lines",
    "headings",
    "heading_capitals",
    "fields",
    "field_marks",
    "field_gaps",
    "field_capitals",
    "bullets",
    "widths",
    "letters",
    "plain_letters",
    "crlf",
    "identifiers",
    "has_identifiers",
)


class SiteLearner:
    """Reads notes of one language, one at a time, and counts how they look.

    Args:
        lang: ISO 639-1, of a grammar.
    """

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.notes = 0
        self._bank: SectionBank = section_bank(lang)
        self._tallies = {name: LayoutTally() for name in _TALLIES}
        self._following: dict[str, LayoutTally] = {}
        self._words: list[tuple[int, str]] = []
        self._patients: set[str] = set()

    def read(self, found: Annotated) -> None:
        """Count how an annotated note looks.

        Raises:
            InputError: It is not annotated, so that a name could be taken for a heading.
        """
        note = found.note
        if found.spans is None:
            raise InputError(
                f"note {note.note_id!r} is not annotated; give annotated notes, or the spans that"
                " deid detect wrote, with --spans"
            )
        owner = note.note_id if note.patient_id is None else note.patient_id
        self.notes += 1
        if len(self._patients) < LEAST:
            self._patients.add(owner)
        spans = list(found.spans)
        self._words.append((len(note.text.split()), owner))
        self._whole(note.text, spans, owner)
        self._lines(note.text, spans, owner)

    def profile(self) -> SiteProfile:
        """Return what enough patients show.

        Raises:
            InputError: There are fewer than ``LEAST`` of them.
        """
        if len(self._patients) < LEAST:
            raise InputError(
                f"{len(self._patients)} patients with notes in {self.lang!r}; a profile takes"
                f" {LEAST}, so that nobody's notes can be told from it"
            )
        tallies = self._tallies
        with_any = tallies["has_identifiers"].counts["yes"]
        return SiteProfile(
            lang=self.lang,
            notes=self.notes // 10 * 10,
            least=LEAST,
            words=self._lengths(),
            identifiers=tallies["identifiers"].means(with_any),
            without_identifiers=tallies["has_identifiers"].share("no"),
            first=tallies["first"].shares(),
            following={
                kind: shares
                for kind, tally in sorted(self._following.items())
                if (shares := tally.shares())
            },
            blank_lines=tallies["blank_lines"].shares(),
            headings=tallies["headings"].shares(),
            heading_capitals=tallies["heading_capitals"].share("yes"),
            fields=tallies["fields"].means(with_any),
            field_marks=tallies["field_marks"].shares(),
            field_gaps=tallies["field_gaps"].shares(),
            field_capitals=tallies["field_capitals"].share("yes"),
            bullets=tallies["bullets"].shares(),
            widths=tallies["widths"].shares(),
            letters=tallies["letters"].shares(),
            plain_letters=tallies["plain_letters"].share("yes"),
            crlf=tallies["crlf"].share("yes"),
        )

    def _lengths(self) -> list[int]:
        """Return lengths at equal steps, each the mean of notes of enough patients, to two digits;
        steps with notes of fewer have one mean together.
        """
        ordered = sorted(self._words)
        steps = max(1, min(STEPS, len(ordered) // LEAST))
        parts: list[tuple[int, list[int]]] = []
        part: list[int] = []
        owners: set[str] = set()
        for number, (words, owner) in enumerate(ordered, start=1):
            part.append(words)
            owners.add(owner)
            ended = number * steps // len(ordered)
            if len(owners) >= LEAST and ended > (parts[-1][0] if parts else 0):
                parts.append((ended, part))
                part, owners = [], set()
        parts[-1] = steps, [*parts[-1][1], *part]
        found: list[int] = []
        for ended, own in parts:
            found += [int(float(f"{sum(own) / len(own):.2g}"))] * (ended - len(found))
        return found

    def _whole(self, text: str, spans: Sequence[Span], owner: str) -> None:
        tallies = self._tallies
        tallies["has_identifiers"].add("yes" if spans else "no", owner)
        for span in spans:
            tallies["identifiers"].add(str(span.label), owner)
        tallies["crlf"].add("yes" if "\r\n" in text else "no", owner)
        letters = _LETTER.findall(text)
        upper = sum(letter.isupper() for letter in letters)
        kind = LETTERS[0]
        if letters and upper > 0.9 * len(letters):
            kind = LETTERS[2]
        elif letters and upper < 0.005 * len(letters):
            kind = LETTERS[1]
        tallies["letters"].add(kind, owner)
        if len(letters) >= 300:
            tallies["plain_letters"].add("yes" if text.isascii() else "no", owner)
        tallies["widths"].add(_width(text), owner)

    def _lines(self, text: str, spans: Sequence[Span], owner: str) -> None:
        last = START
        blank = 0
        at = 0
        field_before = False
        for line in text.splitlines(keepends=True):
            start, end = at, at + len(line.rstrip())
            at += len(line)
            if start == end or not line.strip():
                blank += 1
                continue
            own = [span for span in spans if start <= span.start < end]
            fields = self._fields(line.rstrip(), start, own, owner)
            if fields and field_before:
                self._tallies["field_gaps"].add("\n\n" if blank else "\n", owner)
            field_before = fields > 0
            heading = None if fields else _heading_of(line.rstrip(), start, own, self._bank)
            if heading is not None:
                form, kind, title = heading
                self._heading(form, title, owner, blank if last != START else None)
                self._follow(last, kind, owner)
                last = kind
            elif not fields and (bullet := _bullet_of(line)):
                self._tallies["bullets"].add(bullet, owner)
            blank = 0
        self._follow(last, END, owner)

    def _follow(self, last: str, kind: str, owner: str) -> None:
        if last == START:
            self._tallies["first"].add(kind, owner)
        else:
            self._following.setdefault(last, LayoutTally()).add(kind, owner)

    def _heading(self, form: str, title: str, owner: str, blank: int | None) -> None:
        self._tallies["headings"].add(form, owner)
        self._tallies["heading_capitals"].add("yes" if title.isupper() else "no", owner)
        if blank is not None:
            self._tallies["blank_lines"].add(str(min(blank, 2)), owner)

    def _fields(self, line: str, start: int, spans: Sequence[Span], owner: str) -> int:
        """Count the header fields of a line: a short name, a mark, and an identifier."""
        count = 0
        after = 0
        for span in spans:
            before = line[after : span.start - start]
            match = _NAME_OF_FIELD.search(before)
            is_whole = match is not None and (
                count > 0 or not before[: match.start()].strip(" \t|;-*")
            )
            if match is None or not is_whole or len(match[1].split()) > 4:
                after = span.end - start
                continue
            tallies = self._tallies
            tallies["fields"].add(str(span.label), owner)
            tallies["field_marks"].add(_mark_of(match[2]), owner)
            tallies["field_capitals"].add("yes" if match[1].isupper() else "no", owner)
            if count:
                tallies["field_gaps"].add(_gap_of(before[: match.start()]), owner)
            count += 1
            after = span.end - start
        return count


def _mark_of(found: str) -> str:
    """Return the mark of the closed list that is nearest to one."""
    if "\t" in found:
        return ":\t"
    if ".." in found:
        return ".....: "
    return found if found in FIELD_MARKS else ": "


def _gap_of(found: str) -> str:
    if "|" in found:
        return " | "
    return "; " if ";" in found else "    "


def _bullet_of(line: str) -> str:
    found = next((form for form, pattern in _ITEMS if pattern.match(line)), "")
    return found if found in BULLETS else ""


def _width(text: str) -> str:
    """Return the longest line where lines are wrapped, else ``0``."""
    lengths = [len(line) for line in text.splitlines()]
    longest = max(lengths, default=0)
    full = sum(length > longest * 0.8 for length in lengths)
    if not 50 <= longest <= 105 or full < 4 or full < len(lengths) * 0.3:
        return WIDTHS[0]
    return min(WIDTHS[1:], key=lambda width: abs(int(width) - longest))


def _heading_of(
    line: str, start: int, spans: Sequence[Span], bank: SectionBank
) -> tuple[str, str, str] | None:
    """Return form, kind and title of a heading, or nothing where the line has none."""
    stripped = line.strip()
    shift = start + len(line) - len(line.lstrip())
    for form, pattern in _DECORATED:
        match = pattern.match(stripped)
        if match and _is_free(match, shift, spans) and len(match[1].split()) <= MOST_TITLE:
            return form, bank.kind_of(match[1]) or OTHER, match[1]
    for form, pattern in _INLINE:
        match = pattern.match(stripped)
        if match and _is_free(match, shift, spans) and (kind := bank.kind_of(match[1])):
            return form, kind, match[1]
    if spans or len(stripped.split()) > MOST_TITLE or not _LETTER.search(stripped):
        return None
    kind = bank.kind_of(stripped)
    is_shouted = stripped.isupper() and not any(letter.isdigit() for letter in stripped)
    return ("{}\n", kind or OTHER, stripped) if kind or is_shouted else None


def _is_free(match: re.Match[str], shift: int, spans: Sequence[Span]) -> bool:
    start, end = match.start(1) + shift, match.end(1) + shift
    return not any(span.start < end and start < span.end for span in spans)


def learn(notes: Iterable[Annotated], lang: str) -> SiteProfile:
    """Return the look of the notes of one language; others are passed over.

    Args:
        notes: Annotated, each with its language; read once.
        lang: ISO 639-1.

    Raises:
        InputError: A note is not annotated, or there are too few patients.
        ConfigError: The language has no grammar.
    """
    learner = SiteLearner(lang)
    for found in notes:
        if found.note.lang == lang:
            learner.read(found)
    return learner.profile()
