"""Numbers, dates and addresses of a patient, in every way a note may write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rapidfuzz.distance import OSA

from deid_known_identity.tokens import TextToken, TextTokens, fold, keys_of, street_key
from deid_known_identity.words import FILLERS, months

MIN_NUMBER = 4
"""Letters and digits from which a number is looked for."""
LONG = 8
"""Letters and digits from which a number may have one typo."""
MIN_PHONE = 6
_NUMBER_GAP = re.compile(r"[ \t\u00a0./()\-\u2013]{0,3}(?:\r?\n)?[ \t]{0,2}\Z")
_GAP = re.compile(r"[^\w]{0,4}\Z")
_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
_COUNTRY = re.compile(r"(?:\+|00)\d{1,3}[ \t./()\-]{0,3}(?:\(?0\)?[ \t./\-]{0,2})?\Z")


def sequences(
    tokens: TextTokens, keys: Sequence[str], *, by_key: Mapping[str, Sequence[int]]
) -> Iterator[tuple[int, int]]:
    """Yield the places [start, end) where the keys follow one another.

    Args:
        tokens: Of the note.
        keys: Folded tokens of the value.
        by_key: Indexes of the note's tokens by key, folded in the same way.
    """
    following = [set(by_key.get(key, ())) for key in keys[1:]]
    for first in by_key.get(keys[0], ()):
        if all(first + n in places for n, places in enumerate(following, start=1)):
            last = first + len(keys) - 1
            if all(_GAP.match(tokens.gap(index)) for index in range(first, last)):
                yield tokens[first].start, tokens[last].end


@dataclass(frozen=True, slots=True)
class NumberValue:
    """A number of letters and digits, whatever stands between them.

    Args:
        forms: Its letters and digits, folded; there may be several, with and without leading zeros
            or a prefix.
        typo: Whether one typo is forgiven.
        prefix: Whether a country code before it belongs to it.
    """

    forms: tuple[str, ...] = field(repr=False)
    typo: bool = True
    prefix: bool = False

    @classmethod
    def of(cls, value: str) -> NumberValue | None:
        """Return a record or national number, with and without leading zeros, or nothing where it
        is too short.
        """
        form = "".join(keys_of(value))
        bare = _ZEROS.sub("", form, count=1)
        # Four digits alone would be years and doses.
        forms = (form, bare) if bare != form and len(bare) > MIN_NUMBER else (form,)
        return cls(forms) if len(form) >= MIN_NUMBER and any(map(str.isdecimal, form)) else None

    @classmethod
    def phone(cls, value: str) -> NumberValue | None:
        """Return a telephone number, written with or without its country code and leading zero."""
        import phonenumbers  # noqa: PLC0415 - number plans, loaded when first needed

        digits = "".join(sign for sign in value if sign.isdecimal())
        national = digits.lstrip("0")
        if value.lstrip().startswith(("+", "00")):
            try:
                parsed = phonenumbers.parse("+" + digits.removeprefix("00"), None)
                national = str(parsed.national_number)
            except phonenumbers.NumberParseException:
                national = digits
        forms = dict.fromkeys((digits, "0" + national, national))
        return cls(tuple(forms), typo=False, prefix=True) if len(national) >= MIN_PHONE else None

    def find(self, tokens: TextTokens) -> Iterator[tuple[int, int]]:
        """Yield its places [start, end)."""
        for form in self.forms:
            for index in tokens.at(form[:length] for length in range(1, len(form) + 1)):
                if (last := self._end(tokens, index, form)) is not None:
                    yield self._start(tokens.text, tokens[index].start), tokens[last].end
        if self.typo and len(self.forms[0]) >= LONG:
            for index in tokens.at(key for key in tokens.places if self._is_near(key)):
                yield tokens[index].start, tokens[index].end

    def _is_near(self, key: str) -> bool:
        form = self.forms[0]
        return abs(len(key) - len(form)) <= 1 and OSA.distance(key, form, score_cutoff=1) <= 1

    @staticmethod
    def _end(tokens: TextTokens, index: int, form: str) -> int | None:
        """Index of the token with which the form ends, if it stands there."""
        joined = tokens[index].key
        while joined != form:
            if (
                index + 1 >= len(tokens)
                or not form.startswith(joined)
                or not _NUMBER_GAP.match(tokens.gap(index))
            ):
                return None
            index += 1
            joined += tokens[index].key
        return index

    def _start(self, text: str, start: int) -> int:
        before = _COUNTRY.search(text[max(0, start - 12) : start]) if self.prefix else None
        return start - len(before[0]) if before else start


@dataclass(frozen=True, slots=True)
class Day:
    """A calendar day, or a month of a year where the day is not known."""

    year: int = field(repr=False)
    month: int = field(repr=False)
    day: int | None = field(repr=False)

    @classmethod
    def of(cls, value: str) -> Day | None:
        """Read ``YYYY-MM-DD`` or ``YYYY-MM``; a year alone is nothing to look for."""
        parts = [int(part) for part in value.split("-")]
        if len(parts) < 2:
            return None
        return cls(parts[0], parts[1], parts[2] if len(parts) > 2 else None)

    def find(self, tokens: TextTokens) -> Iterator[tuple[int, int]]:
        """Yield its places [start, end), in any order, in digits or with the month's name."""
        wanted = 3 if self.day is not None else 2
        compact = self._compact()
        names = (name for name, number in months().items() if number == self.month)
        numbers = {self.year, self.year % 100, self.month, self.day or self.month}
        digits = (form for number in numbers for form in (f"{number}", f"{number:02d}"))
        for index in tokens.at((*compact, *names, *digits)):
            if tokens[index].key in compact:
                yield tokens[index].start, tokens[index].end
                continue
            parts = self._parts(tokens, index, wanted)
            if len(parts) == wanted and self._is(parts):
                yield tokens[index].start, parts[-1].end

    @staticmethod
    def _parts(tokens: TextTokens, index: int, wanted: int) -> list[TextToken]:
        """Return up to ``wanted`` tokens from an index on, without the words between the parts of a
        date.
        """
        parts: list[TextToken] = []
        while index < len(tokens) and len(parts) < wanted:
            token = tokens[index]
            if parts and not _GAP.match(tokens.gap(index - 1)):
                break
            if token.key.isdecimal() or token.key in months():
                parts.append(token)
            elif not parts or token.key not in FILLERS:
                break
            index += 1
        return parts

    def _is(self, parts: Sequence[TextToken]) -> bool:
        named = [months()[part.key] for part in parts if not part.key.isdecimal()]
        digits = [part.key for part in parts if part.key.isdecimal()]
        if len(named) > 1 or (named and named[0] != self.month):
            return False
        years = [key for key in digits if len(key) == 4]
        if len(years) > 1 or (years and int(years[0]) != self.year):
            return False
        if years and not self._is_year_in_place([part.key for part in parts], years[0]):
            return False
        short = [key for key in digits if len(key) <= 2]
        if len(short) + len(years) != len(digits):
            return False
        needed = sorted(
            ([] if named else [self.month])
            + ([] if self.day is None else [self.day])
            + ([] if years else [self.year % 100])
        )
        if not years and self.day is None:
            return False  # 03/60 alone may be anything
        return sorted(map(int, short)) == needed

    def _is_year_in_place(self, keys: Sequence[str], year: str) -> bool:
        """Whether the year comes last, or first and before the month."""
        if keys[-1] == year:
            return True
        month = months().get(keys[1]) or (int(keys[1]) if keys[1].isdecimal() else 0)
        return keys[0] == year and month == self.month

    def _compact(self) -> frozenset[str]:
        """The day in six or eight digits."""
        if self.day is None:
            return frozenset()
        day, month, year = f"{self.day:02d}", f"{self.month:02d}", f"{self.year:04d}"
        short = year[2:]
        return frozenset(
            (
                year + month + day,
                day + month + year,
                month + day + year,
                short + month + day,
                day + month + short,
            )
        )


