r"""Texts and patterns in Windows-1252, where each character is one byte.

In UTF-8 a class of letters beyond ASCII is a small automaton of its own, and byte offsets must be
turned into code points. Where a text fits Windows-1252, as nearly all do in the languages of the
rules, neither is needed. What is found is the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

ENCODING = "cp1252"
_CODE = r"\\x\{[0-9A-Fa-f]+\}|\\x[0-9A-Fa-f]{2}"
_CHARACTER = rf"{_CODE}|\\[^dswDSWpP]|[^\\]"
CLASS = rf"\[\^?\]?(?:{_CODE}|\\.|\[:\^?\w+:\]|[^\]\\])*\]"
BEYOND_ASCII = rf"{_CODE}|[^\x00-\x7f]"
"""What stands for a character that may be beyond ASCII, in RE2's syntax.

``CLASS`` is what may stand for a class of characters.
"""
_MEMBER = re.compile(
    rf"(?P<kind>\[:\^?\w+:\]|\\[dswDSWpP])|(?P<first>{_CHARACTER})(?:-(?P<last>{_CHARACTER}))?",
    re.DOTALL,
)
_TOKEN = re.compile(
    rf"(?P<character>{BEYOND_ASCII})|\\.|(?P<class>{CLASS})|(?P<open>\((?:\?(?P<flags>[imsU-]+)(?P<end>[:)]))?)|(?P<close>\))",
    re.DOTALL,
)
_LAST_FOLDED = 0x2130
"""One past the last code point that differs by case alone from one of Windows-1252."""


def encode_text(text: str) -> tuple[bytes, bool]:
    """A text in Windows-1252, or where it does not fit in UTF-8; and whether it fits."""
    if text.isascii():
        return text.encode(), True
    try:
        return text.encode(ENCODING), True
    except UnicodeEncodeError:
        return text.encode(), False


def members_of(declared: str) -> Iterator[tuple[str, int, int]]:
    """Yield the members of a class: how each is written, and its first and last code point.

    (0, 0) for a named kind.
    """
    for member in _MEMBER.finditer(
        declared, 2 if declared.startswith("[^") else 1, len(declared) - 1
    ):
        first = 0 if member["kind"] else code_of(member["first"])
        yield member[0], first, code_of(member["last"]) if member["last"] else first


def code_of(character: str) -> int:
    """The code point of a character, as it is, escaped, or by its number."""
    return int(character[2:].strip("{}"), 16) if character.startswith(r"\x") else ord(character[-1])


def recode(regex: str) -> str:
    """Return the expression that matches in Windows-1252 what ``regex`` does in UTF-8.

    Args:
        regex: RE2 syntax.

    Returns:
        RE2 syntax in ASCII, to be compiled for Latin-1: it only takes bytes for characters, and
        their case is put in here.
    """
    folds = [False]

    def recode(token: re.Match[str]) -> str:
        if token["character"]:
            code = code_of(token[0])
            return token[0] if code < 0x80 else class_of(_bytes(code, code, folds=folds[-1]))
        if token["class"]:
            return _class(token[0], folds=folds[-1])
        if token["open"]:
            on, _, off = (token["flags"] or "").partition("-")
            folded = ("i" in on or folds[-1]) and "i" not in off
            if token["end"] == ")":
                folds[-1] = folded
            else:
                folds.append(folded)
        elif token["close"] and len(folds) > 1:
            folds.pop()
        return token[0]

    return _TOKEN.sub(recode, regex)


@lru_cache(4096)
def _class(declared: str, *, folds: bool) -> str:
    kept = "".join(
        written if last < 0x80 else _bytes(first, last, folds=folds)
        for written, first, last in members_of(declared)
    )
    return class_of(kept, negated=declared.startswith("[^"))


def class_of(members: str, *, negated: bool = False) -> str:
    """A class of bytes by its members, of which there may be none."""
    if not members:
        members, negated = r"\x00-\xff", not negated
    return f"[{'^' if negated else ''}{members}]"


@lru_cache(4096)
def _bytes(first: int, last: int, *, folds: bool) -> str:
    """Members of a class.

    The bytes of the characters in a range, and where case does not count of those like them.
    """
    return "".join(
        rf"\x{byte:02x}"
        for byte, code, alike in _page()
        if first <= code <= last or (folds and any(first <= other <= last for other in alike))
    )


@cache
def _page() -> tuple[tuple[int, int, frozenset[int]], ...]:
    """Each byte with its code point, and with those that differ from it by case alone."""
    alike: dict[str, list[int]] = {}
    for code in range(_LAST_FOLDED):
        alike.setdefault(chr(code).casefold(), []).append(code)
    known = ((byte, bytes([byte]).decode(ENCODING, "ignore")) for byte in range(0x100))
    return tuple(
        (byte, ord(sign), frozenset(alike[sign.casefold()])) for byte, sign in known if sign
    )
