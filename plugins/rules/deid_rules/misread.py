"""Letters and digits that optical character recognition confuses.

They are put right within the words and numbers around them.

With the option ``ocr``:

====  =================================  ======================================
Lang  Text                               Why
====  =================================  ======================================
en    Call <PHONE>6l7-555-2368</PHONE>.  mostly digits: letters become digits
en    Dr. <NAME>5mith</NAME> left.       one digit: it becomes a letter
en    Vitamin B12, H2O, T4N1.            kept: nothing comes of exchanging them
en    Call 617-555-236K.                 kept: K is like no digit
====  =================================  ======================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from deid_rules.candidate import Candidate

_DIGITS = str.maketrans("OoQDIl|!SsBZz", "0000" + "1111" + "55822")
_LETTERS = str.maketrans("015", "OlS")
_TOKEN = re.compile(r"[^\W_]+(?:[|!./:-][^\W_]+)*")
MIN_DIGITS = 2


def mend(text: str) -> str:
    """Return the text with ``O6l2`` as ``0612`` and ``J0hn`` as ``JOhn``.

    Its length does not change.

    A run of letters and digits with more digits than letters becomes a number, one that has a
    single digit among letters becomes a word.
    """
    return _TOKEN.sub(lambda token: _correct(token[0]), text)


def _correct(token: str) -> str:
    if token.isalpha() or token.isdigit():
        return token
    digits, letters = sum(map(str.isdigit, token)), sum(map(str.isalpha, token))
    if digits >= MIN_DIGITS and letters and digits >= letters:
        number = token.translate(_DIGITS)
        return number if not any(map(str.isalpha, number)) else token
    return token.translate(_LETTERS) if digits == 1 and letters > MIN_DIGITS else token


def add_more(found: Sequence[Candidate], more: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates and those of ``more`` that overlap none of them, sorted."""
    taken = [(candidate.start, candidate.end) for candidate in found]
    added = [
        each
        for each in more
        if not any(start < each.end and each.start < end for start, end in taken)
    ]
    return sorted([*found, *added])
