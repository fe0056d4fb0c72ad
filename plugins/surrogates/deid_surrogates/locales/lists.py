"""Lists of names that packs are filled from: Faker's, merged with others."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from deid_assets.extending.replacing import fold, split_words
from deid_surrogates.locales.pack import Sex

RECOGNISED = split_words(
    "en_US en_GB en_IN es_ES es_MX it_IT fr_FR fr_BE fr_CH de_DE de_AT de_CH nl_NL nl_BE sv_SE"
    " fi_FI no_NO pl_PL cs_CZ sk_SK hr_HR sl_SI ro_RO hu_HU pt_PT pt_BR tr_TR et_EE lv_LV id_ID"
    " en_NG"
)
"""Faker locales whose given names are recognised in every language."""
_LEAST = 1_000  # parts per million; what a name without a known frequency counts


def faker_names(locale: str, kind: str) -> dict[str, int]:
    """Return a list of names with parts per million, 0 where Faker does not say how frequent it is.

    Args:
        locale: Faker locale, such as ``de_DE``.
        kind: ``first_names_female``, ``first_names_male`` or ``last_names``.
    """
    found = getattr(faker("person", locale), kind, ())
    if not isinstance(found, Mapping):
        return dict.fromkeys(sorted(set(found)), 0)
    total = sum(found.values())
    return {
        name: max(1, round(1_000_000 * weight / total)) for name, weight in sorted(found.items())
    }


@cache
def faker(kind: str, locale: str) -> Any:
    """Return the class that holds Faker's lists of a kind, or ``None`` where Faker has none for the
    locale.
    """
    try:
        return importlib.import_module(f"faker.providers.{kind}.{locale}").Provider
    except ModuleNotFoundError:
        return None


def merge_names(known: Mapping[str, int], others: Iterable[str]) -> dict[str, int]:
    """Return names that are single words, with weights.

    Names without a known frequency count little.
    """
    is_weighted = any(known.values())
    weights = {
        name: known.get(name) or (_LEAST if is_weighted else 1) for name in (*known, *others)
    }
    return {name: weight for name, weight in weights.items() if name.isalpha() and len(name) > 2}


@cache
def foreign_given_names() -> dict[str, Sex]:
    """Return folded given names of many languages with ``f``, ``m`` or ``n`` where both sexes have
    them.
    """
    known: dict[str, Sex] = {}
    for locale in RECOGNISED:
        add_given(known, faker_names(locale, "first_names_female"), "f")
        add_given(known, faker_names(locale, "first_names_male"), "m")
    return known


def add_given(known: dict[str, Sex], names: Iterable[str], sex: Sex) -> None:
    """Add given names of one sex; a name that the other sex has too becomes ``n``."""
    for name in names:
        value = fold(name)
        if value.isalpha() and len(value) > 1:
            known[value] = sex if known.get(value, sex) == sex else "n"
