"""Reads language folders and assembles them into what one note needs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid_assets.core.errors import ConfigError
from deid_assets.core.phi import Phi
from deid_rules.arbitrate import arbitrate
from deid_rules.candidate import Candidate
from deid_rules.grammar import NameGrammar
from deid_rules.lexicon import PHRASE_LABELS, WORD_KINDS, Lexicon
from deid_rules.names import NameFinder
from deid_rules.patterns import Compiled, Pattern, compile_pattern, read_patterns
from deid_rules.places import PlaceFinder
from deid_rules.propagate import propagate
from deid_rules.scan import Scanner
from deid_rules.view import View

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


class Rulebook:
    """The rules of some languages together; what a note of theirs is read with.

    Args:
        languages: Read folders and gazetteers; their lists add up.
        allowed: Categories to look for.
        profile: Name of the profile, for patterns that are for some profiles only.
        min_score: Candidates below it are dropped before arbitration.
        pairs_only: Trust a dictionary only for a given with a family name.
    """

    def __init__(
        self,
        languages: Sequence[Language],
        *,
        allowed: frozenset[Phi],
        profile: str,
        min_score: float,
        pairs_only: bool = False,
    ) -> None:
        lexicon = Lexicon()
        for language in languages:
            for kind, entries in language.words.items():
                lexicon.add_words(WORD_KINDS[kind], entries)
            for kind, entries in language.phrases.items():
                lexicon.add_phrases(PHRASE_LABELS[kind], entries)
        lexicon.freeze()
        self._allowed, self._min_score = allowed, min_score
        self._grammar = NameGrammar(lexicon)
        compiled = _compile(languages, allowed, profile)
        self._kept_ids = frozenset(each.pattern.id for each in compiled if each.pattern.keep)
        self._scanner = Scanner(compiled, lexicon)
        self._names = NameFinder(self._grammar, pairs_only=pairs_only)
        self._places = PlaceFinder(self._grammar)
        self.labels = self._labels(compiled, languages)

    def _labels(self, compiled: Sequence[Compiled], languages: Sequence[Language]) -> frozenset[Phi]:
        by_pattern = {label for each in compiled for label in each.labels}
        by_phrase = {PHRASE_LABELS[kind] for language in languages for kind in language.phrases}
        return frozenset(by_pattern | by_phrase | {Phi.NAME}) & self._allowed

    def find(self, view: View) -> list[Candidate]:
        """Return the candidates that stand after arbitration, sorted, no two overlapping."""
        found = list(self._scanner.scan(view))
        found += self._places.find(view)
        found += self._names.find(view)
        kept = [candidate for candidate in found if candidate.rule in self._kept_ids]
        found = [c for c in found if c.score >= self._min_score and c.label in self._allowed]
        found = _outside(found, kept, self._kept_ids)
        found += propagate([c for c in found if c.label is Phi.NAME], view, self._grammar)
        return arbitrate(found, view.text)


def _compile(languages: Sequence[Language], allowed: frozenset[Phi], profile: str) -> list[Compiled]:
    compiled = [
        compile_pattern(pattern, language.code)
        for language in languages
        for pattern in language.patterns
        if not pattern.profiles or profile in pattern.profiles
    ]
    return [each for each in compiled if each.pattern.keep or each.labels & allowed]


def _outside(found: list[Candidate], kept: list[Candidate], kept_ids: frozenset[str]) -> list[Candidate]:
    """Candidates that overlap no kept range of a higher score; the kept ranges themselves are left out."""
    ranges = sorted((keep.start, keep.end, keep.score) for keep in kept)
    survivors, at = [], 0
    for candidate in sorted(c for c in found if c.rule not in kept_ids):
        while at < len(ranges) and ranges[at][1] <= candidate.start:
            at += 1
        ahead, dropped = at, False
        while ahead < len(ranges) and ranges[ahead][0] < candidate.end and not dropped:
            dropped = ranges[ahead][1] > candidate.start and ranges[ahead][2] > candidate.score
            ahead += 1
        if not dropped:
            survivors.append(candidate)
    return survivors
