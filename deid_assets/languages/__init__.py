"""The languages: a folder for each, whose files every part of the product reads.

A folder is a language where it holds ``language.toml``; there is no other list of languages.
``any`` holds what all languages share, ``other`` what stands in for one without a folder. README.md
beside this file says which file holds what; docs/add-a-language.md adds one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from deid_assets.core.errors import ConfigError, PluginError
from deid_assets.languages.detection import CODES, language_of, languages_in
from deid_assets.system.digests import digest_of_files, paths_below

__all__ = [
    "ANY",
    "CALENDAR",
    "CODES",
    "DECLARATION",
    "GROUP",
    "OTHER",
    "PARTS",
    "RULES",
    "SURROGATES",
    "SYNTHESIS",
    "WORDS",
    "Language",
    "digest",
    "find",
    "folder",
    "language",
    "language_of",
    "languages",
    "languages_in",
    "list_brought",
    "main_code",
    "other_codes",
    "read_toml",
]

GROUP = "deid_assets.languages"
"""Entry points of packages with a folder ``languages``."""
ANY, OTHER = "any", "other"
DECLARATION = "language.toml"
CALENDAR, RULES, SURROGATES, SYNTHESIS, WORDS = (
    "calendar.toml",
    "rules/rules.toml",
    "surrogates.toml",
    "synthesis",
    "words",
)
"""Files and folders by which a language takes part in something."""
PARTS: Mapping[str, str] = {
    "rules": RULES,
    "names": "names",
    "words": WORDS,
    "calendar": CALENDAR,
    "surrogates": SURROGATES,
    "synthesis": SYNTHESIS,
}
"""What a list of languages shows, with the file or folder of each."""
_OWN = Path(__file__).parent
_LISTS = ("codes", "telling", "alike", "phones", "identifiers")


@dataclass(frozen=True, eq=False, slots=True)
class Language:
    """What ``language.toml`` declares.

    Args:
        code: Name of its folder, ISO 639-1.
        name: In English.
        folder: Where its files are.
        codes: Other codes of notes that it reads: those of Nynorsk and of Norwegian.
        telling: Words and letters by which a text in it is told from one in most other languages.
        alike: Languages for which its texts are easily taken.
        phones: Countries whose numbering plans its telephone numbers without a country code follow,
            ISO 3166, the likeliest first.
        identifiers: Kinds of numbers with a check digit that its notes have rather than others.
        sexes: What a letter for a sex means, ``female`` or ``male``.
    """

    code: str
    name: str
    folder: Path
    codes: tuple[str, ...] = ()
    telling: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()
    phones: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    sexes: Mapping[str, str] = field(default_factory=dict)

    def has(self, part: str) -> bool:
        """Whether its folder holds this file or folder."""
        return (self.folder / part).exists()


@cache
def languages(part: str = DECLARATION) -> tuple[str, ...]:
    """Return the codes of the languages whose folder holds a file or folder, sorted.

    Raises:
        PluginError: Two plugins bring one language, or a package that should bring some is missing.
    """
    return tuple(code for code in sorted(_folders()) if (_folders()[code] / part).exists())


@cache
def language(code: str) -> Language:
    """Return what a language's folder declares.

    Args:
        code: Its own, or another that it reads.

    Raises:
        ConfigError: There is no such language, or its file is wrong.
    """
    own = main_code(code)
    if own not in _folders():
        raise ConfigError(f"no language {code!r}; choose from {', '.join(languages())}")
    return _declare(own, _folders()[own])


def find(code: str | None) -> Language | None:
    """Return what a note's language declares; ``None`` where the note names none that has a folder.

    Raises:
        ConfigError: Its file is wrong.
    """
    return language(code) if code and main_code(code) in _folders() else None


def main_code(code: str) -> str:
    """Return the code whose folder reads notes with a code: ``nb`` for ``nn``; else the code."""
    return _main_codes().get(code, code)


def other_codes() -> Mapping[str, str]:
    """Return the codes without a folder of their own, with the language that reads them."""
    return _main_codes()


def folder(code: str) -> Path | None:
    """Return the folder of a language, of ``ANY`` or of ``OTHER``; ``None`` where there is none."""
    return _OWN / code if code in (ANY, OTHER) else _folders().get(main_code(code))


def list_brought() -> tuple[str, ...]:
    """Return the languages that plugins bring, each with the distribution: ``et=deid-et 0.1``."""
    return tuple(
        f"{code}={_name_distribution(entry)}"
        for entry in _plugins()
        for code in sorted(_folders_of(_languages_folder(entry)))
    )


def digest() -> str:
    """Return a SHA-256 over the files of all folders."""
    roots = {ANY: _OWN / ANY, OTHER: _OWN / OTHER, **_folders()}
    return digest_of_files(
        (f"{code}/{name}", path) for code, root in roots.items() for name, path in paths_below(root)
    )


def read_toml(path: Path) -> dict[str, Any]:
    """Return a table of a language's folder.

    Raises:
        ConfigError: It is missing, not UTF-8 or not TOML; the message names folder and file.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path.parent.name}/{path.name}: {error}; correct the file") from error


