"""A compiled pattern whose timeout is an error, and that reads only the words that can match."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import regex  # type: ignore[import-untyped]

from deid_assets.extending import DetectorError

_BLANK = re.compile(r"\s")


class StrictRegex:
    """Stands where Presidio keeps ``Pattern.compiled_regex``.

    Presidio catches ``TimeoutError`` and continues without the pattern, so a slow note would read
    as a clean one.

    Args:
        name: Shown in the error.
        pattern: The regular expression.
        flags: Of the ``regex`` package.
        timeout_s: Limit per search of a note, or of a word where ``needed`` is given.
        needed: A regular expression found in every word that can match; other words are not read.
            Only for patterns that match no blank.
    """

    def __init__(
        self, name: str, pattern: str, flags: int, *, timeout_s: float, needed: str | None = None
    ) -> None:
        self._name = name
        self._regex = regex.compile(pattern, flags=flags)
        self._timeout_s = timeout_s
        self._needed = None if needed is None else re.compile(needed)

    def finditer(self, text: str, **_ignored: Any) -> Iterator[Any]:
        """Yield the matches; Presidio's own ``timeout`` is ignored for ``timeout_s``.

        Raises:
            DetectorError: The limit is reached.
        """
        try:
            for start, end in self._windows(text):
                yield from self._regex.finditer(text, start, end, timeout=self._timeout_s)
        except TimeoutError:
            raise DetectorError(
                f"presidio: pattern {self._name!r} took longer than {self._timeout_s:g} s; "
                "raise timeout_s, or cut the note"
            ) from None

    def _windows(self, text: str) -> Iterator[tuple[int, int]]:
        if self._needed is None:
            yield 0, len(text)
            return
        found = self._needed.search(text)
        while found is not None:
            start = found.start()
            while start > 0 and not text[start - 1].isspace():
                start -= 1
            blank = _BLANK.search(text, found.end())
            end = len(text) if blank is None else blank.start()
            yield start, end
            found = self._needed.search(text, end)
