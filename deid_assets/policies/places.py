"""Surrogates for places, institutions and occupations, from the lists of the note's language."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deid_assets.core.redact import Context
from deid_assets.policies.drawing import ATTEMPTS, Draw, cased_like, fold
from deid_assets.policies.names import last_name
from deid_assets.policies.shapes import reshape
from deid_assets.policies.vocabulary import vocabulary

_NUMBER = re.compile(r"\d+")
_ACRONYM_CHARS = 5  # a short name in capitals is an acronym, not a shout


def city(text: str, context: Context, attempt: int = 0) -> str | None:
    return _one_of(vocabulary(context.note.lang).cities, text, context, "city", attempt)


def region(text: str, context: Context, attempt: int = 0) -> str | None:
    words = vocabulary(context.note.lang)
    is_code = len(text) == 2 and text.isupper() and words.region_codes
    return _one_of(words.region_codes if is_code else words.regions, text, context, "region", attempt)


def country(text: str, context: Context, attempt: int = 0) -> str | None:
    return _one_of(vocabulary(context.note.lang).countries, text, context, "country", attempt)


def location(text: str, context: Context, attempt: int = 0) -> str | None:
    """Return a number of the same shape for rooms and postal codes, a town for anything with a word in it."""
    if any(char.isdigit() for char in text) and not re.search(r"[^\W\d_]{3}", text):
        return reshape(text, context, "location", attempt)
    return city(text, context, attempt)


def postcode(text: str, context: Context, attempt: int = 0) -> str | None:
    """Return a code of the same shape; a Spanish one keeps to the provinces 01 to 52."""
    drawn = reshape(text, context, "postcode", attempt)
    if context.note.lang == "es" and re.fullmatch(r"[0-9]{5}", text):
        province = 1 + Draw(context, "province", text, attempt=attempt).below(52)
        return f"{province:02}{drawn[2:]}"
    return drawn


def street(text: str, context: Context, attempt: int = 0) -> str:
    """Return a street, with a house number where there was one."""
    value = fold(text)
    template = Draw(context, "street form", value).pick(vocabulary(context.note.lang).streets)
    name = last_name(context, "street", value, attempt=attempt)
    found = _NUMBER.search(text)
    number = reshape(found[0], context, "house", attempt) if found else ""
    return cased_like(text, template.format(name=name, number=number).strip(", "))


def hospital(text: str, context: Context, attempt: int = 0) -> str:
    return _institution(vocabulary(context.note.lang).hospitals, text, context, "hospital", attempt)


def organization(text: str, context: Context, attempt: int = 0) -> str:
    return _institution(vocabulary(context.note.lang).organizations, text, context, "organization", attempt)


def profession(text: str, context: Context, attempt: int = 0) -> str | None:
    return _one_of(vocabulary(context.note.lang).jobs, text, context, "profession", attempt)


def _institution(templates: Sequence[str], text: str, context: Context, kind: str, attempt: int) -> str:
    value = fold(text)
    name = last_name(context, kind, value, attempt=attempt)
    drawn = Draw(context, f"{kind} form", value).pick(templates).format(name)
    return drawn if len(text) <= _ACRONYM_CHARS else cased_like(text, drawn)


def _one_of(options: Sequence[str], text: str, context: Context, kind: str, attempt: int) -> str | None:
    value = fold(text)
    for number in range(attempt, attempt + ATTEMPTS if options else attempt):
        drawn = Draw(context, kind, value, attempt=number).pick(options)
        if fold(drawn) != value:
            return cased_like(text, drawn)
    return None