@dataclass(frozen=True, slots=True)
class Address:
    """A street with its number."""

    keys: tuple[str, ...] = field(repr=False)
    street: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, value: str) -> Address | None:
        """Return an address, or nothing where it has no word."""
        keys = tuple(street_key(key) for key in keys_of(value))
        named = tuple(key for key in keys if not key.isdecimal() and len(key) > 1)
        return cls(keys, named) if any(len(key) > 3 for key in named) else None

    def find(self, tokens: TextTokens) -> Iterator[tuple[int, int]]:
        """Yield the places [start, end) of the whole, and of its street alone."""
        yield from sequences(tokens, self.keys, by_key=tokens.streets)
        if self.street != self.keys and (len(self.street) > 1 or len(self.street[0]) > 5):
            yield from sequences(tokens, self.street, by_key=tokens.streets)


@dataclass(frozen=True, slots=True)
class FixedValue:
    """A value that is always written the same, such as an e-mail address."""

    pattern: re.Pattern[str] = field(repr=False)

    @classmethod
    def of(cls, value: str) -> FixedValue:
        """Return the value, in letters of any case."""
        return cls(re.compile(rf"(?<!\w){re.escape(value)}(?!\w)", re.IGNORECASE))

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield its places [start, end)."""
        return (match.span() for match in self.pattern.finditer(text))


def phrase(value: str) -> tuple[str, ...]:
    """Folded tokens of a place's name or code."""
    return tuple(fold(key) for key in keys_of(value))
