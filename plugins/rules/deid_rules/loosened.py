"""A looser form of a pattern, which occurs wherever the pattern does.

What sets look for, to tell where patterns are tried.

An automaton that counts repetitions, or that tells the letters beyond ASCII apart, has many more
states than one that does not, and takes as much more memory and time to grow. So texts are narrowed
to one byte for each character first.
"""

from __future__ import annotations

import re
from functools import lru_cache

from deid_rules.paged import BEYOND_ASCII, CLASS, class_of, code_of, members_of

MAX_COUNTED = 3
"""Repetitions between the fewest and the most that are still counted."""
_TOKEN = re.compile(
    rf"(?P<character>{BEYOND_ASCII})|\\.|(?P<class>{CLASS})|\{{(?P<min>\d+),(?P<max>\d*)\}}",
    re.DOTALL,
)
_LEAD = re.compile(rf"((?:\(\?\w+\))?)(?=\[\^){CLASS}(?:[*+]|\{{\d+,?\}})\??", re.DOTALL)
"""What else may stand before a match, which says little of where it is."""
_BEYOND = r"\x80-\xff"
_FOLDED = {0x17F: "sS", 0x212A: "kK"}
"""Letters beyond ASCII, with those of ASCII that differ from them by case alone."""


def narrow(text: str) -> bytes | None:
    """Return a text with one byte for each character, or nothing.

    It is nothing where looser forms do not tell what may occur in it.
    """
    if any(chr(code) in text for code in _FOLDED):
        return None
    import numpy as np  # noqa: PLC0415

    codes = np.frombuffer(text.encode("utf-32-le"), "<u4")
    return bytes(np.minimum(codes, 0xFF).astype(np.uint8))


def loosen(regex: str) -> str:
    r"""Return an expression that matches wherever ``regex`` does, and perhaps elsewhere.

    Repetitions have no upper bound unless it is near the lower one and what is repeated is one
    character; and a class that has a letter beyond ASCII has all. A group that is counted stands in
    the automaton as often as it may be repeated.

    Args:
        regex: RE2 syntax, with code points beyond ASCII as they are or as ``\x{e9}``.

    Returns:
        RE2 syntax for Latin-1, in ASCII, for texts in Windows-1252 and narrowed ones.
    """
    loose = _TOKEN.sub(_loose, regex)
    lead = _LEAD.match(loose)
    return lead[1] + loose[lead.end() :] if lead else loose


def _loose(token: re.Match[str]) -> str:
    if token["class"]:
        return _class(token[0])
    if token["character"]:
        code = code_of(token[0])
        return f"[{_BEYOND}{_FOLDED.get(code, '')}]" if code >= 0x80 else token[0]
    if token["min"] is None:
        return token[0]
    least = int(token["min"])
    is_group = token.string.endswith(")", 0, token.start())
    if token["max"] and int(token["max"]) - least <= MAX_COUNTED and not is_group:
        return token[0]
    return {0: "*", 1: "+"}.get(least, f"{{{least},}}")


@lru_cache(4096)
def _class(declared: str) -> str:
    """A class of characters with all beyond ASCII or none of them.

    A negated one excludes no character beyond ASCII.
    """
    negated = declared.startswith("[^")
    kept, beyond, folded = "", "", ""
    for written, first, last in members_of(declared):
        if last < 0x80:
            kept += written
            continue
        if first < 0x80:
            kept += rf"\x{first:02x}-\x7f"
        beyond = _BEYOND
        folded += "".join(like for code, like in _FOLDED.items() if first <= code <= last)
    return class_of(kept if negated else kept + beyond + folded, negated=negated)
