"""Words that names, dates and addresses share with everything else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from deid_assets.extending.languages import ANY, CALENDAR, folder, languages
from deid_assets.extending.lists import read_words
from deid_known_identity.tokens import fold

if TYPE_CHECKING:
    from nicknames import NickNamer

HOMONYMS = "homonyms.txt"


def _homonyms() -> Iterator[str]:
    for code in (ANY, *languages(HOMONYMS)):
        if place := folder(code):
            yield from read_words(place / HOMONYMS)


ORDINARY = frozenset(map(fold, _homonyms()))
"""Words that are names too, of all languages.

Without a capital, and at a sentence's start, they say nothing alone.
"""

FILLERS = frozenset(
    fold(word)
    for word in (
        "st nd rd th of the er e º ª o a de del di den van le dne ta ter den der im".split()  # noqa: SIM905
    )
)
"""Words between the parts of a date."""


@cache
def months() -> Mapping[str, int]:
    """Names of the months in all languages, folded, long and short.

    The tables of the Unicode consortium (CLDR).
    """
    from babel.dates import get_month_names  # noqa: PLC0415 - tables, loaded when first needed

    found: dict[str, int] = {}
    for lang in languages(CALENDAR):
        for width in ("wide", "abbreviated"):
            for context in ("format", "stand-alone"):
                for number, name in get_month_names(width, context=context, locale=lang).items():
                    found.setdefault(fold(name.rstrip(".")), number)
    return found


@cache
def nicknames(given: str) -> frozenset[str]:
    """Folded short forms of an English given name, and the names of which it is one."""
    namer = _namer()
    return frozenset(
        fold(name)
        for name in (*namer.nicknames_of(given), *namer.canonicals_of(given))
        if len(name) > 2
    )


@cache
def _namer() -> NickNamer:
    from nicknames import NickNamer  # noqa: PLC0415 - a table, loaded when first needed

    return NickNamer()
