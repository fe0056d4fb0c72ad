"""The batch CRF of the plugin ``crf`` in the measure of leave_one_out.py.

What the halves of a corpus say of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from deid_assets.extending import Document, Note, Span, SpanSet
from deid_crf.batch.coarse import FOUND, GROUP, REST, coarse, count_found, group_spans, half_of
from deid_crf.batch.opinions import NoteScores, blend, extend_spans, score_notes
from deid_crf.batch.settings import BatchSettings
from deid_crf.batch.trainer import HALVES, batch_settings, select_settings, task_of
from deid_crf.detector import marginals
from deid_crf.tagger import CrfTagger
from deid_crf.trainer import fit

__all__ = [
    "FOUND",
    "GIVEN",
    "GROUP",
    "LEARNING",
    "REST",
    "NoteScores",
    "blend",
    "group_spans",
    "half_of",
    "read_batch",
    "scores",
    "spans_of",
    "task_of",
]

LEARNING: Mapping[str, Any] = batch_settings(BatchSettings())
GIVEN: Mapping[str, Any] = select_settings(BatchSettings())


def scores(tagger: CrfTagger, notes: Sequence[Note]) -> list[NoteScores]:
    """Return what a model thinks of notes."""
    return [*score_notes(marginals(tagger, notes), tagger.model.labels)]


def read_batch(
    notes: Sequence[Note],
    labels: Sequence[SpanSet],
    *,
    settings: Mapping[str, Any] = LEARNING,
    seed: int = 1,
    prepared: Callable[[list[Document]], list[Document]] = list,
) -> list[NoteScores] | None:
    """Return what the halves of a batch say of each other, in the order of the notes.

    Args:
        notes: The batch.
        labels: What a detector found in each.
        settings: Of the CRFs.
        seed: Of the sentences without a span that are learnt from.
        prepared: What is made of a half before it is learnt from.

    Returns:
        ``None`` where a half has nothing to learn from: no span of the categories of ``FOUND``.
    """
    documents = [coarse(note, spans) for note, spans in zip(notes, labels, strict=True)]
    read: dict[int, NoteScores] = {}
    for half in range(HALVES):
        learnt = [document for document in documents if half_of(document.note) == half]
        wanted = [number for number, note in enumerate(notes) if half_of(note) != half]
        if not count_found(learnt):
            return None
        tagger = CrfTagger(fit(task_of(prepared(learnt), settings, seed=seed)))
        read |= zip(wanted, scores(tagger, [notes[number] for number in wanted]), strict=True)
    return [read[number] for number in range(len(notes))]


def spans_of(
    note: Note, found: NoteScores, known: SpanSet, *, min_score: float, source: str
) -> list[Span]:
    """Return the known spans, and runs of tokens whose sum over ``FOUND`` is that probable, in
    place of what they extend.
    """
    picked = found.values.sum(axis=1) >= min_score
    return extend_spans(note, found, np.asarray(picked), [*known], source=source)
