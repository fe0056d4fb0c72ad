"""Words that are never redacted, whatever their score.

Each rule answers one known weakness of the method.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from deid_assets import Note
from deid_assets.extending import ConfigError, Token
from deid_assets.extending.lists import read_words, vocabulary

_FIELD = re.compile(r"(?m)^[ \t]*(?P<label>[^\W\d_][^\n:0-9]{0,60}?)[ \t]*:")
_WORD = re.compile(r"[^\W\d_]+")
_LABEL_WORDS = 5
_ACRONYM = 5  # letters
_SENTENCE = re.compile(r"(?:^|[.!?\n])\s*$")
_LOOKED_BACK = 12  # code points before a word in which a sentence may begin
_TITLES = frozenset(
    [
        "dr",
        "dra",
        "prof",
        "mr",
        "mrs",
        "ms",
        "miss",
        "sr",
        "sra",
        "srta",
        "herr",
        "frau",
        "don",
        "doña",
        "doctor",
        "doctora",
        "dott",
        "dottssa",
        "mme",
        "mlle",
    ]
)
_FIELD_WORDS = frozenset(
    [
        "name",
        "names",
        "surname",
        "surnames",
        "forename",
        "firstname",
        "address",
        "age",
        "sex",
        "gender",
        "date",
        "birth",
        "phone",
        "telephone",
        "fax",
        "email",
        "city",
        "country",
        "nombre",
        "apellidos",
        "apellido",
        "domicilio",
        "localidad",
        "provincia",
        "edad",
        "sexo",
        "fecha",
        "nacimiento",
        "país",
        "teléfono",
        "correo",
        "médico",
        "episodio",
        "ingreso",
        "historia",
        "nom",
        "prénom",
        "adresse",
        "âge",
        "sexe",
        "ville",
        "naissance",
        "nome",
        "cognome",
        "indirizzo",
        "età",
        "sesso",
        "città",
        "nascita",
        "vorname",
        "nachname",
        "alter",
        "geschlecht",
        "geburtsdatum",
        "straße",
        "ort",
        "naam",
        "achternaam",
        "adres",
        "leeftijd",
        "geslacht",
        "plaats",
        "geboortedatum",
        "nimi",
        "etunimi",
        "sukunimi",
        "osoite",
        "ikä",
        "sukupuoli",
        "syntymäaika",
        "namn",
        "efternamn",
        "ålder",
        "kön",
        "födelsedatum",
    ]
)
"""Words of field labels that are no ordinary words of a language's list."""

Rule = Callable[[Note, Sequence[Token], int], bool]
"""Note, its words and the number of one, to whether it is protected."""


@dataclass(frozen=True, slots=True)
class Protection:
    """Which rules hold; part of what a threshold is calibrated for.

    Args:
        allow: Whether ordinary words of the language and of medicine stay, and eponyms that follow
            no title.
        fields: Whether the labels before a colon at the beginning of a line stay.
        numbers: Whether words with a digit stay, because rules know numbers and dates better.
        more: Words in lower case that stay as those of ``allow`` do.
    """

    allow: bool = False
    fields: bool = False
    numbers: bool = False
    more: AbstractSet[str] = frozenset()

    def words(self, note: Note, words: Sequence[Token]) -> AbstractSet[int]:
        """Return the numbers of the words that are protected."""
        rules: list[Rule] = []
        if self.allow or self.more:
            rules.append(self._is_allowed)
        if self.numbers:
            rules.append(_has_digit)
        found = {
            number
            for number in range(len(words))
            if any(rule(note, words, number) for rule in rules)
        }
        return found | _labels(note, words) if self.fields else found

    def _is_allowed(self, note: Note, words: Sequence[Token], number: int) -> bool:
        start, end = words[number]
        word = note.text[start:end]
        parts = _WORD.findall(word)
        if not parts or any(map(str.isdigit, word)):
            return False
        if word.lower() in self.more:
            return not _follows_title(note, words, number)
        if not self.allow:
            return False
        if word.lower() in eponyms(note.lang) and word[:1].isupper():
            return not _follows_title(note, words, number)
        if not all(vocabulary.is_ordinary(part, note.lang) for part in parts):
            return False
        # A capital within a sentence may be a name that is an ordinary word as well.
        return word.islower() or (
            _begins_sentence(note.text, start) and not _is_capital(note, words, number + 1)
        )


def _has_digit(note: Note, words: Sequence[Token], number: int) -> bool:
    start, end = words[number]
    return any(map(str.isdigit, note.text[start:end]))


def _begins_sentence(text: str, start: int) -> bool:
    return bool(_SENTENCE.search(text[max(0, start - _LOOKED_BACK) : start])) or start == 0


def _is_capital(note: Note, words: Sequence[Token], number: int) -> bool:
    return number < len(words) and note.text[words[number][0]].isupper()


def _follows_title(note: Note, words: Sequence[Token], number: int) -> bool:
    if not number:
        return False
    start, end = words[number - 1]
    between = note.text[end : words[number][0]]
    return note.text[start:end].lower().rstrip(".") in _TITLES and not between.strip(" .\t")


def _labels(note: Note, words: Sequence[Token]) -> set[int]:
    """Return the words of field labels.

    Ordinary words or short capitals before a colon that ends a line's beginning.
    """
    found: set[int] = set()
    for match in _FIELD.finditer(note.text):
        first, last = match.span("label")
        inside = [
            number for number, (start, end) in enumerate(words) if first <= start and end <= last
        ]
        if len(inside) <= _LABEL_WORDS and all(_is_label(note, words[number]) for number in inside):
            found.update(inside)
    return found


def _is_label(note: Note, word: Token) -> bool:
    written = note.text[slice(*word)]
    parts = _WORD.findall(written)
    is_short = written.isupper() and len(written) <= _ACRONYM
    return is_short or all(
        part.lower() in _FIELD_WORDS or vocabulary.is_ordinary(part, note.lang) for part in parts
    )


@cache
def eponyms(lang: str | None) -> frozenset[str]:
    """Return names in medicine, in lower case, of a language.

    English ones for a note that names none.
    """
    path = vocabulary.files(lang or "en").get("eponyms")
    return frozenset(word.lower() for word in read_words(path)) if path else frozenset()


def read_list(path: Path) -> frozenset[str]:
    """Return the words of a list, one a line, in lower case.

    Raises:
        ConfigError: It cannot be read.
    """
    try:
        return frozenset(word.lower() for word in read_words(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: no list of words in UTF-8 ({type(error).__name__})") from None
