"""People as an outsider knows them, and as a release shows them.

Values of quasi-identifiers by kind.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from deid_assets.extending import InputError, Phi
from deid_assets.extending.audits import Case, Key, Policy, redact
from deid_assets.extending.measuring import union
from deid_assets.extending.replacing import (
    is_month,
    months_of,
    state_of,
    whole_years,
    years_of,
    zip_area,
)


class QuasiIdentifierKind(StrEnum):
    """Kind of quasi-identifier."""

    AGE = "age"
    SEX = "sex"
    PLACE = "place"
    PROFESSION = "profession"
    FAMILY = "family"
    DATE = "date"
    ITINERARY = "itinerary"
    FACT = "rare fact"


KINDS: Mapping[Phi, QuasiIdentifierKind] = {
    Phi.AGE: QuasiIdentifierKind.AGE,
    Phi.SEX: QuasiIdentifierKind.SEX,
    Phi.PROFESSION: QuasiIdentifierKind.PROFESSION,
    Phi.RELATIVE: QuasiIdentifierKind.FAMILY,
    Phi.DATE: QuasiIdentifierKind.DATE,
    Phi.HOSPITAL: QuasiIdentifierKind.ITINERARY,
    Phi.ORGANIZATION: QuasiIdentifierKind.ITINERARY,
    **dict.fromkeys(
        (Phi.CITY, Phi.REGION, Phi.ZIP, Phi.LOCATION, Phi.COUNTRY, Phi.STREET),
        QuasiIdentifierKind.PLACE,
    ),
}
RARE_SHARE = 0.1
"""A word of the story that at most so many patients share is a rare fact."""
_WORD = re.compile(r"[^\W\d_]{5,}")
_RANGE = re.compile(r"(\d{1,3})\s*(?:-|–|to)\s*(\d{1,3})")  # noqa: RUF001 - releases write it so
_NUMBER = re.compile(r"\d{1,3}")
_OLDEST_EXACT = 89
"""Age up to which policies tell one from the other."""
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_AREA = re.compile(r"(\d{3})(?:[x*]{2})?")

Values = Mapping[QuasiIdentifierKind, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Person:
    """A patient, or a record of a release.

    Args:
        name: Opaque id.
        values: Quasi-identifiers by kind, in lower case; of a range of ages, every age in it.
        written: The same of a record as its text has them, ranges as ranges.
    """

    name: str
    values: Values = field(repr=False)
    written: Values = field(default_factory=dict, repr=False)

    def holds(self, kind: QuasiIdentifierKind, value: str) -> bool:
        """Whether a value is there, whole or as something coarser that holds it."""
        return not self.values.get(kind, frozenset()).isdisjoint(forms(kind, value))


def forms(kind: QuasiIdentifierKind, value: str) -> tuple[str, ...]:
    """Return the texts that would give a value away: itself, and what is coarser.

    Of a date its month, as 2019-05, and its year; of an age its years; of a US code its three
    digits, as 021xx, and of a place its state. All are read as the policies read them, also ages in
    words and years of two digits.
    """
    return tuple(dict.fromkeys((value, *_coarser(kind, value))))


def _coarser(kind: QuasiIdentifierKind, value: str) -> Iterator[str]:
    if kind is QuasiIdentifierKind.DATE:
        yield from sorted(months_of(value))
        yield from sorted({*_YEAR.findall(value)[:1], *years_of(value)})
    elif kind is QuasiIdentifierKind.AGE:
        ages = whole_years(value)
        yield from map(str, sorted(ages))
        numbers = _NUMBER.findall(value)
        if len(numbers) == 1 and (not ages or max(ages) > _OLDEST_EXACT):
            yield numbers[0]
    elif kind is QuasiIdentifierKind.PLACE:
        area = zip_area(value)
        state = state_of(value.upper())  # codes of states are read in capitals
        yield from (coarser.casefold() for coarser in (area, state) if coarser)


def covers(kind: QuasiIdentifierKind, written: str, value: str) -> bool:
    """Return whether a written text stands for a value.

    The value itself, or something coarser that holds it.
    """
    return not {written, *_holding(kind, written)}.isdisjoint(forms(kind, value))


def _holding(kind: QuasiIdentifierKind, written: str) -> frozenset[str]:
    """Return what a coarser text is known by.

    Ages of a range, the month of a date without a day, a code's three digits.
    """
    if kind is QuasiIdentifierKind.AGE:
        return frozenset(_ages(written))
    if kind is QuasiIdentifierKind.DATE and is_month(written):
        return months_of(written)
    if kind is QuasiIdentifierKind.PLACE and (area := _AREA.fullmatch(written)):
        return frozenset({f"{area[1]}xx"})
    return frozenset()


def find_left(person: Person, record: Person) -> dict[QuasiIdentifierKind, list[str]]:
    """Return what a record's text says of a person, by kind.

    Each value as it is written there, the exact text if it is.

    A value that was made coarser is left as the coarser text: how many people share it is to be
    counted of that.
    """
    left: dict[QuasiIdentifierKind, list[str]] = {}
    for kind, values in person.values.items():
        written = record.written.get(kind, frozenset())
        found = set(values & written)
        for value in values - written:
            found |= {text for text in written if covers(kind, text, value)}
        if found:
            left[kind] = sorted(found)
    return left


def owner_of(case: Case) -> str:
    """Return whose note it is; a note without a patient id is a person of its own."""
    return case.note.patient_id or case.note.note_id


def people_of(cases: Iterable[Case]) -> dict[str, Person]:
    """Return the patients as their original notes describe them.

    Args:
        cases: Notes; the gold says what is a quasi-identifier. Words outside it that few patients
            share are rare facts.
    """
    found: dict[str, dict[QuasiIdentifierKind, set[str]]] = defaultdict(lambda: defaultdict(set))
    for case in cases:
        values = found[owner_of(case)]
        for span in case.gold:
            if span.label in KINDS:
                values[KINDS[span.label]].add(_plain(case.note.text[span.start : span.end]))
        values[QuasiIdentifierKind.FACT] |= _words(
            case.note.text, ((span.start, span.end) for span in case.gold)
        )
    bearers = Counter(
        word for values in found.values() for word in values[QuasiIdentifierKind.FACT]
    )
    most = max(1, int(RARE_SHARE * len(found)))
    for values in found.values():
        values[QuasiIdentifierKind.FACT] = {
            word for word in values[QuasiIdentifierKind.FACT] if bearers[word] <= most
        }
    return {name: Person(name, _freeze(values)) for name, values in found.items()}


def records_of(cases: Iterable[Case], policy: Policy, *, key: Key) -> dict[str, Person]:
    """Return the records of a release as one reads them who knows quasi-identifiers when seeing
    them.

    What was written in the place of one is read as if it were real, since nobody can tell; so is
    what was left.

    Raises:
        PolicyError: The policy cannot be carried out.
    """
    written: dict[str, dict[QuasiIdentifierKind, set[str]]] = defaultdict(lambda: defaultdict(set))
    for case in cases:
        values = written[owner_of(case)]
        redacted = redact(case.note, case.found, policy, key=key)
        for edit in redacted.edits:
            if edit.label in KINDS:
                values[KINDS[edit.label]].add(_plain(redacted.text[edit.new_start : edit.new_end]))
        covered = union((edit.start, edit.end) for edit in redacted.edits)
        for span in case.gold:
            if span.label in KINDS and not any(
                start < span.end and span.start < end for start, end in covered
            ):
                values[KINDS[span.label]].add(_plain(case.note.text[span.start : span.end]))
        values[QuasiIdentifierKind.FACT] |= _words(
            redacted.text, ((edit.new_start, edit.new_end) for edit in redacted.edits)
        )
    return {
        name: Person(name, _freeze(_add_coarser(values)), _freeze(values))
        for name, values in written.items()
    }


def read_population(path: Path) -> list[Person]:
    """Return people of a file, an object per line.

    Categories to a text or a list of texts, as in ``{"AGE": "70"}``.

    Raises:
        InputError: A line is something else, or there is none.
    """
    people = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            fields = {Phi(label): value for label, value in json.loads(line).items()}
            values: dict[QuasiIdentifierKind, set[str]] = defaultdict(set)
            for label, value in fields.items():
                if label in KINDS:
                    values[KINDS[label]] |= {
                        _plain(text) for text in ([value] if isinstance(value, str) else value)
                    }
        except (AttributeError, TypeError, ValueError):
            raise InputError(
                f"population, line {number}: not an object of categories and texts; fix the line"
            ) from None
        people.append(Person(f"population {number}", _freeze(values)))
    if not people:
        raise InputError("the population is empty; give one person per line")
    return people


def split(cases: Sequence[Case], *, key: Key, least: int) -> tuple[list[Case], list[Case]]:
    """Return the notes of the patients that are released, and those of as many that are not.

    Raises:
        InputError: One half has fewer than ``least`` patients.
    """
    halves: tuple[list[Case], list[Case]] = ([], [])
    for case in cases:
        halves[key.seed("released", owner_of(case)) % 2].append(case)
    fewest = min(len({owner_of(case) for case in half}) for half in halves)
    if fewest < least:
        raise InputError(
            f"{fewest} patients in one half, {least} are needed for an interval; give notes of more"
            " patients"
        )
    return halves


def _add_coarser(
    written: Mapping[QuasiIdentifierKind, set[str]],
) -> dict[QuasiIdentifierKind, set[str]]:
    """Return values with what their coarser texts are known by, such as every age of a range."""
    return {
        kind: texts.union(*(_holding(kind, text) for text in texts))
        for kind, texts in written.items()
    }


def _ages(text: str) -> Iterator[str]:
    """Yield the ages of a range, such as 40-49 and 90+."""
    if found := _RANGE.search(text):
        yield from map(str, range(int(found[1]), int(found[2]) + 1))
    elif ("+" in text or ">" in text) and (number := re.search(r"\d+", text)):
        yield from map(str, range(int(number[0]), 121))


def _words(text: str, holes: Iterable[tuple[int, int]]) -> set[str]:
    covered = union(holes)
    starts = [0, *(end for _, end in covered)]
    ends = [*(start for start, _ in covered), len(text)]
    pieces = (text[start:end] for start, end in zip(starts, ends, strict=True))
    return {word.casefold() for piece in pieces for word in _WORD.findall(piece)}


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _freeze(values: Mapping[QuasiIdentifierKind, set[str]]) -> Values:
    return {kind: frozenset(found) for kind, found in values.items() if found}
