"""What the letters of a word say of names: initials, degrees, capitals, possessives."""

from __future__ import annotations

from deid_rules.view import TextView

ABBREVIATIONS = frozenset(("st", "mt", "ft", "ste", "dr", "sta", "sto"))
"""Words with a point that does not end a sentence."""
_DEGREES = frozenset(("MD", "DO", "RN", "NP", "PA"))


def is_initial(word: str) -> bool:
    """Whether a word is one capital letter."""
    return len(word) == 1 and word.isupper()


def is_pointed(view: TextView, index: int, *, any_case: bool = False) -> bool:
    """Whether a word of the text is a capital with a point, ``J.``.

    With ``any_case``, any letter.
    """
    word = view.words[index]
    return len(word) == 1 and (any_case or word.isupper()) and view.gaps[index + 1].startswith(".")


def degree(view: TextView, index: int) -> bool:
    """Whether two letters with a point between are a degree, ``M.D.``."""
    if len(view.words[index]) > 1 or view.gaps[index + 1] != ".":
        return False
    return "".join(view.between(index, index + 2)) in _DEGREES


def middle_initial(view: TextView, index: int) -> bool:
    """Whether a capital stands alone before another capitalised word, ``A`` in ``Anna A Lee``."""
    if (
        not is_initial(view.words[index])
        or view.gaps[index + 1] != " "
        or index + 1 == len(view.starts)
    ):
        return False
    following = view.words[index + 1]
    return following[0].isupper() and following[1:2].islower()


def has_capital(word: str) -> bool:
    """Whether a word begins with a capital, or with a prefix and a capital as ``al-Rashid``."""
    return word[0].isupper() or (word[2:3] in ("-", "'", "\u2019") and word[3:4].isupper())


def strip_possessive(word: str) -> str:
    """The word less a final ``'s``."""
    return word[:-2] if word[-2:] in ("'s", "\u2019s", "'S", "\u2019S") else word
