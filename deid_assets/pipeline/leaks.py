"""Looking for values that leaked, as the spread and the survival check look for known ones."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from deid_assets.core.errors import InputError
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span
from deid_assets.pipeline.spreading import MIN_CHARS, Extent, Values

_SOFT_HYPHEN, _MINUS = "\u00ad", "\u2212"


class LeakPlace(NamedTuple):
    """A place where a value is readable.

    Args:
        start: First code point.
        end: One past the last.
        name: Name of the value.
    """

    start: int
    end: int
    name: str


class LeakedValues:
    """Values that are looked for whatever their case, accents, blanks and punctuation.

    Args:
        values: One or more.
        names: What each is called where it is found; nothing where not given.

    Raises:
        InputError: A value has too few letters and digits to be looked for; it is not shown.
    """

    def __init__(self, values: Sequence[str], names: Sequence[str] = ()) -> None:
        self._known = Values()
        for at, value in enumerate(values, start=1):
            before = len(self._known)
            plain = strip_accents(value)
            name = names[at - 1] if names else ""
            origin = Span(0, len(plain) or 1, Phi.NAME, native_label=name)
            self._known.add(plain, origin, None)
            if len(self._known) == before and plain not in map(strip_accents, values[: at - 1]):
                raise InputError(
                    f"value {at} has fewer than {MIN_CHARS} letters and digits, or is another one"
                    " written otherwise; give a longer one"
                )

    def is_in(self, text: str) -> bool:
        """Whether one of the values is readable in a text, whole."""
        found = self._known.occurrences(strip_accents(text), ())
        return any(occurrence.how is not Extent.PART for occurrence in found)

    def places(self, text: str, covered: Iterable[tuple[int, int]] = ()) -> Iterator[LeakPlace]:
        """Yield where one of the values is readable in a text, whole, in offsets of the text.

        Args:
            text: The text.
            covered: Ranges that are not looked at, sorted and disjoint.
        """
        plain, origins = _simplify(text)
        hidden = (
            (bisect_left(origins, start), bisect_left(origins, end)) for start, end in covered
        )
        for found in self._known.occurrences(plain, hidden):
            if found.how is Extent.PART:
                continue
            end = origins[found.end - 1] + 1
            while end < len(text) and unicodedata.combining(text[end]):
                end += 1
            yield LeakPlace(origins[found.start], end, found.origin.native_label)


def strip_accents(text: str) -> str:
    """Return a text with compatible characters in one form, and all dashes as hyphens, without
    combining marks and soft hyphens.
    """
    return _simplify(text)[0]


def _is_dash(char: str) -> bool:
    """Whether a character groups the digits of a number as a hyphen does."""
    return char == _MINUS or unicodedata.category(char) == "Pd"


def _simplify(text: str) -> tuple[str, Sequence[int]]:
    """Return a text as ``strip_accents``, and for each of its characters where it stands."""
    if text.isascii():
        return text, range(len(text))
    chars: list[str] = []
    origins: list[int] = []
    for at, char in enumerate(text):
        if char.isascii():
            chars.append(char)
            origins.append(at)
            continue
        for part in unicodedata.normalize("NFKD", char):
            if part != _SOFT_HYPHEN and not unicodedata.combining(part):
                chars.append("-" if _is_dash(part) else part)
                origins.append(at)
    return "".join(chars), origins
