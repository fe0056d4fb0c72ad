"""A looser form of a pattern, which occurs wherever the pattern does: what sets look for, to tell where patterns are tried.

An automaton that counts repetitions, or that tells the letters beyond ASCII apart, has many more states than one that
does not, and takes as much more memory and time to grow.
"""

from __future__ import annotations

import re

MAX_COUNTED = 3
"""Repetitions between the fewest and the most that are still counted."""
_TOKEN = re.compile(
    r"\\x\{[0-9A-Fa-f]+\}|\\.|(?P<cls>\[\^?\]?(?:\\x\{[0-9A-Fa-f]+\}|\\.|\[:\^?\w+:\]|[^\]\\])*\])|\{(?P<min>\d+),(?P<max>\d*)\}",
    re.DOTALL,
)
_CHARACTER = r"\\x\{[0-9A-Fa-f]+\}|\\[^dswDSWpP]|[^\\]"
_MEMBER = re.compile(
    rf"(?P<kind>\[:\^?\w+:\]|\\[dswDSWpP])|(?P<first>{_CHARACTER})(?:-(?P<last>{_CHARACTER}))?", re.DOTALL
)
_BEYOND_ASCII = r"\x{80}-\x{10ffff}"
_ANY = "(?s:.)"


def loosened(regex: str) -> str:
    r"""Return an expression that matches wherever ``regex`` does, and perhaps elsewhere.

    Repetitions have no upper bound unless it is near the lower one and what is repeated is one character; and a class that
    has a letter beyond ASCII has all. A group that is counted stands in the automaton as often as it may be repeated.

    Args:
        regex: RE2 syntax, with code points beyond ASCII in classes as they are or as ``\x{e9}``.
    """
    return _TOKEN.sub(_loose, regex)


def _loose(token: re.Match[str]) -> str:
    if token["cls"]:
        return _class(token[0])
    if token["min"] is None:
        return token[0]
    least = int(token["min"])
    is_group = token.string.endswith(")", 0, token.start())
    if token["max"] and int(token["max"]) - least <= MAX_COUNTED and not is_group:
        return token[0]
    return {0: "*", 1: "+"}.get(least, f"{{{least},}}")


def _class(declared: str) -> str:
    """A class of characters with all beyond ASCII or none of them; a negated one excludes no character beyond ASCII."""
    negated = declared.startswith("[^")
    kept, beyond = "", False
    for member in _MEMBER.finditer(declared, 2 if negated else 1, len(declared) - 1):
        first, last = member["first"], member["last"]
        if member["kind"] or _is_ascii(last or first):
            kept += member[0]
            continue
        beyond = True
        if last and _is_ascii(first):
            kept += rf"{first}-\x7f"
    if negated:
        return f"[^{kept}]" if kept else _ANY
    return f"[{kept}{_BEYOND_ASCII if beyond else ''}]"


def _is_ascii(character: str) -> bool:
    return int(character[3:-1], 16) < 0x80 if character.startswith(r"\x{") else character.isascii()
