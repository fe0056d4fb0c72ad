"""How English, German, Dutch, Swedish and French change a name within a sentence."""

from __future__ import annotations

from collections.abc import Callable

from deid_assets.extending.replacing import fold

_APOSTROPHES = ("'", "\u2019")
_GENITIVE = "genitive"


class Plain:
    """Names do not change."""

    def split(self, word: str, is_name: Callable[[str], bool]) -> tuple[str, str]:
        del is_name
        return word, ""

    def join(self, lemma: str, form: str) -> str:
        del form
        return lemma

    def can_join(self, lemma: str) -> bool:
        del lemma
        return True


class English(Plain):
    """``Smith's``, ``James'``.

    The surrogate has ``'s`` but for names in s after a bare apostrophe.
    """

    def split(self, word: str, is_name: Callable[[str], bool]) -> tuple[str, str]:
        del is_name
        if len(word) > 3 and word[-1] in "sS" and word[-2] in _APOSTROPHES:
            return word[:-2], word[-2:]
        return (word[:-1], word[-1]) if word[-1] in _APOSTROPHES else (word, "")

    def join(self, lemma: str, form: str) -> str:
        if form in _APOSTROPHES and lemma[-1] not in "sS":
            return lemma + form + ("S" if lemma.isupper() else "s")
        return lemma + form


class Genitive(Plain):
    """An ``s`` without apostrophe where the rest is a known name.

    ``Müllers``, ``Anderssons``, ``Jans``.

    Args:
        after_hiss: What stands after a name in s, x or z: ``'`` in German and Dutch, nothing in
            Swedish.
        after_vowel: The ending after a vowel: ``'s`` in Dutch.
        is_usual: Whether an unknown name in a consonant and ``s`` is a genitive rather than a base
            form.
    """

    def __init__(self, *, after_hiss: str, after_vowel: str = "s", is_usual: bool = False) -> None:
        self._after_hiss = after_hiss
        self._after_vowel = after_vowel
        self._is_usual = is_usual

    def split(self, word: str, is_name: Callable[[str], bool]) -> tuple[str, str]:
        if word[-1] in _APOSTROPHES:
            return word[:-1], _GENITIVE
        if len(word) > 3 and word[-1] in "sS":
            stem = word[:-2] if word[-2] in _APOSTROPHES else word[:-1]
            is_usual = self._is_usual and len(stem) > 3 and stem[-1] in "bdfgklmnptvy"
            if len(word) - len(stem) == 2 or (not is_name(word) and (is_usual or is_name(stem))):
                return stem, _GENITIVE
        return word, ""

    def join(self, lemma: str, form: str) -> str:
        if form != _GENITIVE:
            return lemma
        ending = self._ending(fold(lemma)[-1])
        return lemma + (ending.upper() if lemma.isupper() and len(lemma) > 1 else ending)

    def _ending(self, last: str) -> str:
        """Return the ending of a genitive after a letter."""
        if last in "sxz":
            return self._after_hiss
        return self._after_vowel if last in "aiouy" else "s"


class Elision(Plain):
    """``d'Anne`` before a vowel, ``de Paul`` before a consonant.

    Part of a surname with a capital: ``D'Arcy``.
    """

    def split(self, word: str, is_name: Callable[[str], bool]) -> tuple[str, str]:
        is_elided = len(word) > 3 and word[:1] in "dD" and word[1] in _APOSTROPHES
        return (
            (word[2:], word[:2])
            if is_elided and not is_name(word) and is_name(word[2:])
            else (word, "")
        )

    def join(self, lemma: str, form: str) -> str:
        if not form or fold(lemma)[0] in "aeiouyh":
            return form + lemma
        return f"{form[0]}{'E' if lemma.isupper() else 'e'} {lemma}"


GERMAN = Genitive(after_hiss="'")
DUTCH = Genitive(after_hiss="'", after_vowel="'s")
SWEDISH = Genitive(after_hiss="", is_usual=True)
