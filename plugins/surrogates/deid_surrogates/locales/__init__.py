"""Locale packs: what surrogates for names, places and institutions are made of in each language."""

from deid_surrogates.locales.pack import (
    Inflection,
    Locale,
    NameWords,
    PhraseWords,
    PlaceWords,
    Pool,
)
from deid_surrogates.locales.reading import read_locale
from deid_surrogates.locales.registry import check_languages, languages, locale_of, versions

__all__ = [
    "Inflection",
    "Locale",
    "NameWords",
    "PhraseWords",
    "PlaceWords",
    "Pool",
    "check_languages",
    "languages",
    "locale_of",
    "read_locale",
    "versions",
]
