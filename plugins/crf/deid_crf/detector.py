"""The detector: options in, spans out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import (
    ConfigError,
    Note,
    Phi,
    Span,
    SpanSet,
    Token,
    WordLabels,
    pause_collector,
    runs_of,
)
from deid_assets.extending.decoding import by_label
from deid_crf.lattice import Numbers
from deid_crf.model import read_model
from deid_crf.tagger import CrfTagger, Solved
from deid_crf.view import NoteView

VERSION = "0.1.0"
GROUP_CHARS = 800_000
"""Characters of text that are read together."""
_MARGINALS_CHARS = 200_000
"""Characters of text whose tags' probabilities are held together."""
_DIGITS = 6
"""Digits of a score.

The order of summation, which differs from batch to batch, shows at the fifteenth.
"""


@dataclass(frozen=True, slots=True)
class Marginals:
    """Probabilities of the tags of one note.

    Args:
        tokens: Offsets into the note's text.
        tags: Names of the columns.
        probabilities: (tokens, tags), rows that sum to 1.
    """

    tokens: Sequence[Token]
    tags: Sequence[str]
    probabilities: NDArray[np.float64] = field(repr=False)


class CrfDetector:
    """Finds what a trained CRF finds.

    The score of a span is its exact probability under the model: of all tag sequences of its
    sentence, the share by probability that holds this span with this label.

    Args:
        model: Folder that the trainer of this plugin wrote.
        name: Source of the spans.
        min_score: Spans less probable are not returned; as the model says when not given.
        labels: Categories to return; all of the model's when not given.
        threads: Taken by every tagger; this one uses one core whatever is given.

    Raises:
        ConfigError: The model is missing or broken, or an option is not allowed.
        PluginError: The detector that the model asks for its predictions is not installed.
    """

    version = VERSION

    def __init__(
        self,
        *,
        model: str | Path,
        name: str = "crf",
        min_score: float | None = None,
        labels: Sequence[str] | None = None,
        threads: int | None = None,
    ) -> None:
        del threads
        self._model = read_model(Path(model))
        self.name, self._min_score = name, self._model.min_score if min_score is None else min_score
        if not 0.0 <= self._min_score <= 1.0:
            raise ConfigError(f"min_score is {self._min_score}; choose a number from 0 to 1")
        self.native_labels = frozenset(self._model.labels)
        self.labels = _select_wanted(frozenset(self._model.labels.values()), labels)
        self._tagger = CrfTagger(self._model)
        tags, known = self._model.tags, self._model.labels
        self._kinds = np.array([[tag[0] in prefixes for tag in tags] for prefixes in ("BS", "IE")])
        categories = [(known[tag[2:]], tag[2:]) if tag[2:] else (Phi.OTHER, "") for tag in tags]
        self._labels = [
            (category, native if native != category.value else "")
            for category, native in categories
        ]

    def detect(self, notes: Sequence[Note]) -> Iterator[SpanSet]:
        """Yield one set of spans per note, in order; no two of a note's spans overlap."""
        for group in runs_of(notes, chars=GROUP_CHARS):
            found: list[list[Span]] = [[] for _ in group]
            with self._tagger.room.lock, pause_collector():
                views = self._tagger.views(group)
                for solved in self._tagger.solve(views):
                    self._add_spans(solved, views, found)
            for note, spans in zip(group, found, strict=True):
                yield SpanSet(note.note_id, note.digest, tuple(spans))

    def marginals(self, notes: Sequence[Note]) -> Iterator[Marginals]:
        """Yield the probabilities of each note's tags, in order, for combining taggers."""
        return marginals(self._tagger, notes)

    def word_labels(self, notes: Sequence[Note]) -> Iterator[WordLabels]:
        """Yield the probability of each label at each word of each note, in order."""
        for found in self.marginals(notes):
            labels, probabilities = by_label(found.probabilities, found.tags)
            yield WordLabels(found.tokens, labels, probabilities)

    def _add_spans(
        self, solved: Solved, views: Sequence[NoteView], found: Sequence[list[Span]]
    ) -> None:
        tags = solved.best()
        first, last = _entities(tags, self._kinds)
        scores = solved.posterior.spans(first, last, tags)
        part = np.searchsorted([part.rows.start for part in solved.parts], first, side="right") - 1
        columns = (first.tolist(), last.tolist(), part.tolist(), tags[first].tolist(), scores)
        for begin, end, of_part, tag, exact in zip(*columns, strict=True):
            score, (category, native) = round(exact, _DIGITS), self._labels[tag]
            if score < self._min_score or category not in self.labels:
                continue
            sequence = solved.parts[of_part]
            borders, moved = views[sequence.note].borders, sequence.first - sequence.rows.start
            start, stop = int(borders[begin + moved, 0]), int(borders[end + moved, 1])
            found[sequence.note].append(Span(start, stop, category, score, self.name, native))


def _entities(tags: Numbers, kinds: NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
    """Return the first and the last row of each entity of legal tags.

    Args:
        tags: Number of each row's tag; rows of no sequence have 0, ``O``.
        kinds: (2, tags), whether a tag begins an entity, and whether it is in one without beginning
            it.
    """
    begins, goes_on = kinds[:, tags]
    return np.flatnonzero(begins), np.flatnonzero(
        (begins | goes_on) & ~np.append(goes_on[1:], False)
    )


def marginals(tagger: CrfTagger, notes: Sequence[Note]) -> Iterator[Marginals]:
    """Yield the probabilities of each note's tags, in order."""
    for group in runs_of(notes, chars=_MARGINALS_CHARS):
        yield from marginals_of(tagger, tagger.views(group))


def marginals_of(tagger: CrfTagger, views: Sequence[NoteView]) -> Iterator[Marginals]:
    """Yield the probabilities of each note's tags, in order; all notes are read together."""
    rows: list[list[NDArray[np.float64]]] = [[] for _ in views]
    with tagger.room.lock:
        for solved in tagger.solve(views) if views else ():
            tags = solved.posterior.tags
            for part in solved.parts:
                rows[part.note].append(tags[part.rows.start : part.rows.stop])
    empty = np.zeros((0, len(tagger.model.tags)))
    for view, found in zip(views, rows, strict=True):
        yield Marginals(view.tokens, tagger.model.tags, np.concatenate([empty, *found]))


def _select_wanted(known: frozenset[Phi], labels: Sequence[str] | None) -> frozenset[Phi]:
    """The categories to return."""
    if labels is None:
        return known
    if strangers := sorted(set(labels) - {label.value for label in known}):
        raise ConfigError(
            f"labels: the model does not find {', '.join(strangers)}; choose of"
            f" {', '.join(sorted(known))}"
        )
    return frozenset(Phi(label) for label in labels)
