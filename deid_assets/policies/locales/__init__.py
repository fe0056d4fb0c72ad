"""Locale packs: what surrogates for names, places and institutions are made of in each language."""

from deid_assets.policies.locales.pack import Inflection, Locale, NameWords, PhraseWords, PlaceWords, Pool
from deid_assets.policies.locales.reading import read_locale
from deid_assets.policies.locales.registry import check_languages, languages, locale_of, versions

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
