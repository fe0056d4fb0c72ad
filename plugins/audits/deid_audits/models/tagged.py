"""What a tagger says of the words of annotated notes, and the scores of the attacks on it.

A tagger that learnt a note by heart is surer of its labels than of those of a note like it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deid_assets import DisjointSpans, Note
from deid_assets.extending import OUTSIDE, Detector, InputError, ProbabilitySource, WordLabels
from deid_assets.extending.taggers import open_folder
from deid_audits.models.auditing import WORDS, Samples
from deid_audits.models.measures import Floats

ATTACKS = ("loss", "logit", "least", "confidence", "entropy", "reference")
REFERENCE = "reference"
LOWEST = 0.2
"""Share of the words that ``least`` looks at."""
_LEAST = 1e-12
"""Least probability."""
ANY = -1
"""Column of a label that the tagger does not know: any but ``O`` is right."""
Columns = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Marked:
    """Notes of one set, with what is marked in them.

    Args:
        name: Of the set.
        notes: In the order of drawing.
        spans: Of each note.
    """

    name: str
    notes: Sequence[Note] = field(repr=False)
    spans: Sequence[DisjointSpans] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ReadStretches:
    """Stretches of notes as a tagger read them.

    Args:
        samples: Texts, notes and patients.
        scores: Attack to the score of each stretch; the higher, the likelier a member.
    """

    samples: Samples
    scores: Mapping[str, Floats]


def open_tagger(folder: Path | None) -> ProbabilitySource:
    """Return the tagger of a folder.

    Raises:
        InputError: There is none, or it gives no probability of each word's label.
        PluginError: Its plugin is not installed, or the folder is broken.
    """
    if folder is None:
        raise InputError("there is no model; give its folder")
    return require_probabilities(open_folder(folder), folder.name)


def require_probabilities(detector: Detector, name: str) -> ProbabilitySource:
    """Return a detector that gives probabilities.

    Raises:
        InputError: It gives none.
    """
    if isinstance(detector, ProbabilitySource):
        return detector
    raise InputError(
        f"model {name}: a tagger of kind {type(detector).__name__}, which gives no probability of"
        " each word's label (word_labels), so that nothing can be measured: keep it where the notes"
        " are, or waive this audit by name in the facts, with the reason, under rules.waived"
    )


def make_marked_set(
    name: str, notes: Sequence[Note], marked: Mapping[str, DisjointSpans], *, seed: int
) -> Marked:
    """Return notes with their annotations, in an order drawn by the seed.

    Raises:
        InputError: A note has none.
    """
    if lacking := sum(note.digest not in marked for note in notes):
        raise InputError(
            f"{lacking:,} of {len(notes):,} {name} notes have no annotations, and a tagger's loss"
            " is that of the right labels; give annotated files, every note of which is annotated"
        )
    order = random.Random(seed).sample(list(notes), len(notes))  # noqa: S311 - a subset
    return Marked(name, order, [marked[note.digest] for note in order])


def read_set(
    source: ProbabilitySource, given: Marked, *, most: int, reference: ProbabilitySource | None
) -> ReadStretches:
    """Return the scores of stretches of ``WORDS`` words, at most so many; equal ones stand once.

    Args:
        source: The tagger.
        given: Notes with their annotations.
        most: Stretches.
        reference: A tagger that did not read the notes.
    """
    found: dict[str, tuple[str, str, dict[str, float]]] = {}
    own = source.word_labels(given.notes)
    others = reference.word_labels(given.notes) if reference else None
    for note, spans, labels in zip(given.notes, given.spans, own, strict=True):
        right = losses_of(labels, spans)
        theirs = losses_of(next(others), spans) if others else None
        for first in range(0, len(labels.words), WORDS):
            part = slice(first, first + WORDS)
            begin, end = labels.words[part][0][0], labels.words[part][-1][1]
            probabilities = np.asarray(labels.probabilities[part], dtype=np.float64)
            scores = attacks_on(probabilities, right[part])
            if theirs is not None:
                scores[REFERENCE] = float((theirs[part] - right[part]).mean())
            found.setdefault(
                note.text[begin:end], (note.note_id, note.patient_id or note.note_id, scores)
            )
        if len(found) >= most:
            break
    kept = list(found.items())[:most]
    samples = Samples(
        tuple(text for text, _ in kept),
        tuple(note for _, (note, _, _) in kept),
        tuple(patient for _, (_, patient, _) in kept),
    )
    names = [name for name in ATTACKS if name != REFERENCE or reference]
    return ReadStretches(
        samples, {name: np.array([scores[name] for _, (_, _, scores) in kept]) for name in names}
    )


def losses_of(found: WordLabels, spans: DisjointSpans) -> Floats:
    """Return minus the logarithm of the probability of each word's right label."""
    probabilities = np.asarray(found.probabilities, dtype=np.float64)
    columns = columns_of(found, spans)
    own = probabilities[np.arange(len(columns)), columns]
    is_any = columns == ANY
    right = np.where(is_any, probabilities[:, 1:].sum(axis=1), own)
    # Of what is nearly sure the rest is exact, and the probability itself rounded.
    rest = np.where(is_any, probabilities[:, 0], probabilities.sum(axis=1) - own)
    losses: Floats = np.where(
        right < 0.5, -np.log(np.maximum(right, _LEAST)), -np.log1p(-np.clip(rest, 0, 0.75))
    )
    return losses


