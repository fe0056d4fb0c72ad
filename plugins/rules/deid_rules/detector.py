"""The detector: chooses the rules for each note's language and turns findings into spans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path

from deid_assets.extending import (
    ConfigError,
    Note,
    Phi,
    Profile,
    Span,
    SpanSet,
    pause_collector,
    runs_of,
)
from deid_assets.extending import profile as profile_named
from deid_assets.extending.languages import ANY, OTHER, language
from deid_rules.candidate import Candidate
from deid_rules.language import available, read_gazetteer, read_language
from deid_rules.misread import add_more, mend
from deid_rules.patterns import NATIVE_LABELS
from deid_rules.rulebook import Rulebook, rules_of
from deid_rules.spoken import Telling
from deid_rules.view import TextView, views_of

MAX_RULEBOOKS = 16
"""Combinations of languages kept ready; one per language, and those of mixed notes."""
GROUP_CHARS = 2_000_000
"""Characters of text that are read together.

Each set of patterns stays in the cache while it reads them.
"""


class RulesDetector:
    """Finds PHI by patterns, dictionaries and word grammars.

    A note is read with the rules of the language that it names, and of those its text is in to a
    good part. Where neither tells, all rules are used; in a language that has none, the rules for
    no language in particular.

    Args:
        langs: Languages to use; each has a folder with rules. All when not given.
        profile: Name of the profile; only its categories are looked for. Professions, sex and words
            for relatives are found where the profile has a label of their own for them.
        gazetteers: Your own lists: compiled ones (``.gaz``), or text whose name says what it holds
            (``hospitals.txt``).
        min_score: Findings below it are not returned.
        ocr: Read also with letters and digits exchanged that a scan confuses, ``O6l2`` as ``0612``.

    Raises:
        ConfigError: A language, profile or list is unknown, a file is wrong, or the score is
            outside [0, 1].
    """

    name = "rules"
    version = "0.1.0"

    def __init__(
        self,
        *,
        langs: Sequence[str] | None = None,
        profile: str = "safe_harbor",
        gazetteers: Sequence[Path] = (),
        min_score: float = 0.5,
        ocr: bool = False,
    ) -> None:
        if not 0.0 <= min_score <= 1.0:
            raise ConfigError(f"min_score is {min_score}; choose a number from 0 to 1")
        self._langs = tuple(sorted(available()) if langs is None else dict.fromkeys(langs))
        self._again = partial(
            type(self),
            langs=self._langs,
            profile=profile,
            gazetteers=tuple(gazetteers),
            min_score=min_score,
            ocr=ocr,
        )
        self._allowed = _list_allowed(profile_named(profile))
        self._min_score, self._ocr = min_score, ocr
        read = [(code, read_language(code)) for code in (ANY, OTHER, *self._langs)]
        self._rules = {
            code: rules_of(folder, allowed=self._allowed, profile=profile) for code, folder in read
        }
        spoken = [language(code) for code in self._langs]
        self._folders = {other: each.code for each in spoken for other in each.codes}
        self._alike = {code: language(code).alike for code in available()}
        self._telling = Telling({each.code: each.telling for each in spoken})
        self._lists = [read_gazetteer(Path(path)) for path in gazetteers]
        self._rulebook = lru_cache(MAX_RULEBOOKS)(self._make_rulebook)
        folders = (folder for _, folder in read)
        every = frozenset[Phi]({Phi.NAME}).union(
            *(each.labels for each in (*folders, *self._lists))
        )
        self.labels = every & self._allowed
        self.native_labels = NATIVE_LABELS

    def __reduce__(self) -> tuple[Callable[[], RulesDetector], tuple[()]]:
        """Pickle the settings; compiled patterns do not travel."""
        return self._again, ()

    def detect(self, notes: Sequence[Note]) -> Iterator[SpanSet]:
        """Yield one set of spans per note, in order; no two of a note's spans overlap."""
        for group in runs_of(notes, chars=GROUP_CHARS):
            with pause_collector():
                found = [
                    self._spans(note, found)
                    for note, found in zip(group, self._find(group), strict=True)
                ]
            yield from found

    def _spans(self, note: Note, found: Sequence[Candidate]) -> SpanSet:
        name = self.name
        spans = [
            Span(start, end, label, score, name, native)
            for start, end, label, score, _, native in found
        ]
        return SpanSet(note.note_id, note.digest, tuple(spans))

    def _find(self, notes: Sequence[Note]) -> list[list[Candidate]]:
        """Return what is found in each note; notes of the same languages are read together."""
        found: list[list[Candidate]] = [[] for _ in notes]
        by_langs: dict[tuple[str, ...], list[int]] = {}
        for index, note in enumerate(notes):
            if note.text:
                by_langs.setdefault(self._read_as(note), []).append(index)
        for langs, indexes in by_langs.items():
            views = list(views_of([notes[index].text for index in indexes]))
            for index, candidates in zip(indexes, self._rulebook(langs).find(views), strict=True):
                found[index] = candidates
        if self._ocr:
            self._add_misread(notes, found)
        return found

    def _add_misread(self, notes: Sequence[Note], found: list[list[Candidate]]) -> None:
        """Add what is found once the confusions of a scan are mended.

        It is added where nothing was found before.
        """
        for index, note in enumerate(notes):
            mended = mend(note.text)
            if mended != note.text:
                (more,) = self._rulebook(self._read_as(note)).find([TextView(mended)])
                found[index] = add_more(found[index], more)

    def _read_as(self, note: Note) -> tuple[str, ...]:
        """The folders for a note's language or languages, sorted."""
        declared = self._folder_of(note.lang)
        spoken = self._telling.languages(note.text, declared=declared)
        named = {declared, *map(self._folder_of, spoken)}
        chosen = {lang for lang in self._unlike(named, declared) if lang in self._langs}
        if declared is not None and declared not in self._langs:
            chosen.add(OTHER)
        return tuple(sorted(chosen)) or ((OTHER,) if spoken else self._langs) or (OTHER,)

    def _unlike(self, langs: set[str | None], declared: str | None) -> set[str]:
        """The languages of a note, without one that is only mistaken for the one that it names."""
        alike = self._alike.get(declared or "", ())
        return {lang for lang in langs if lang is not None and lang not in alike}

    def _folder_of(self, lang: str | None) -> str | None:
        """The folder that reads a language, by its own code or another."""
        return lang if lang is None else self._folders.get(lang, lang)

    def _make_rulebook(self, langs: tuple[str, ...]) -> Rulebook:
        """The rules of some folders and the common ones."""
        return Rulebook(
            [self._rules[code] for code in langs],
            self._rules[ANY],
            self._lists,
            allowed=self._allowed,
            min_score=self._min_score,
        )


def _list_allowed(profile: Profile) -> frozenset[Phi]:
    """Categories to look for.

    Where a profile gives relatives the label of names it means relatives' names, not the words for
    kinship.
    """
    labels = {label for label in Phi if profile.label_of(label) is not None}
    if profile.label_of(Phi.RELATIVE) == profile.label_of(Phi.NAME):
        labels.discard(Phi.RELATIVE)
    return frozenset(labels)
