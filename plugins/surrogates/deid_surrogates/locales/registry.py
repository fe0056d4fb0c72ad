"""Locale packs found by language: those of the languages' folders, and those that plugins bring."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from deid_assets.extending import DeidError, PluginError, PolicyError, class_name, is_interrupt
from deid_assets.extending import languages as folders
from deid_surrogates.locales.pack import Locale
from deid_surrogates.locales.reading import read_locale

GROUP = "deid_assets.replacers"
"""Entry points that bring locale packs.

The name is the language's code, the object a callable that returns it.
"""
_UNKNOWN = "en"  # of notes that name no language


def languages() -> tuple[str, ...]:
    """Return the languages that surrogates can be written in, those of plugins among them.

    Imports no plugin.
    """
    own = folders.languages(folders.SURROGATES)
    others = (other for other, code in folders.other_codes().items() if code in own)
    return tuple(sorted({*own, *others, *_plugins()}))


def check_languages(langs: Iterable[str | None]) -> None:
    """Refuse languages that have no locale pack.

    Raises:
        PolicyError: One of them has none.
    """
    known = languages()
    for lang in sorted({lang for lang in langs if lang is not None}):
        if lang not in known:
            raise _no_pack(lang)


@cache
def locale_of(lang: str | None) -> Locale:
    """Return the locale pack of a note's language; English for a note that names none.

    A pack of a plugin goes before one of a language's folder.

    Raises:
        PolicyError: The language has no pack.
        PluginError: Two plugins bring it, or it does not load.
    """
    lang = _UNKNOWN if lang is None else lang
    found = _plugins().get(lang, [])
    if len(found) > 1:
        raise PluginError(
            f"locale pack {lang!r}: named by both {_describe_sources(found)}; uninstall one"
        )
    if found:
        return _load(found[0])
    lang = folders.main_code(lang)
    if lang not in folders.languages(folders.SURROGATES):
        raise _no_pack(lang)
    return read_locale(folders.language(lang).folder / folders.SURROGATES)


def versions() -> tuple[str, ...]:
    """Return what decides on the content of packs: the plugins that bring one.

    For a policy's digest.
    """
    packs = (f"{lang}={_describe_sources(found)}" for lang, found in sorted(_plugins().items()))
    return (*packs, *folders.list_brought())


@cache
def _plugins() -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for entry_point in entry_points(group=GROUP):
        found.setdefault(entry_point.name, []).append(entry_point)
    return found


def _load(entry_point: EntryPoint) -> Locale:
    try:
        locale = entry_point.load()()
    except DeidError:
        raise
    except BaseException as error:  # a plugin may raise anything, with text in it
        if is_interrupt(error):
            raise
        raise PluginError(
            f"locale pack {entry_point.name!r} does not load: {class_name(error)}"
        ) from None
    if not isinstance(locale, Locale) or locale.lang != entry_point.name:
        raise PluginError(
            f"locale pack {entry_point.name!r}: {entry_point.value} returns no Locale of that"
            " language"
        )
    return locale


def _describe_sources(found: Iterable[EntryPoint]) -> str:
    return " and ".join(
        sorted(f"{entry.dist.name} {entry.dist.version}" for entry in found if entry.dist)
    )


def _no_pack(lang: str) -> PolicyError:
    return PolicyError(
        f"surrogates: there is no locale pack for language {lang!r}; install a plugin that brings"
        f" one, choose another action, or fix the note's language; packs: {', '.join(languages())}"
    )