@cache
def _folders() -> Mapping[str, Path]:
    """Return the folders of all languages; that of a plugin takes the place of the product's."""
    found: dict[str, Path] = {}
    for entry in _plugins():
        for code, place in _folders_of(_languages_folder(entry)).items():
            if code in found:
                raise PluginError(
                    f"language {code!r} is brought by two plugins, one of them"
                    f" {_name_distribution(entry)}; uninstall one"
                )
            found[code] = place
    return {**_folders_of(_OWN), **found}


def _folders_of(root: Path) -> dict[str, Path]:
    return {path.parent.name: path.parent for path in root.glob(f"*/{DECLARATION}")}


@cache
def _plugins() -> tuple[EntryPoint, ...]:
    return tuple(sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)))


def _languages_folder(entry: EntryPoint) -> Path:
    """Return the folder ``languages`` of a plugin's package, which is not imported."""
    spec = find_spec(entry.module) if entry.module.isidentifier() else None
    places = spec.submodule_search_locations if spec else None
    if not places:
        raise PluginError(
            f"languages {entry.name!r}: {_name_distribution(entry)} has no package"
            f" {entry.value!r}; install it again"
        )
    return Path(next(iter(places))) / "languages"


def _name_distribution(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value


@cache
def _main_codes() -> Mapping[str, str]:
    return {
        other: code
        for code, place in sorted(_folders().items())
        for other in _declare(code, place).codes
    }


@cache
def _declare(code: str, place: Path) -> Language:
    table = read_toml(place / DECLARATION)
    lists = {key: tuple(_text(code, key, table.pop(key, "")).split()) for key in _LISTS}
    name, sexes = _text(code, "name", table.pop("name", "")), table.pop("sexes", {})
    if not name:
        raise ConfigError(f'{code}/{DECLARATION}: name is missing; write name = "Danish"')
    if not isinstance(sexes, dict) or not {*sexes.values()} <= {"female", "male"}:
        raise ConfigError(f"{code}/{DECLARATION}: sexes: write a letter = female or male")
    if wrong := [word for word in lists["telling"] if not word.isalpha()]:
        raise ConfigError(
            f"{code}/{DECLARATION}: telling: {', '.join(wrong)}: write words of letters alone"
        )
    _refuse_unknown(code, table)
    return Language(code, name, place, sexes=sexes, **lists)


def _text(code: str, key: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{code}/{DECLARATION}: {key}: write words between quotes")
    return value


def _refuse_unknown(code: str, left: Iterable[str]) -> None:
    if left := sorted(left):
        raise ConfigError(
            f"{code}/{DECLARATION}: unknown keys {', '.join(left)}; known are name,"
            f" {', '.join(_LISTS)} and sexes"
        )
