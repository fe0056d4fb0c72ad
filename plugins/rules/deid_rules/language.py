"""Reads the rules of language folders and the user's own lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from deid_assets.extending import ConfigError, Phi
from deid_assets.extending.languages import ANY, OTHER, RULES, folder, languages, read_toml
from deid_assets.extending.lists import Gazetteer, read_words, vocabulary
from deid_rules.lexicon import PHRASE_LABELS, WORD_KINDS, CompiledList, WordLists
from deid_rules.patterns import Pattern, read_patterns

NAME_SETTINGS = frozenset(("endings", "capitals_tell", "pairs_only"))


@dataclass(frozen=True, eq=False)
class RulesFolder:
    """The rules of one folder; its patterns and lists are read when first needed.

    Args:
        code: ISO 639-1 code, or one of the folders for no language.
        folder: Where its files are.
        pattern_labels: Categories that its patterns give.
        words: Word lists of ``rules.toml`` by kind.
        files: Its files in ``names`` and ``words`` by kind.
        endings: Inflectional endings, each with what stands in its place in the lists.
        capitals_tell: Whether a capital within a sentence makes a name likely; not in German.
        pairs_only: Whether the dictionary counts only for a given with a family name.
    """

    code: str
    folder: Path
    pattern_labels: frozenset[Phi]
    words: Mapping[str, Sequence[str]]
    files: Mapping[str, Path]
    endings: tuple[tuple[str, str], ...] = ()
    capitals_tell: bool = True
    pairs_only: bool = False

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
        for path in sorted((self.folder / "rules").glob("patterns*.toml")):
            patterns += read_patterns(read_toml(path), {}, f"{self.code}/{path.name}")
        for pattern in patterns:
            if undeclared := pattern.labels - self.pattern_labels:
                raise ConfigError(
                    f"{self.code}: pattern {pattern.id!r} gives {', '.join(sorted(undeclared))}; "
                    f"add that to labels in {self.code}/{RULES}"
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
    """Codes of the languages that have rules."""
    return frozenset(languages(RULES))


@cache
def read_language(code: str) -> RulesFolder:
    """Read ``rules.toml`` of a language's folder, once in a process.

    Raises:
        ConfigError: There is no such folder, or the file is wrong.
    """
    place = folder(code)
    if place is None or code not in (ANY, OTHER, *available()):
        raise ConfigError(
            f"no rules for language {code!r}; choose from {', '.join(sorted(available()))}"
        )
    origin = f"{code}/{RULES}"
    settings = read_toml(place / RULES)
    words: dict[str, Sequence[str]] = settings.pop("words", {})
    names: dict[str, Any] = settings.pop("names", {})
    labels: str = settings.pop("labels", "")
    own = {path.stem: path for path in sorted((place / "names").glob("*.txt"))}
    files = {**vocabulary.files(code), **own}
    if unknown := {*settings, *(set(names) - NAME_SETTINGS)}:
        raise ConfigError(
            f"{origin}: unknown keys {', '.join(sorted(unknown))}; known are words, names and"
            " labels"
        )
    for kind in (*words, *files):
        _check_kind(kind, origin=f"{code}/{files[kind].name}" if kind in files else origin)
    return RulesFolder(
        code,
        place,
        _labels(labels, origin),
        words,
        files,
        endings=tuple(_ending(entry) for entry in names.get("endings", ())),
        capitals_tell=names.get("capitals_tell", True),
        pairs_only=names.get("pairs_only", False),
    )


def _labels(declared: str, origin: str) -> frozenset[Phi]:
    try:
        return frozenset(map(Phi, declared.split()))
    except ValueError as error:
        raise ConfigError(
            f"{origin}: labels: {error}; name categories of deid_assets.Phi"
        ) from None


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


def _check_kind(kind: str, *, origin: str) -> None:
    if kind not in WORD_KINDS and kind not in PHRASE_LABELS:
        known = ", ".join(sorted({*WORD_KINDS, *PHRASE_LABELS}))
        raise ConfigError(f"{origin}: unknown list {kind!r}; known are {known}")


def _add(lists: WordLists, kind: str, entries: Iterable[str]) -> None:
    if kind in WORD_KINDS:
        lists.add_words(WORD_KINDS[kind], entries)
    else:
        lists.add_phrases(PHRASE_LABELS[kind], entries)
