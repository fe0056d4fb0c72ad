"""Looking for values that leaked, as the spread and the survival check look for known ones."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from deid_assets.core.errors import InputError
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span
from deid_assets.pipeline.spreading import MIN_CHARS, Extent, Values


class LeakedValues:
    """Values that are looked for whatever their case, accents, blanks and punctuation.

    Args:
        values: One or more.

    Raises:
        InputError: A value has too few letters and digits to be looked for; it is not shown.
    """

    def __init__(self, values: Sequence[str]) -> None:
        self._known = Values()
        for at, value in enumerate(values, start=1):
            before = len(self._known)
            plain = without_accents(value)
            self._known.add(plain, Span(0, len(plain) or 1, Phi.NAME), None)
            if len(self._known) == before and plain not in map(without_accents, values[: at - 1]):
                raise InputError(
                    f"value {at} has fewer than {MIN_CHARS} letters and digits, or is another one"
                    " written otherwise; give a longer one"
                )

    def is_in(self, text: str) -> bool:
        """Whether one of the values is readable in a text, whole."""
        found = self._known.occurrences(without_accents(text), ())
        return any(occurrence.how is not Extent.PART for occurrence in found)


def without_accents(text: str) -> str:
    """Return a text with compatible characters in one form and without combining marks."""
    return "".join(
        char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char)
    )
