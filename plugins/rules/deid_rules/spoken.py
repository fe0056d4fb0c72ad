"""The languages of a text.

They are told by a few words and letters where these suffice, and by Compact Language Detector 2
where not. The library reads some 25 MB of text a second; to look up each word takes a third of that
time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deid_assets.extending.lists import languages_in

MIN_CHARS = 2_000
"""Shorter texts are left to the library.

In 15 % of them, where a second language counts, few words may tell it.
"""
MIN_SEEN = 12
"""Different words and letters from which the language of a note that names none is taken."""

_CASED = (range(0xC0, 0xD7), range(0xD8, 0xDF))
"""Capitals of Latin-1 beyond ASCII; the small letters are 0x20 further."""
_FOLDED = bytes(range(0x80)).lower() + bytes(
    byte + 0x20 if any(byte in cased for cased in _CASED) else byte for byte in range(0x80, 0x100)
)
_WORDS = bytes(byte if chr(byte).isalpha() or byte >= 0x80 else ord(" ") for byte in _FOLDED)
"""What becomes of each byte of UTF-8 to leave words in one case: a blank, where it is of none."""
_ASCII = bytes(range(0x80))


class Telling:
    """Words and letters that tell a language from others.

    Words are looked up one by one. A set of them in one automaton reads a text three times as fast
    once it has grown, which costs more than the first few thousand notes do.

    Args:
        words: Of each language, of letters alone. One that several have tells each of them from the
            rest. Where a language has none, all texts are left to the library.
    """

    def __init__(self, words: Mapping[str, Sequence[str]]) -> None:
        self._languages = frozenset(words) if all(words.values()) else frozenset()
        owners: dict[str, set[str]] = {}
        for language, own in words.items():
            for word in own:
                owners.setdefault(word, set()).add(language)
        self._owners = {word: frozenset(languages) for word, languages in owners.items()}
        letters = {form: word for word in owners if len(word) == 1 for form in _cases(word)}
        self._letters = {form: word for form, word in letters.items() if not form.isascii()}
        self._pieces = {form: word for form, word in letters.items() if form.isascii()}
        self._words = {
            word.encode().translate(_WORDS): word for word in self._owners if len(word) > 1
        }
        self._known = frozenset(self._words)

    def languages(self, text: str, *, declared: str | None = None) -> tuple[str, ...]:
        """Return the languages of a text, the most frequent first; empty where it does not tell.

        Args:
            text: Of a note.
            declared: The language that the note names. It alone is returned where no word of
                another is seen.
        """
        if len(text) >= MIN_CHARS and declared in (None, *self._languages):
            seen = self._find_seen(text)
            possible = self._languages.intersection(*seen)
            if declared in possible:
                return (str(declared),)
            if declared is None and len(possible) == 1 and len(seen) >= MIN_SEEN:
                return tuple(possible)
        return languages_in(text, declared=declared)

    def _find_seen(self, text: str) -> list[frozenset[str]]:
        """The languages of each word or letter that stands in a text."""
        data = text.encode()
        found = self._known.intersection(data.translate(_WORDS).split())
        seen = {self._words[form] for form in found}
        seen.update(word for piece, word in self._pieces.items() if piece in text)
        if not text.isascii():
            beyond = set(data.translate(None, _ASCII).decode())
            seen.update(self._letters[letter] for letter in beyond & self._letters.keys())
        return [self._owners[word] for word in seen]


def _cases(letter: str) -> tuple[str, str]:
    """A letter, and as it begins a sentence; of ``ß`` that is two letters."""
    return letter, letter.capitalize()
