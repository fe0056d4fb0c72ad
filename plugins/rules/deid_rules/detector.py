"""The detector: chooses the rules for each note's language and turns findings into spans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from deid_assets.core.errors import ConfigError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi, Profile
from deid_assets.core.phi import profile as profile_named
from deid_assets.core.span import Span, SpanSet
from deid_rules.candidate import Candidate
from deid_rules.language import ANY, OTHER, Language, read_gazetteer, read_language
from deid_rules.lexicon import PHRASE_LABELS
from deid_rules.rulebook import Rulebook, lexicon_of, rules_of
from deid_rules.view import View

GROUP_CHARS = 200_000
"""Characters of text that are read together: enough for speed, little for memory."""


class RulesDetector:
    """Finds PHI by patterns, dictionaries and word grammars.

    A note in one of ``langs`` is read with that language's rules, one of no known language with all of them,
    one in another language with the rules for no language in particular.

    Args:
        langs: Languages to load; each is a folder of ``deid_rules/languages``.
        profile: Name of the profile; only its categories are looked for. Professions, sex and words for
            relatives are found where the profile has a label of their own for them.
        gazetteers: Your own lists; the file's name says what it holds (``hospitals.txt``, ``last_names.txt``).
        min_score: Findings below it are not returned.

    Raises:
        ConfigError: A language, profile or list is unknown, a file is wrong, or the score is outside [0, 1].
    """

    name = "rules"
    version = "0.1.0"

    def __init__(
        self,
        *,
        langs: Sequence[str] = ("en", "es"),
        profile: str = "safe_harbor",
        gazetteers: Sequence[Path] = (),
        min_score: float = 0.5,
    ) -> None:
        if not 0.0 <= min_score <= 1.0:
            raise ConfigError(f"min_score is {min_score}; choose a number from 0 to 1")
        self._again = partial(
            type(self), langs=tuple(langs), profile=profile, gazetteers=tuple(gazetteers), min_score=min_score
        )
        self._allowed = _allowed(profile_named(profile))
        self._min_score = min_score
        self._lists = [read_gazetteer(Path(path)) for path in gazetteers]
        self._rules = {
            code: rules_of(read_language(code), allowed=self._allowed, profile=profile) for code in {ANY, OTHER, *langs}
        }
        self._langs = tuple(dict.fromkeys(langs))
        self._base = lexicon_of([self._rules[ANY].language, *self._lists])
        self._rulebooks: dict[str | None, Rulebook] = {}
        self.labels = (
            frozenset({Phi.NAME, *_listed(self._lists)}.union(*(rules.labels for rules in self._rules.values())))
            & self._allowed
        )

    def __reduce__(self) -> tuple[Callable[[], RulesDetector], tuple[()]]:
        """Pickle the settings; compiled patterns do not travel."""
        return self._again, ()

    def detect(self, notes: Sequence[Note]) -> Iterator[SpanSet]:
        """Yield one set of spans per note, in order; no two of a note's spans overlap."""
        for group in _groups(notes):
            for note, found in zip(group, self._found(group), strict=True):
                spans = (Span(c.start, c.end, c.label, c.score, self.name, c.native) for c in found)
                yield SpanSet(note.note_id, note.digest, tuple(spans))

    def _found(self, notes: Sequence[Note]) -> list[list[Candidate]]:
        """What is found in each note; notes of one language are read together."""
        found: list[list[Candidate]] = [[] for _ in notes]
        by_lang: dict[str | None, list[int]] = {}
        for index, note in enumerate(notes):
            if note.text:
                by_lang.setdefault(note.lang, []).append(index)
        for lang, indexes in by_lang.items():
            views = [View(notes[index].text) for index in indexes]
            for index, candidates in zip(indexes, self._rulebook(lang).find(views), strict=True):
                found[index] = candidates
        return found

    def _rulebook(self, lang: str | None) -> Rulebook:
        """The rules for a language: its own and the common ones; built when first met."""
        key = lang if lang is None or lang in self._langs else OTHER
        if key not in self._rulebooks:
            rules = [self._rules[code] for code in (self._langs if key is None else (key,))]
            self._rulebooks[key] = Rulebook(
                [self._rules[ANY], *rules],
                lexicon_of([each.language for each in rules], self._base),
                allowed=self._allowed,
                min_score=self._min_score,
                pairs_only=key == OTHER,
            )
        return self._rulebooks[key]


def _groups(notes: Sequence[Note]) -> Iterator[Sequence[Note]]:
    """Runs of notes to be read together, each of at most ``GROUP_CHARS`` characters or one note."""
    first, chars = 0, 0
    for index, note in enumerate(notes):
        if index > first and chars + len(note.text) > GROUP_CHARS:
            yield notes[first:index]
            first, chars = index, 0
        chars += len(note.text)
    if first < len(notes):
        yield notes[first:]


def _listed(lists: Sequence[Language]) -> set[Phi]:
    return {PHRASE_LABELS[kind] for language in lists for kind in language.phrases}


def _allowed(profile: Profile) -> frozenset[Phi]:
    """Categories to look for.

    Where a profile gives relatives the label of names it means relatives' names, not the words for kinship.
    """
    labels = {label for label in Phi if profile.label_of(label) is not None}
    if profile.label_of(Phi.RELATIVE) == profile.label_of(Phi.NAME):
        labels.discard(Phi.RELATIVE)
    return frozenset(labels)
