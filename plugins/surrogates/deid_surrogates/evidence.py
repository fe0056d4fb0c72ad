"""What a note tells of a word that no list settles.

Whose name it is, and whether it stands there at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from deid_assets.extending import Note
from deid_assets.extending.replacing import Context, fold
from deid_surrogates.locales import Locale

Role = Literal["f", "m", "n", "last", "family"]
"""Woman's, man's or either's given name, surname.

``family`` where a particle before it leaves no doubt.
"""
_LOOKED_AT = 5  # mentions of a word
_LOOKED_BACK = 30  # characters
_BLANKS = (" ", "\t")
_AFTER = re.compile(r"[ \t]+([^\W\d_]+)")


def stands_in(note: Note, word: str) -> bool:
    """Whether the word stands in the note as a word of its own, in any case."""
    lowered, value = _lower(note.text), word.casefold()
    return value in lowered and next(_mentions(lowered, value), None) is not None


def stands_as_name(context: Context, word: str) -> bool:
    """Whether the word stands in the note where it may be somebody's name.

    With a capital, or inside a span.

    ``brown sputum`` takes the surname Brown from nobody.
    """
    text = context.note.text
    if word.casefold() not in _lower(text):
        return False
    mentions = re.finditer(rf"(?<![^\W\d_]){re.escape(word)}(?![^\W\d_])", text, re.IGNORECASE)
    spans = context.spans or ()
    return any(
        match[0][0].isupper() or any(span.start <= match.start() < span.end for span in spans)
        for match in mentions
    )


def role_in(note: Note, locale: Locale, word: str, value: str, place: Role | None) -> Role:
    """Return the role of a word that is both a given name and a surname in the lists, or neither.

    Args:
        note: Read for titles and other names beside the word.
        locale: The pack of the note's language.
        word: As written.
        value: Its folded base form.
        place: What its place within the name tells: ``"n"`` for a given name.
    """
    sex = locale.given.get(value) or _by_ending(locale, value)
    if place == "last":
        return "last"
    if place is not None and sex != "n":
        return sex
    found = None if word.islower() else _role_after(note.text, locale, word)
    if place is None and found is None:
        return "last" if value not in locale.given else sex
    if place is None and found == "last":
        return "last"
    return found if found in ("f", "m") and sex == "n" else sex


def title_before(text: str, start: int, locale: Locale) -> str | None:
    """Return ``f``, ``m`` or ``n`` for the title that stands right before an offset, ``None``
    without one.
    """
    before = _word_before(text, start)
    return _sex_of_word(before, locale) if before else None


@lru_cache(maxsize=4096)
def _sex_of_word(word: str, locale: Locale) -> str | None:
    return sex_of_title(fold(word), locale)


def sex_of_title(value: str, locale: Locale) -> str | None:
    """Return ``f`` or ``m`` for a folded title that tells, ``n`` for one that does not, ``None``
    for another word.
    """
    words = locale.name_words
    if value in words.female_titles:
        return "f"
    if value in words.male_titles:
        return "m"
    return "n" if value in words.titles else None


@lru_cache(maxsize=4)
def _lower(text: str) -> str:
    return text.casefold()


def _mentions(text: str, word: str) -> Iterator[int]:
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not (start and text[start - 1].isalpha()) and not text[end : end + 1].isalpha():
            yield start
        start = text.find(word, end)


def _word_before(text: str, start: int) -> str:
    """Return the word on the line before an offset, without its full stop.

    Empty where none is next to it.
    """
    if not start or text[start - 1] not in _BLANKS:
        return ""
    words = text[max(0, start - _LOOKED_BACK) : start].rpartition("\n")[2].rsplit(None, 1)
    word = words[-1].rstrip(".") if words else ""
    return word if word.isalpha() else ""


def _role_after(text: str, locale: Locale, word: str) -> Role | None:
    """Return the role that the words beside a word's first mentions tell."""
    for count, start in enumerate(_mentions(text, word)):
        if count == _LOOKED_AT:
            break
        after = _AFTER.match(text, start + len(word))
        follows = after is not None and after[1][0].isupper()
        next_value = fold(after[1]) if after is not None and follows else ""
        is_first = next_value in locale.surnames or bool(
            next_value and locale.given.get(next_value)
        )
        before = _word_before(text, start)
        previous = fold(before)
        title = sex_of_title(previous, locale) if previous else None
        if title is not None:
            return _of_title(title) if is_first else "last"
        if before[:1].isupper() and previous in locale.given:
            return "last"
        if is_first:
            return "n"
    return None


def _of_title(title: str) -> Role:
    if title == "f":
        return "f"
    return "m" if title == "m" else "n"


def _by_ending(locale: Locale, value: str) -> Role:
    words = locale.name_words
    if words.female_endings and value.endswith(words.female_endings):
        return "f"
    return "m" if words.male_endings and value.endswith(words.male_endings) else "n"
