"""Generators of corpora that look like a site's, as assets: what they made, learnt and copied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from deid_assets.extending import DisjointSpans, Document, InputError, Note, SpanSet
from deid_assets.extending.commands import Annotated
from deid_assets.extending.corpora import CopyGate, SyntheticCorpus
from deid_assets.extending.grammars import languages
from deid_copying.filters import NoteFilters, sieve
from deid_copying.report import CopyLimits, CopyReport, CopyVerdict, measure_copies
from deid_synthesis.corpus import make_corpus
from deid_synthesis.frames import make_frame_corpus
from deid_synthesis.learning import learn
from deid_synthesis.profile import LEAST, SiteProfile
from deid_synthesis.sitelike import make_site_corpus
from deid_synthesis.synthesizing import COPIED, SENSITIVE

Made = Iterable[tuple[Note, SpanSet]]
Source = Callable[[], Iterator[Document]]
SPARE = 3
"""Notes that are made for each one that is kept, at most; filters take some."""
UNSEEN = 90_001
"""Added to the seed of the notes that show what is said by chance."""


def grammar_corpus(source: Source, *, notes: int, seed: int) -> SyntheticCorpus:
    """Return notes of the grammars in the layout of the source.

    Raises:
        InputError: No language with a grammar has notes of enough patients.
    """

    def make_notes(profile: SiteProfile, count: int) -> Made:
        return make_site_corpus(profile, notes=count, seed=seed)

    def make_unseen(lang: str) -> Made:
        return make_corpus(lang=lang, notes=notes, seed=seed + UNSEEN)

    return _corpus(source, notes, make_notes, make_unseen)


def frames_corpus(source: Source, *, notes: int, seed: int) -> SyntheticCorpus:
    """Return true-to-life notes with other people, in the lengths and letters of the source.

    Raises:
        InputError: As for ``grammar_corpus``, or the composed notes did not come along.
    """

    def make_notes(profile: SiteProfile, count: int) -> Made:
        return make_frame_corpus(lang=profile.lang, notes=count, seed=seed, profile=profile)

    def make_unseen(lang: str) -> Made:
        return make_frame_corpus(lang=lang, notes=notes, seed=seed + UNSEEN)

    return _corpus(source, notes, make_notes, make_unseen)


def _corpus(
    source: Source,
    notes: int,
    made: Callable[[SiteProfile, int], Made],
    unseen: Callable[[str], Made],
) -> SyntheticCorpus:
    def real() -> Iterator[Annotated]:
        return (Annotated(one.note, one.spans) for one in source())

    shares = _shares(real(), notes)
    profiles = {lang: learn(real(), lang) for lang in shares}
    kept: list[Annotated] = []
    removed: Counter[str] = Counter()
    filters = NoteFilters(copied=COPIED, sensitive=SENSITIVE)
    for lang, count in shares.items():
        every = partial(_annotate, made, profiles[lang], SPARE * count)
        found = sieve(every, real, filters)
        kept += [one for one, _ in zip(found.of(every()), range(count), strict=False)]
        removed.update(found.removed)
    if not kept:
        raise InputError("the filters left no note; the site's notes are of the generator's own")
    report = measure_copies(
        lambda: kept,
        real,
        lambda: (Annotated(*one) for lang in shares for one in unseen(lang)),
        limits=CopyLimits(longest=COPIED - 1),
    )
    return _result(kept, report, profiles=profiles, removed=removed, asked_for=notes)


def _annotate(
    made: Callable[[SiteProfile, int], Made], profile: SiteProfile, count: int
) -> Iterator[Annotated]:
    for note, spans in made(profile, count):
        yield Annotated(note, spans)


def _shares(notes: Iterable[Annotated], wanted: int) -> dict[str, int]:
    """Return how many notes of each language are made: as many as the source has, by share.

    Raises:
        InputError: No language with a grammar has notes of enough patients.
    """
    owners: dict[str, set[str]] = {}
    counts: Counter[str] = Counter()
    for one in notes:
        lang = one.note.lang or ""
        counts[lang] += 1
        patients = owners.setdefault(lang, set())
        if len(patients) < LEAST:
            patients.add(one.note.patient_id or one.note.note_id)
    known = [lang for lang in sorted(counts) if lang in languages() and len(owners[lang]) >= LEAST]
    if not known:
        raise InputError(
            f"no language with a grammar has annotated notes of {LEAST} patients; more notes are"
            " needed, so that nobody's can be told from what is learnt"
        )
    total = sum(counts[lang] for lang in known)
    shares = {lang: wanted * counts[lang] // total for lang in known}
    largest = max(known, key=lambda lang: counts[lang])
    shares[largest] += wanted - sum(shares.values())
    return {lang: count for lang, count in shares.items() if count}


def _result(
    kept: Sequence[Annotated],
    report: CopyReport,
    *,
    profiles: dict[str, SiteProfile],
    removed: Counter[str],
    asked_for: int,
) -> SyntheticCorpus:
    gates = {one.limit: one for one in report.verdicts}
    return SyntheticCorpus(
        documents=[Document(one.note, DisjointSpans.of(one.note, one.spans or ())) for one in kept],
        asked_for=asked_for,
        ngrams=_gate(gates["ngrams"]),
        passages=_gate(gates["passages"]),
        near=_gate(gates["near"]),
        report={
            "profiles": {lang: profile.to_json() for lang, profile in profiles.items()},
            "removed": dict(removed),
            "copied": report.to_json(),
        },
        counts={"removed": sum(removed.values()), "languages": len(profiles)},
    )


def _gate(verdict: CopyVerdict) -> CopyGate:
    return CopyGate(verdict.holds, verdict.said)
