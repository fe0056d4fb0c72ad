"""Word lists for surrogates: Faker's names and places by language, and short lists of our own."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from deid_assets.policies.drawing import fold, listed

LOCALES: Mapping[str, str] = {
    "cs": "cs_CZ",
    "de": "de_DE",
    "en": "en_US",
    "es": "es_ES",
    "fi": "fi_FI",
    "fr": "fr_FR",
    "it": "it_IT",
    "nl": "nl_NL",
    "pt": "pt_PT",
    "sv": "sv_SE",
}
"""Language of a note to the Faker locale its surrogates come from; other languages use English."""

_CITIES = {
    "en": (
        "Abilene,Akron,Albany,Allentown,Amarillo,Asheville,Athens,Augusta,Bakersfield,Bangor,Baton Rouge,Beaumont,"
        "Bellingham,Bend,Billings,Binghamton,Bismarck,Bloomington,Boise,Boulder,Bozeman,Burlington,Canton,Casper,"
        "Cedar Rapids,Champaign,Charleston,Chattanooga,Cheyenne,Chico,Columbia,Concord,Corpus Christi,Dayton,Decatur,"
        "Des Moines,Dover,Dubuque,Duluth,Durham,Eau Claire,Elkhart,El Paso,Erie,Eugene,Evansville,Fargo,Fayetteville,"
        "Flagstaff,Flint,Fort Wayne,Fresno,Gainesville,Galveston,Grand Rapids,Green Bay,Greensboro,Greenville,"
        "Hagerstown,Harrisburg,Helena,Huntsville,Idaho Falls,Ithaca,Jackson,Joplin,Kalamazoo,Knoxville,Lafayette,"
        "Lancaster,Lansing,Laredo,Lincoln,Little Rock,Lubbock,Macon,Madison,Medford,Missoula,Mobile,Modesto,Monroe,"
        "Muncie,Napa,Nashua,Norman,Ogden,Olympia,Omaha,Peoria,Pueblo,Rapid City,Reading,Reno,Roanoke,Rochester,"
        "Rockford,Salem,Salina,Savannah,Scranton,Shreveport,Sioux Falls,South Bend,Spokane,Springfield,Syracuse,"
        "Tacoma,Tallahassee,Toledo,Topeka,Trenton,Tulsa,Tyler,Utica,Waco,Wichita,Wilmington,Worcester,Yakima,York"
    ),
    "es": (
        "Albacete,Alcoy,Algeciras,Alicante,Almansa,Almería,Antequera,Aranjuez,Astorga,Ávila,Avilés,Badajoz,Badalona,"
        "Baeza,Barbastro,Benavente,Béjar,Burgos,Cáceres,Cádiz,Calahorra,Calatayud,Cartagena,Castellón,Ceuta,"
        "Ciudad Real,Córdoba,Coria,Cuenca,Denia,Dos Hermanas,Écija,Elche,Elda,Estella,Ferrol,Figueras,Fuenlabrada,"
        "Gandía,Getafe,Gijón,Girona,Granada,Guadalajara,Guadix,Haro,Hellín,Huelva,Huesca,Ibiza,Igualada,Jaca,Jaén,"
        "Játiva,Jerez,Leganés,León,Linares,Lleida,Loja,Lorca,Lugo,Mahón,Manresa,Marbella,Mataró,Mérida,Mieres,Motril,"
        "Murcia,Ourense,Oviedo,Palencia,Plasencia,Ponferrada,Pontevedra,Reus,Ronda,Sabadell,Sagunto,Salamanca,"
        "Santander,Segovia,Segorbe,Soria,Talavera,Tarragona,Teruel,Toledo,Tortosa,Tudela,Úbeda,Utrera,Vera,Vigo,Vitoria,"
        "Yecla,Zafra,Zamora"
    ),
}
_HOSPITALS = {
    "en": "{} Memorial Hospital,{} General Hospital,{} Medical Center,{} Community Hospital,{} Clinic",
    "es": "Hospital {},Hospital General {},Hospital Universitario {},Centro de Salud {},Clínica {}",
    "de": "Klinikum {},Krankenhaus {},Klinik {}",
    "fr": "Hôpital {},Centre hospitalier {},Clinique {}",
}
_ORGANIZATIONS = {
    "en": "{} Group,{} Associates,{} Partners,{} Foundation,{} Industries",
    "es": "Fundación {},Grupo {},Instituto {},Asociación {},Talleres {}",
    "de": "{} GmbH,Stiftung {},Institut {}",
    "fr": "Fondation {},Groupe {},Institut {}",
}
_STREETS = {
    "en": "{number} {name} Street,{number} {name} Avenue,{number} {name} Road,{number} {name} Drive,{number} {name} Lane",
    "es": "Calle {name}; {number},Avenida {name}; {number},Plaza {name}; {number},Paseo {name}; {number}",
    "de": "{name}straße {number},{name}weg {number},{name}allee {number}",
    "fr": "{number} rue {name},{number} avenue {name},{number} place {name}",
}
_FIRST_NAME_LANGS = ("en", "es", "de", "fr")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The lists of one language; any may be empty where Faker has none."""

    female: tuple[str, ...]
    male: tuple[str, ...]
    last: tuple[str, ...]
    cities: tuple[str, ...]
    regions: tuple[str, ...]
    region_codes: tuple[str, ...]
    countries: tuple[str, ...]
    jobs: tuple[str, ...]
    hospitals: tuple[str, ...]
    organizations: tuple[str, ...]
    streets: tuple[str, ...]


