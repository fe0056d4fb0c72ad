"""Postal codes that exist, and that belong to a city where a list says which."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from deid_assets.extending.replacing import Context, Draw, fold
from deid_surrogates.locales import Locale, lists, locale_of
from deid_surrogates.locales.cities import find_city, nearest
from deid_surrogates.shapes import reshape

_BRITISH = re.compile(r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}", re.IGNORECASE)
_COUNTRY_PREFIX = re.compile(r"[A-Z]{1,3}[- ](?=\d{4})")


def postcode_of(city: str | None, text: str, context: Context, attempt: int) -> str:
    """Return a postal code in the shape of the original.

    Args:
        city: The surrogate that stands beside it; without one, or without a list, any start that
            exists is taken.
        text: The original.
        context: The note and the key.
        attempt: Another number gives another code.
    """
    prefix = _COUNTRY_PREFIX.match(text)
    if prefix is not None:
        return prefix[0] + postcode_of(city, text[prefix.end() :], context, attempt)
    locale = locale_of(context.note.lang)
    drawn = reshape(text, context, "postcode", attempt)
    start = _start(locale, city, text, context, attempt)
    if not start or (_BRITISH.fullmatch(text) is None) != start.isdigit():
        return drawn
    if not start.isdigit():
        return f"{start} {drawn[-3:]}" if " " in text else f"{start}{drawn[-3:]}"
    row = iter(start)
    return "".join(next(row, char) if char.isdigit() else char for char in drawn)


@lru_cache(maxsize=4096)
def state_of(locale: Locale, city: str) -> str | None:
    """Return the abbreviation of the US state or Italian province of a city, ``None`` for other
    countries.
    """
    found = find_city(locale, city)
    if locale.lang == "it":
        provinces = _italian_provinces()
        return provinces.get(fold(city)) or provinces.get(nearest(locale, city, provinces) or "")
    return found.region if found is not None and found.country == "US" else None


def _start(locale: Locale, city: str | None, text: str, context: Context, attempt: int) -> str:
    """Return the first characters of a code, or the whole."""
    draw = Draw(context, "postcode start", fold(text), attempt=attempt)
    if city is not None and locale.lang == "it":  # whose provinces are written as US states are
        if near := _codes_of(locale, city):
            return draw.pick(near)
    elif (
        city is not None
        and (state := state_of(locale, city)) is not None
        and state in _state_ranges()
    ):
        low, high = _state_ranges()[state]
        return f"{low + draw.below(high - low + 1):05}"
    known = locale.places.postcodes
    is_british = _BRITISH.fullmatch(text) is not None
    fitting = {name: code for name, code in known.items() if code.isdigit() is not is_british}
    if not fitting:
        return ""
    if city is not None:
        value = fold(city) if fold(city) in fitting else _nearest_coded(locale, city)
        if value is not None and value in fitting:
            start = fitting[value]
            # Towns with a single code: its first half, lest the code be the original's.
            return start[: max(2, sum(map(str.isdigit, text)) - 2)] if start.isdigit() else start
    return draw.pick(sorted(fitting.values()))


@lru_cache(maxsize=4096)
def _nearest_coded(locale: Locale, city: str) -> str | None:
    return nearest(locale, city, locale.places.postcodes)


@lru_cache(maxsize=4096)
def _codes_of(locale: Locale, city: str) -> tuple[str, ...]:
    """Return the postcodes of an Italian municipality, of the nearest for a place that is none."""
    codes = _italian_codes()
    return codes.get(fold(city)) or codes.get(nearest(locale, city, codes) or "", ())


@cache
def _state_ranges() -> Mapping[str, tuple[int, int]]:
    ranges: Mapping[str, tuple[int, int]] = lists.faker("address", "en_US").states_postcode
    return ranges


@cache
def _italian_provinces() -> Mapping[str, str]:
    return {fold(name): province for _, name, province in _municipalities()}


def _municipalities() -> Iterator[tuple[str, str, str]]:
    """Return postcode, name and province, as Faker lists them."""
    for code, rows in lists.faker("address", "it_IT").cap_city_province.items():
        for name, province in rows:
            yield code, name, province


@cache
def _italian_codes() -> Mapping[str, tuple[str, ...]]:
    """Return the codes of each municipality, as Faker lists them."""
    codes: dict[str, list[str]] = {}
    for code, name, _ in _municipalities():
        codes.setdefault(fold(name), []).append(code)
    return {name: tuple(found) for name, found in codes.items()}