def columns_of(found: WordLabels, spans: DisjointSpans) -> Columns:
    """Return the column of each word's right label: that of the span that it touches, or ``O``.

    ``ANY`` where the tagger knows neither the span's own label nor its category.
    """
    if found.labels[0] != OUTSIDE:
        raise InputError("the first label of a tagger's probabilities is not O; report it")
    known = {label: column for column, label in enumerate(found.labels)}
    columns = np.zeros(len(found.words), dtype=np.int64)
    starts = np.array([start for start, _ in found.words])
    ends = np.array([end for _, end in found.words])
    for span in spans:
        own = known.get(span.native_label or span.label.value)
        column = known.get(span.label.value, ANY) if own is None else own
        columns[(starts < span.end) & (ends > span.start)] = column
    return columns


def attacks_on(probabilities: Floats, losses: Floats) -> dict[str, float]:
    """Return the score of a stretch under each attack that needs no other tagger.

    Args:
        probabilities: (words, labels).
        losses: (words,), of the right labels.
    """
    safe = np.maximum(probabilities, _LEAST)
    worst = np.sort(-losses)[: max(1, round(LOWEST * len(losses)))]
    others = -np.expm1(-losses)
    return {
        "loss": float(-losses.mean()),
        "logit": float((-losses - np.log(np.maximum(others, _LEAST))).mean()),
        "least": float(worst.mean()),
        "confidence": float(np.log(safe.max(axis=1)).mean()),
        "entropy": float((safe * np.log(safe)).sum(axis=1).mean()),
    }


def check_fits(source: ProbabilitySource, given: Marked) -> None:
    """Refuse annotations that say nothing of what the tagger looks for.

    Raises:
        InputError: No word is marked, or marked words are no likelier marked than others.
    """
    marked: list[float] = []
    others: list[float] = []
    for found, spans in zip(source.word_labels(given.notes), given.spans, strict=True):
        sure = 1 - np.asarray(found.probabilities, dtype=np.float64)[:, 0]
        is_marked = columns_of(found, spans) != 0
        marked += sure[is_marked].tolist()
        others += sure[~is_marked].tolist()
    if not marked or not others or np.mean(marked) <= np.mean(others):
        raise InputError(
            f"the tagger is no surer of the words that are marked in the {given.name} notes than"
            " of others; give notes that are annotated for what it looks for"
        )
