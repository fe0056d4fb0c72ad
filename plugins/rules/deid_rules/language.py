"""Reads language folders and the user's own lists."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid_assets.core.errors import ConfigError
from deid_rules.lexicon import PHRASE_LABELS, WORD_KINDS
from deid_rules.patterns import Pattern, read_patterns

LANGUAGES = Path(__file__).with_name("languages")
ANY = "any"
"""The folder of the rules that need no language."""
OTHER = "other"
"""The folder that stands in for a language without one."""


@dataclass(frozen=True, slots=True)
class Language:
    """One folder: its patterns, its word lists by kind, its phrases by category."""

    code: str
    patterns: tuple[Pattern, ...]
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    phrases: Mapping[str, Sequence[str]] = field(default_factory=dict)


def available() -> frozenset[str]:
    """Codes of the languages that have a folder."""
    return frozenset(folder.parent.name for folder in LANGUAGES.glob("*/language.toml")) - {ANY, OTHER}


def read_language(code: str) -> Language:
    """Read a language's folder.

    Raises:
        ConfigError: There is no such folder, or a file in it is wrong.
    """
    folder = LANGUAGES / code
    if not (folder / "language.toml").is_file():
        raise ConfigError(f"no rules for language {code!r}; choose from {', '.join(sorted(available()))}")
    words: dict[str, list[str]] = {}
    phrases: dict[str, list[str]] = {}
    for kind, entries in _toml(folder / "language.toml").get("words", {}).items():
        _add(kind, entries, words, phrases, origin=f"{code}/language.toml")
    for path in sorted((folder / "dictionaries").glob("*.txt")):
        _add(path.stem, read_list(path), words, phrases, origin=f"{code}/{path.name}")
    patterns: list[Pattern] = []
    for path in sorted(folder.glob("patterns*.toml")):
        patterns += read_patterns(_toml(path), {}, f"{code}/{path.name}")
    return Language(code, tuple(patterns), words, phrases)


def read_gazetteer(path: Path) -> Language:
    """Read a user's list, one entry per line; the file's name says what it holds, ``hospitals.txt``.

    Raises:
        ConfigError: The file is missing or its name is not that of a list.
    """
    if not path.is_file():
        raise ConfigError(f"gazetteer {path}: no such file")
    words: dict[str, list[str]] = {}
    phrases: dict[str, list[str]] = {}
    _add(path.stem, read_list(path), words, phrases, origin=str(path))
    return Language("", (), words, phrases)


def read_list(path: Path) -> list[str]:
    """Lines of a dictionary, without blank lines and comments (``#``)."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path.parent.name}/{path.name}: {error}") from error


def _add(
    kind: str,
    entries: Iterable[str],
    words: dict[str, list[str]],
    phrases: dict[str, list[str]],
    *,
    origin: str,
) -> None:
    if kind in WORD_KINDS:
        words.setdefault(kind, []).extend(entries)
    elif kind in PHRASE_LABELS:
        phrases.setdefault(kind, []).extend(entries)
    else:
        known = ", ".join(sorted({*WORD_KINDS, *PHRASE_LABELS}))
        raise ConfigError(f"{origin}: unknown list {kind!r}; known are {known}")
