"""Patients, staff and relatives, and the variables a grammar sees of them.

Names are drawn from the lists of the grammar and from a composer of rarer surnames, not from a
public name list: a detector that looks names up would otherwise be measured on its own dictionary.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from deid_synthesis.grammar import Grammar

PARTICLE_RATE = 0.10
WORD_LIKE_RATE = 0.12
COMPOSED_RATE = 0.20
HYPHEN_RATE = 0.05
SHARED_SURNAME_RATE = 0.7
KIN_AGES = {
    "mother": range(65),
    "father": range(65),
    "spouse": range(22, 120),
    "child": range(42, 120),
    "younger": range(50, 120),
}
"""Ages of a patient at which a grown relative of the kin is plausible."""


Variables = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SyntheticPerson:
    """Someone with a name; ``second`` is the second surname where there are two, else empty."""

    first: str = field(repr=False)
    middle: str = field(repr=False)
    last: str = field(repr=False)
    second: str = field(repr=False)
    sex: str
    role: str

    @property
    def surnames(self) -> str:
        """All surnames, as they follow the given name."""
        return f"{self.last} {self.second}".strip()


def ascii_letters(text: str) -> str:
    """Return the text in lower case with accents stripped and nothing but ASCII letters and digits
    left.
    """
    plain = unicodedata.normalize("NFD", text.lower())
    return "".join(character for character in plain if character.isascii() and character.isalnum())


def draw_person(
    grammar: Grammar, rng: Random, *, role: str, sex: str | None = None, word: bool = False
) -> SyntheticPerson:
    """Return a person; a share of the names are words, carry particles or are hyphenated.

    Args:
        grammar: Source of the names.
        rng: Source of chance.
        role: Native label of the name, for example ``DOCTOR``.
        sex: ``f`` or ``m``; drawn when not given.
        word: Whether both names must be words, as in "Grant Young".
    """
    sex = sex or rng.choice("fm")
    given = "given.word" if word or rng.random() < WORD_LIKE_RATE else "given"
    first = rng.choice(grammar.lines(given, sex))
    middle = rng.choice(grammar.lines("given", sex))
    last = rng.choice(grammar.lines("surname.word")) if word else draw_surname(grammar, rng)
    last = inflect_surname(grammar, last, sex)
    second = draw_surname(grammar, rng) if _has_two_surnames(grammar) else ""
    return SyntheticPerson(first, middle if middle != first else "Lee", last, second, sex, role)


def inflect_surname(grammar: Grammar, surname: str, sex: str) -> str:
    """Return a surname in the form of a sex.

    Lines ``feminine / masculine`` of the rule ``surname.endings``; without it, one form is for all.
    """
    rule = grammar.rules.get("surname.endings")
    lines = rule.lines if rule else ()
    return "-".join(_of_sex(part, lines, sex) for part in surname.split("-"))


def _of_sex(surname: str, lines: tuple[str, ...], sex: str) -> str:
    column = 0 if sex == "f" else 1
    for line in lines:
        forms = line.split("/")
        if surname.endswith(forms[1 - column]):
            return surname.removesuffix(forms[1 - column]) + forms[column]
    return surname


def inflect_words(grammar: Grammar, words: Mapping[str, str], sex: str) -> dict[str, str]:
    """Return words in other cases, by their variable with the case: ``last_gen``.

    Lines ``ending / ending in the case`` of the rules ``inflect.gen`` and so on, one for a sex; the
    first that fits is taken. Of a name with a particle the last word changes, of al-Masri what
    follows the hyphen.
    """
    return {
        f"{variable}_{case}": _in_case(word, grammar.lines(f"inflect.{case}", sex))
        for case in grammar.cases
        for variable, word in words.items()
    }


def _in_case(word: str, lines: tuple[str, ...]) -> str:
    parts = word.split("-")
    return "-".join(
        part if part.islower() and len(parts) > 1 else _change_ending(part, lines) for part in parts
    )


def _change_ending(word: str, lines: tuple[str, ...]) -> str:
    for line in lines:
        ending, other = line.split("/")
        if word.endswith(ending):
            return word.removesuffix(ending) + other
    return word


def _has_two_surnames(grammar: Grammar) -> bool:
    return grammar.lines("surnames") in {("two",), ("two_father_last",)}


def _surnames(person: SyntheticPerson, grammar: Grammar) -> str:
    """Return all surnames in the language's order: Spanish writes the father's first, Portuguese
    last.
    """
    if grammar.lines("surnames") == ("two_father_last",):
        return f"{person.second} {person.last}"
    return person.surnames


def draw_surname(grammar: Grammar, rng: Random) -> str:
    """Return a surname: common, composed, a word, with a particle, or hyphenated."""
    share = rng.random()
    if share < PARTICLE_RATE:
        return rng.choice(grammar.lines("surname.particle"))
    if share < PARTICLE_RATE + WORD_LIKE_RATE:
        return rng.choice(grammar.lines("surname.word"))
    if share < PARTICLE_RATE + WORD_LIKE_RATE + COMPOSED_RATE:
        return rng.choice(grammar.lines("surname.head")) + rng.choice(grammar.lines("surname.tail"))
    surname = rng.choice(grammar.lines("surname"))
    if rng.random() < HYPHEN_RATE:
        return f"{surname}-{rng.choice(grammar.lines('surname'))}"
    return surname


def draw_relative(
    grammar: Grammar, rng: Random, patient: SyntheticPerson, *, topic: str, age: int
) -> tuple[SyntheticPerson, str]:
    """Return a relative and what he or she is to the patient.

    A line of the rule ``relations`` is the word, the sex and the kin: a key of ``KIN_AGES`` or
    ``other``. The kin must suit the patient's age. Surnames follow from it: one per family, or the
    father's and the mother's.
    """
    lines = (line.rsplit(" ", 2) for line in grammar.lines("relations", topic, patient.sex))
    suited = [line for line in lines if age in KIN_AGES.get(line[2], range(120))]
    relation, sex, kin = rng.choice(suited)
    person = draw_person(grammar, rng, role="RELATIVE", sex=sex)
    last, second = person.last, person.second
    if _has_two_surnames(grammar):
        by_father = kin in {"sibling", "father"} or (kin == "child" and patient.sex == "m")
        if by_father:
            last = patient.last
        elif kin == "mother":
            last = patient.second
        second = patient.second if kin == "sibling" else second
        second = patient.last if kin == "child" and patient.sex == "f" else second
    elif kin not in {"other", "younger"} and rng.random() < SHARED_SURNAME_RATE:
        last = patient.last
    last = inflect_surname(grammar, last, person.sex)
    return SyntheticPerson(
        person.first, person.middle, last, second, person.sex, person.role
    ), relation


def person_variables(person: SyntheticPerson, grammar: Grammar) -> dict[str, str]:
    """Return the variables of a person as a subject: parts of the name in their usual forms."""
    first, last = person.first, _surnames(person, grammar)
    values = {
        "role": person.role,
        "first": first,
        "middle": person.middle,
        "last": last,
        "last1": person.last,
        "fi": first[0],
        "mi": person.middle[0],
        "li": next(character for character in person.last if character.isupper()),
        "FIRST": first.upper(),
        "LAST": last.upper(),
        "LAST1": person.last.upper(),
        "fi_login": ascii_letters(first[0]),
        "first_login": ascii_letters(first.split()[0]),
        "last_login": ascii_letters(person.last),
    }
    names = {"first": first, "last": last}
    return (
        values | inflect_words(grammar, names, person.sex) | choose_sex_forms(grammar, person.sex)
    )


def choose_sex_forms(grammar: Grammar, sex: str) -> dict[str, str]:
    """Return the words that agree with a sex.

    Lines ``name feminine / masculine`` of the rule ``sexed``.
    """
    column = 0 if sex == "f" else 1
    pairs = (line.split(" ", 1) for line in grammar.lines("sexed"))
    return {name: forms.split("/")[column].strip() for name, forms in pairs}
