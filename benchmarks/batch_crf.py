"""A CRF that learns from another detector's labels on the very notes that it is to read.

The detector's rules speak of some mentions; the CRF, whose features do not hold what the rules say, learns what the
others look like in this batch: its headings, its order of words, its people. It learns from one half of the patients
and reads the other, so that no note is read by a CRF that learnt that note's labels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import DisjointSpans, Document, Note, Phi, Span, SpanSet, TagScheme, Task, Token
from deid_crf.detector import marginals
from deid_crf.settings import Settings
from deid_crf.tagger import Tagger
from deid_crf.trainer import fitted

_PLACES = (Phi.STREET, Phi.CITY, Phi.REGION, Phi.COUNTRY, Phi.ZIP, Phi.LOCATION)
GROUP: Mapping[Phi, Phi] = {
    Phi.NAME: Phi.NAME,
    **dict.fromkeys(_PLACES, Phi.LOCATION),
    Phi.DATE: Phi.DATE,
    Phi.HOSPITAL: Phi.ORGANIZATION,
    Phi.ORGANIZATION: Phi.ORGANIZATION,
}
"""Categories that are looked for, and the coarse one that each is learnt as; of the others the rules miss little."""
FOUND = (Phi.NAME, Phi.LOCATION, Phi.DATE, Phi.ORGANIZATION)
REST = Phi.OTHER
"""What every other category is learnt as, so that a telephone number is no date."""
LEARNING: Mapping[str, Any] = {"max_iterations": 30, "predictions_of": "", "min_patients": 1, "keep_empty": 0.3}
HALVES = 2
_GAP = 2


@dataclass(frozen=True, slots=True)
class Scores:
    """Of one note.

    Args:
        tokens: Offsets into the note's text.
        values: (tokens, 4), probability of each category of ``FOUND``.
    """

    tokens: Sequence[Token]
    values: NDArray[np.float64] = field(repr=False)


def grouped(spans: Iterable[Span]) -> list[Span]:
    """Return spans under the coarse categories, in order; of those that overlap the longest."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start - span.end, span.start)):
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(replace(span, label=GROUP.get(span.label, REST), native_label=""))
    return sorted(kept, key=lambda span: span.start)


def scores(tagger: Tagger, notes: Sequence[Note]) -> list[Scores]:
    """Return what a model thinks of notes."""
    labels = tagger.model.labels
    groups = [GROUP.get(labels[tag[2:]], REST) if tag != "O" else None for tag in tagger.model.tags]
    columns = [[column for column, group in enumerate(groups) if group is wanted] for wanted in FOUND]
    return [
        Scores(found.tokens, np.stack([found.probabilities[:, column].sum(axis=1) for column in columns], axis=1))
        for found in marginals(tagger, notes)
    ]


def halves(notes: Sequence[Note]) -> list[int]:
    """Return which half each note is in: 0 or 1, the same for all notes of a patient and for notes with one text."""
    owners = [f"patient:{note.patient_id}" if note.patient_id is not None else note.digest for note in notes]
    ordered = sorted({*owners}, key=lambda owner: hashlib.sha256(owner.encode()).digest())
    place = {owner: number % HALVES for number, owner in enumerate(ordered)}
    return [place[owner] for owner in owners]


def read_batch(
    notes: Sequence[Note],
    labels: Sequence[SpanSet],
    *,
    seed: int = 1,
    prepared: Callable[[list[Document]], list[Document]] = list,
) -> list[Scores] | None:
    """Return what the halves of a batch say of each other, in the order of the notes.

    Args:
        notes: The batch.
        labels: What a detector found in each.
        seed: Of the sentences without a span that are learnt from.
        prepared: What is made of a half before it is learnt from.

    Returns:
        ``None`` where a half has nothing to learn from: no span of the categories of ``FOUND``.
    """
    half = halves(notes)
    documents = [
        Document(note, DisjointSpans.of(note, grouped(spans.spans))) for note, spans in zip(notes, labels, strict=True)
    ]
    read: dict[int, Scores] = {}
    for fold in range(HALVES):
        learnt = [document for document, place in zip(documents, half, strict=True) if place != fold]
        wanted = [number for number, place in enumerate(half) if place == fold]
        if not any(span.label in FOUND for document in learnt for span in document.spans):
            return None
        tagger = Tagger(fitted(task_of(prepared(learnt), LEARNING, seed=seed)))
        read |= zip(wanted, scores(tagger, [notes[number] for number in wanted]), strict=True)
    return [read[number] for number in range(len(notes))]


def task_of(documents: Sequence[Document], settings: Mapping[str, Any], *, seed: int = 1) -> Task:
    """Return the task of learning coarse categories, one sequence per note."""
    return Task(
        phases=[documents],
        dev=[],
        labels={label.value: label for label in (*FOUND, REST)},
        native=False,
        scheme=TagScheme.BIO,
        grouping=1_000,
        seed=seed,
        settings=Settings.of(settings).recorded(),
    )


def blended(*opinions: Sequence[Scores]) -> list[Scores]:
    """Return the mean of what several say of the same notes."""
    return [
        Scores(of_note[0].tokens, np.mean([each.values for each in of_note], axis=0))
        for of_note in zip(*opinions, strict=True)
    ]


def spans_of(note: Note, found: Scores, known: SpanSet, *, min_score: float, source: str) -> list[Span]:
    """Return runs of tokens that are PHI with that probability.

    Tokens that ``known`` covers extend a run and make none: "Ada" beside a known "Moss" is found with it, and what
    stands between them.

    Args:
        note: The note.
        found: Of its tokens.
        known: What another detector found.
        min_score: Least sum over ``FOUND`` of a token.
        source: Of the spans.
    """
    text, total = note.text, found.values.sum(axis=1)
    covered = np.zeros(len(text), dtype=bool)
    group: dict[int, Phi] = {}
    for span in known:
        covered[span.start : span.end] = True
        group |= dict.fromkeys(range(span.start, span.end), GROUP.get(span.label, REST))
    runs: list[tuple[int, int, Phi, float, bool]] = []
    for (start, end), values, probability in zip(found.tokens, found.values, total, strict=True):
        is_known = bool(covered[start:end].all())
        if not is_known and (probability < min_score or not any(map(str.isalnum, text[start:end]))):
            continue
        label = group[start] if is_known else FOUND[int(values.argmax())]
        score = 0.0 if is_known else min(float(probability), 1.0)
        if runs and runs[-1][2] is label and _is_gap(text[runs[-1][1] : start]):
            first, _, _, best, is_new = runs.pop()
            runs.append((first, end, label, max(best, score), is_new or not is_known))
        else:
            runs.append((start, end, label, score, not is_known))
    return [Span(start, end, label, round(score, 6), source) for start, end, label, score, is_new in runs if is_new]


def _is_gap(between: str) -> bool:
    return len(between) <= _GAP and "\n" not in between and not any(map(str.isalnum, between))
