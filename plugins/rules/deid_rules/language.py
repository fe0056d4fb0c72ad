"""Reads language folders and the user's own lists."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from deid_assets.extending import ConfigError, Phi
from deid_assets.extending.lists import Gazetteer, read_words, vocabulary
from deid_rules.lexicon import PHRASE_LABELS, WORD_KINDS, CompiledList, WordLists
from deid_rules.patterns import Pattern, read_patterns

LANGUAGES = Path(__file__).with_name("languages")
ANY = "any"
"""The folder of the rules that need no language."""
OTHER = "other"
"""The folder that stands in for a language without one."""
NAME_SETTINGS = frozenset(("endings", "capitals_tell", "pairs_only"))


@dataclass(frozen=True, eq=False)
class Language:
    """One folder; its patterns and lists are read when first needed.

    Args:
        code: ISO 639-1 code, or one of the folders for no language.
        pattern_labels: Categories that its patterns give.
        words: Word lists of ``language.toml`` by kind.
        files: Its dictionaries by kind, and the words that ``deid_assets.vocabulary`` has of it.
        endings: Inflectional endings, each with what stands in its place in the lists.
        capitals_tell: Whether a capital within a sentence makes a name likely; not in German.
        pairs_only: Whether the dictionary counts only for a given with a family name.
        telling: Words and letters by which a text in it is told from one in most other languages.
        codes: Other codes of notes that it reads: those of Nynorsk and of Norwegian.
    """

    code: str
    pattern_labels: frozenset[Phi]
    words: Mapping[str, Sequence[str]]
    files: Mapping[str, Path]
    endings: tuple[tuple[str, str], ...] = ()
    capitals_tell: bool = True
    pairs_only: bool = False
    telling: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()

    @property
    def labels(self) -> frozenset[Phi]:
        """Categories of its patterns and phrases."""
        return self.pattern_labels.union(
            PHRASE_LABELS[kind] for kind in (*self.words, *self.files) if kind in PHRASE_LABELS
        )

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """The patterns of all its files.

        Raises:
            ConfigError: A file is wrong, or a pattern gives a category that the folder does not
                declare.
        """
        patterns: list[Pattern] = []
        for path in sorted((LANGUAGES / self.code).glob("patterns*.toml")):
            patterns += read_patterns(_toml(path), {}, f"{self.code}/{path.name}")
        for pattern in patterns:
            if undeclared := pattern.labels - self.pattern_labels:
                raise ConfigError(
                    f"{self.code}: pattern {pattern.id!r} gives {', '.join(sorted(undeclared))}; "
                    f"add that to labels in {self.code}/language.toml"
                )
        return tuple(patterns)

    @cached_property
    def lists(self) -> WordLists:
        """All its lists."""
        lists = WordLists()
        for kind, entries in self.words.items():
            _add(lists, kind, entries)
        for kind, path in self.files.items():
            _add(lists, kind, read_words(path))
        return lists


def available() -> frozenset[str]:
    """Codes of the languages that have a folder."""
    return frozenset(folder.parent.name for folder in LANGUAGES.glob("*/language.toml")) - {
        ANY,
        OTHER,
    }


@cache
def read_language(code: str) -> Language:
    """Read ``language.toml`` of a language's folder, once in a process.

    Raises:
        ConfigError: There is no such folder, or the file is wrong.
    """
    folder = LANGUAGES / code
    if not (folder / "language.toml").is_file():
        raise ConfigError(
            f"no rules for language {code!r}; choose from {', '.join(sorted(available()))}"
        )
    origin = f"{code}/language.toml"
    settings = _toml(folder / "language.toml")
    words: dict[str, Sequence[str]] = settings.pop("words", {})
    names: dict[str, Any] = settings.pop("names", {})
    telling: str = settings.pop("telling", "")
    labels: str = settings.pop("labels", "")
    codes: str = settings.pop("codes", "")
    own = {path.stem: path for path in sorted((folder / "dictionaries").glob("*.txt"))}
    files = {**vocabulary.files(code), **own}
    if unknown := {*settings, *(set(names) - NAME_SETTINGS)}:
        raise ConfigError(
            f"{origin}: unknown keys {', '.join(sorted(unknown))}; known are words, names, labels,"
            " codes and telling"
        )
    for kind in (*words, *files):
        _check_kind(kind, origin=f"{code}/{files[kind].name}" if kind in files else origin)
    return Language(
        code,
        _labels(labels, origin),
        words,
        files,
        endings=tuple(_ending(entry) for entry in names.get("endings", ())),
        capitals_tell=names.get("capitals_tell", True),
        pairs_only=names.get("pairs_only", False),
        telling=_telling(telling, origin),
        codes=tuple(codes.split()),
    )


def _labels(declared: str, origin: str) -> frozenset[Phi]:
    try:
        return frozenset(map(Phi, declared.split()))
    except ValueError as error:
        raise ConfigError(
            f"{origin}: labels: {error}; name categories of deid_assets.Phi"
        ) from None


def _telling(declared: str, origin: str) -> tuple[str, ...]:
    words = tuple(declared.split())
    if wrong := [word for word in words if not word.isalpha()]:
        raise ConfigError(f"{origin}: telling: {', '.join(wrong)}: write words of letters alone")
    return words


def _ending(entry: str) -> tuple[str, str]:
    """``sen=nen``: where a word ends in ``sen``, look it up with ``nen``; ``lla``: without."""
    ending, _, instead = entry.partition("=")
    return ending, instead


def read_gazetteer(path: Path) -> WordLists | CompiledList:
    """Read a user's list: one that ``deid gazetteer build`` made, or text of one entry per line.

    The name of a text says what it holds, ``hospitals.txt``.

    Raises:
        InputError: A compiled list is missing or broken.
        ConfigError: A text is missing or its name is not that of a list.
    """
    if path.suffix == ".gaz":
        return CompiledList(Gazetteer(path))
    if not path.is_file():
        raise ConfigError(f"gazetteer {path}: no such file")
    _check_kind(path.stem, origin=str(path))
    lists = WordLists()
    _add(lists, path.stem, read_words(path))
    return lists


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path.parent.name}/{path.name}: {error}") from error


def _check_kind(kind: str, *, origin: str) -> None:
    if kind not in WORD_KINDS and kind not in PHRASE_LABELS:
        known = ", ".join(sorted({*WORD_KINDS, *PHRASE_LABELS}))
        raise ConfigError(f"{origin}: unknown list {kind!r}; known are {known}")


def _add(lists: WordLists, kind: str, entries: Iterable[str]) -> None:
    if kind in WORD_KINDS:
        lists.add_words(WORD_KINDS[kind], entries)
    else:
        lists.add_phrases(PHRASE_LABELS[kind], entries)