@lru_cache(maxsize=32)
def vocabulary(lang: str | None) -> Vocabulary:
    """Return the lists for a note's language; English where there are none of its own."""
    if lang is None or lang not in LOCALES:
        return vocabulary("en")
    person, address, job = (_provider(kind, lang) for kind in ("person", "address", "job"))
    last = getattr(person, "last_names", ()) or getattr(person, "last_names_female", ())
    cities = listed(_CITIES[lang], ",") if lang in _CITIES else getattr(address, "cities", ())
    female, male = _single_words(person.first_names_female), _single_words(person.first_names_male)
    return Vocabulary(
        female=female,
        male=male,
        # A surname that is a first name too would make "Juan" of the surname of a Juan.
        last=tuple(name for name in _single_words(last) if name not in {*female, *male}),
        cities=tuple(sorted(set(cities))),
        regions=tuple(sorted({*getattr(address, "regions", ()), *_strings(getattr(address, "states", ()))})),
        region_codes=tuple(sorted(_strings(getattr(address, "states_abbr", ())))),
        countries=tuple(sorted(set(address.countries))),
        jobs=tuple(sorted(title for title in getattr(job, "jobs", ()) if title.replace(" ", "").isalpha())),
        hospitals=_templates(_HOSPITALS, lang),
        organizations=_templates(_ORGANIZATIONS, lang),
        streets=_templates(_STREETS, lang),
    )


@lru_cache(maxsize=32)
def genders(lang: str | None) -> Mapping[str, str]:
    """Return folded first names with ``female`` or ``male``, as the note's language has them.

    Names of other languages count where they are no surname in this one.
    """
    own = vocabulary(lang)
    surnames = {fold(name) for name in own.last}
    known = _first_names(own)
    for other in _FIRST_NAME_LANGS:
        for name, gender in _first_names(vocabulary(other)).items():
            if name not in surnames:
                known.setdefault(name, gender)
    return known


def _first_names(words: Vocabulary) -> dict[str, str]:
    return {fold(name): "male" for name in words.male} | {fold(name): "female" for name in words.female}


def _provider(kind: str, lang: str) -> Any:
    try:
        module = importlib.import_module(f"faker.providers.{kind}.{LOCALES[lang]}")
    except ModuleNotFoundError:  # Faker has no job list in some languages
        module = importlib.import_module(f"faker.providers.{kind}")
    return module.Provider


def _single_words(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if name.isalpha() and len(name) > 2}))


def _strings(values: Iterable[object]) -> set[str]:
    return {value for value in values if isinstance(value, str)}


def _templates(table: Mapping[str, str], lang: str) -> tuple[str, ...]:
    # A semicolon stands for the comma inside a Spanish address.
    return tuple(template.replace(";", ",") for template in table.get(lang, table["en"]).split(","))
