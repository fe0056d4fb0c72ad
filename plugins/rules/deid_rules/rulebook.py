"""The rules of some languages together: what a note of theirs is read with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import TypeVar

from deid_assets.extending import Phi
from deid_rules.ages import refine_age
from deid_rules.arbitrate import arbitrate
from deid_rules.candidate import START, Candidate
from deid_rules.grammar import NameGrammar
from deid_rules.language import RulesFolder
from deid_rules.lexicon import CompiledList, Lexicon, WordKind, WordLists
from deid_rules.names import NameFinder
from deid_rules.patterns import Pattern
from deid_rules.places import PlaceFinder
from deid_rules.propagate import propagate
from deid_rules.scan import Scanner
from deid_rules.sets import PatternSet, pattern_sets
from deid_rules.view import TextView

T = TypeVar("T")
MAX_RULES = 32
"""Rules kept for detectors that are made later in the process.

Those of every folder for three profiles.
"""


@dataclass(frozen=True, eq=False)
class LanguageRules:
    """A language's rules as far as they are wanted.

    Args:
        language: The folder.
        allowed: Categories to look for; a pattern that gives none of them is left out.
        profile: Name of the profile, for patterns that are for some profiles only.
    """

    language: RulesFolder
    allowed: frozenset[Phi]
    profile: str

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """Those of the folder's patterns that the profile and the categories call for.

        Raises:
            ConfigError: A file of the folder is wrong.
        """
        return tuple(filter(self._is_wanted, self.language.patterns))

    def _is_wanted(self, pattern: Pattern) -> bool:
        if pattern.profiles and self.profile not in pattern.profiles:
            return False
        return pattern.keep or bool(pattern.labels & self.allowed)

    @cached_property
    def sets(self) -> tuple[PatternSet, ...]:
        """The patterns, compiled to be looked for together when a note first needs them.

        Raises:
            ConfigError: A pattern is not RE2.
        """
        return tuple(pattern_sets(self.patterns, self.language.code))


@lru_cache(MAX_RULES)
def rules_of(language: RulesFolder, *, allowed: frozenset[Phi], profile: str) -> LanguageRules:
    """Return the rules of a language for a profile.

    Detectors of a process share them, with their automata.

    The arguments are those of ``LanguageRules``.
    """
    return LanguageRules(language, allowed, profile)


class Rulebook:
    """Finds PHI in one text by the rules of some languages.

    Args:
        rules: Of the languages; a note in several is read with all of them.
        common: Rules that hold in every language.
        lists: The user's own.
        allowed: Categories to look for.
        min_score: Candidates below it are dropped before arbitration.
    """

    def __init__(
        self,
        rules: Sequence[LanguageRules],
        common: LanguageRules,
        lists: Sequence[WordLists | CompiledList],
        *,
        allowed: frozenset[Phi],
        min_score: float,
    ) -> None:
        languages = [each.language for each in rules]
        rules = [common, *rules]
        lexicon = Lexicon(
            [*(each.language.lists for each in rules), *lists],
            endings=[ending for language in languages for ending in language.endings],
        )
        self._allowed, self._min_score = allowed, min_score
        self._grammar = NameGrammar(lexicon)
        self._capitals_tell = any(language.capitals_tell for language in languages)
        self._kept_ids = frozenset(
            pattern.id for each in rules for pattern in each.patterns if pattern.keep
        )
        self._scanner = Scanner(
            [pattern_set for each in rules for pattern_set in each.sets], lexicon
        )
        self._names = NameFinder(
            self._grammar, pairs_only=all(language.pairs_only for language in languages)
        )
        self._places = PlaceFinder(self._grammar)

    def find(self, views: Sequence[TextView]) -> list[list[Candidate]]:
        """Return for each text the candidates that stand after arbitration.

        They are sorted, and no two overlap.
        """
        begun = self._find_beginnings(views)
        return [
            self._settle(*each)
            for each in zip(views, self._scanner.scan(views), *begun, strict=True)
        ]

    def _find_beginnings(
        self, views: Sequence[TextView]
    ) -> tuple[list[list[tuple[int, int]]], list[list[int]]]:
        """The words of each text that may begin a name or a phrase.

        Those that may begin a name come with their kinds.
        """
        import numpy as np  # noqa: PLC0415

        words = chain.from_iterable(view.capital_words for view in views)
        flags = np.fromiter(map(self._grammar.lexicon.flags, words), np.int64)
        at = np.concatenate([view.capitals for view in views])
        ends = np.cumsum([len(view.capitals) for view in views])
        ahead = np.append(at[1:] - at[:-1], 0)
        ahead[ends[ends > 0] - 1] = 0
        following = np.append(flags[1:], 0) * (ahead == 1)
        names = self._names.may_begin(flags, following).nonzero()[0]
        places = self._places.may_begin(flags, ahead).nonzero()[0]
        named = list(
            zip(
                at[names].tolist(),
                (flags[names] & (WordKind.ANY | WordKind.LETTER)).tolist(),
                strict=True,
            )
        )
        placed = at[places].tolist()
        name_ends, place_ends = (
            np.searchsorted(names, ends).tolist(),
            np.searchsorted(places, ends).tolist(),
        )
        return _parts(named, name_ends), _parts(placed, place_ends)

    def _settle(
        self,
        view: TextView,
        found: list[Candidate],
        named: list[tuple[int, int]],
        placed: list[int],
    ) -> list[Candidate]:
        found += self._places.find(view, placed)
        found += self._names.find(view, named)
        if not found:
            return found
        kept = [candidate for candidate in found if candidate.rule in self._kept_ids]
        found = [c for c in found if c.score >= self._min_score and c.label in self._allowed]
        found = _outside(found, kept, self._kept_ids)
        names = [candidate for candidate in found if candidate.label is Phi.NAME]
        again = list(propagate(names, view, self._grammar, capitals_tell=self._capitals_tell))
        found += _outside(again, kept, self._kept_ids)
        settled = arbitrate(found, view.text)
        return [refine_age(c, view.text) if c.label is Phi.AGE else c for c in settled]


def _parts(items: list[T], ends: Sequence[int]) -> list[list[T]]:
    """The items in parts that end at these indexes."""
    return [items[start:end] for start, end in pairwise((0, *ends))]


def _outside(
    found: list[Candidate], kept: list[Candidate], kept_ids: frozenset[str]
) -> list[Candidate]:
    """Candidates that lie within no kept range of a higher score.

    The kept ranges themselves are left out.
    """
    if not kept or not found:
        return found
    ranges = [(keep.start, keep.end, keep.score) for keep in sorted(kept, key=START)]
    survivors, at = [], 0
    for candidate in sorted((c for c in found if c.rule not in kept_ids), key=START):
        while at < len(ranges) and ranges[at][1] <= candidate.start:
            at += 1
        ahead, dropped = at, False
        while ahead < len(ranges) and ranges[ahead][0] <= candidate.start and not dropped:
            dropped = ranges[ahead][1] >= candidate.end and ranges[ahead][2] > candidate.score
            ahead += 1
        if not dropped:
            survivors.append(candidate)
    return survivors
