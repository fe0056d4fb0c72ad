"""What taggers think of each token of a note, their mean, and the spans that follow from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import Note, Phi, Span, Token
from deid_crf.batch.coarse import FOUND, GROUP, REST
from deid_crf.detector import Marginals

_GAP = 2


@dataclass(frozen=True, slots=True)
class NoteScores:
    """Of one note.

    Args:
        tokens: Offsets into the note's text.
        values: (tokens, 4), probability of each category of ``FOUND``.
    """

    tokens: Sequence[Token]
    values: NDArray[np.float64] = field(repr=False)


def score_notes(found: Iterable[Marginals], labels: Mapping[str, Phi]) -> Iterator[NoteScores]:
    """Yield the probabilities of the four categories, from those of a tagger's tags.

    Args:
        found: Of each note.
        labels: Tag label to category.
    """
    for of_note in found:
        groups = [GROUP.get(labels[tag[2:]], REST) if tag != "O" else None for tag in of_note.tags]
        columns = [
            [column for column, group in enumerate(groups) if group is wanted] for wanted in FOUND
        ]
        values = [of_note.probabilities[:, column].sum(axis=1) for column in columns]
        yield NoteScores(of_note.tokens, np.stack(values, axis=1))


def blend(*opinions: Sequence[NoteScores]) -> list[NoteScores]:
    """Return the mean of what several say of the same notes."""
    return [
        NoteScores(of_note[0].tokens, np.mean([each.values for each in of_note], axis=0))
        for of_note in zip(*opinions, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Run:
    """Tokens of one coarse category, beside each other."""

    start: int
    end: int
    group: Phi
    score: float
    known: tuple[Span, ...] = ()
    is_new: bool = False

    def extend(self, other: _Run) -> _Run:
        known = tuple(dict.fromkeys((*self.known, *other.known)))
        score = max(self.score, other.score)
        return _Run(self.start, other.end, self.group, score, known, self.is_new or other.is_new)


def extend_spans(
    note: Note, found: NoteScores, picked: NDArray[np.bool_], known: Sequence[Span], *, source: str
) -> list[Span]:
    """Return the known spans, and runs of picked tokens in place of those that they extend.

    Tokens that ``known`` covers extend a run and make none: "Ada" beside a known "Moss" is found
    with it, and what stands between them. Such a run has the category of what it extends where that
    is one.

    Args:
        note: The note.
        found: Of its tokens.
        picked: (tokens,), whether each is taken for PHI.
        known: What another detector found.
        source: Of the new spans.
    """
    text = note.text
    owner: list[Span | None] = [None] * (len(text) + 1)
    for one in known:
        owner[one.start : one.end] = [one] * (one.end - one.start)
    runs: list[_Run] = []
    for (start, end), values, is_picked in zip(
        found.tokens, found.values, picked.tolist(), strict=True
    ):
        span = owner[start]
        if span is not None and all(owner[start:end]):
            run = _Run(start, end, GROUP.get(span.label, REST), 0.0, (span,))
        elif is_picked and any(map(str.isalnum, text[start:end])):
            run = _Run(
                start, end, FOUND[int(values.argmax())], min(float(values.sum()), 1.0), is_new=True
            )
        else:
            continue
        if runs and runs[-1].group is run.group and _is_gap(text[runs[-1].end : start]):
            run = runs.pop().extend(run)
        runs.append(run)
    made = [run for run in runs if run.is_new]
    taken = {span for run in made for span in run.known}
    return [*(_span(run, source) for run in made), *(span for span in known if span not in taken)]


def _span(run: _Run, source: str) -> Span:
    labels = {span.label for span in run.known}
    label = labels.pop() if len(labels) == 1 else run.group
    start = min([run.start, *(span.start for span in run.known)])
    end = max([run.end, *(span.end for span in run.known)])
    return Span(start, end, label, round(run.score, 6), source)


def _is_gap(between: str) -> bool:
    return len(between) <= _GAP and "\n" not in between and not any(map(str.isalnum, between))
