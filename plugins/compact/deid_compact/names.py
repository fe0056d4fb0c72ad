"""Names and towns for varied copies.

Words of names of many origins, made by Faker, which the surrogates need as well, and words that are
nobody's name but written like one: a tagger shall not need to know a name.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from faker import Faker

from deid_compact.origins import (
    LEAST_INHABITANTS,
    LEAST_OF_ALL,
    LOCALES,
    ROMANISED,
    romanise,
    town_names,
)

EACH = 200
TOWNS = 3_000
INVENTED = 4_000
"""Words, of names and of towns each, that a chain of letters makes."""
_SEEN = 3
"""Letters by which the next is drawn."""
_LETTERS = re.compile(r"[^\W\d_][\w'\u2019-]+")
_LONGEST = 12


def names_for_copies(seed: int) -> list[str]:
    """Return words of first names and surnames, the same for one seed, in order."""
    words = {
        word
        for locale in (*LOCALES, *ROMANISED)
        for word in _LETTERS.findall(" ".join(_names_of(locale, seed)))
        if len(word) > 2 and word[0].isupper()
    }
    return sorted(words | set(invent_words(sorted(words), seed)))


def _names_of(locale: str, seed: int) -> Iterator[str]:
    faker = Faker(locale)
    faker.seed_instance(seed)
    for _ in range(EACH):
        for name in (faker.first_name(), faker.last_name()):
            yield romanise(name) if locale in ROMANISED else name


def towns_for_copies(seed: int) -> list[str]:
    """Return names of towns and villages of the countries whose notes are read, and invented ones.

    They are the same for one seed, in order.
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    names: set[str] = set()
    for least in (LEAST_INHABITANTS, LEAST_OF_ALL):
        of_size = town_names(least)
        names.update(chance.sample(of_size, min(TOWNS, len(of_size))))
    single = sorted(name for name in names if " " not in name)
    return sorted(names | set(invent_words(single, seed)))


def invent_words(words: Sequence[str], seed: int) -> list[str]:
    """Return words that no list holds, written as these are: a chain of letters.

    Args:
        words: Each begins with a capital.
        seed: Of what is drawn.
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    following: dict[str, list[str]] = defaultdict(list)
    for word in words:
        framed = "^" * _SEEN + word.lower() + "$"
        for at in range(_SEEN, len(framed)):
            following[framed[at - _SEEN : at]].append(framed[at])
    made: set[str] = set()
    known = {word.lower() for word in words}
    for _ in range(20 * INVENTED):
        if len(made) == INVENTED or not following:
            break
        word = _chain(following, chance)
        if 3 <= len(word) <= _LONGEST and word not in known:
            made.add(word.capitalize())
    return sorted(made)


def _chain(following: dict[str, list[str]], chance: random.Random) -> str:
    word = "^" * _SEEN
    while len(word) < _SEEN + 2 * _LONGEST:
        letter = chance.choice(following[word[-_SEEN:]])
        if letter == "$":
            break
        word += letter
    return word[_SEEN:]
