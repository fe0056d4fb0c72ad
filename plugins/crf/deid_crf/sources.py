"""Sources of features beside the model: another detector, and lists."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from deid_assets.extending import Note, PluginError, Span, load
from deid_crf.lists import CompiledLists
from deid_crf.view import NoteView, Prediction, TokenCache, views_of

PROFILE = "meddocan"
"""Profile of the rules that leaves no category out."""


class Sources:
    """Another detector and lists, in training as in use.

    Args:
        predictions_of: Name of a detector, or empty.
        lists: Compiled lists.

    Raises:
        PluginError: The detector is not installed.
        InputError: A list is missing or broken.
    """

    def __init__(self, predictions_of: str, lists: Sequence[Path]) -> None:
        self._pieces = TokenCache()
        self._lists = CompiledLists(lists) if lists else None
        self._detector = None
        if predictions_of:
            try:
                self._detector = load(
                    predictions_of,
                    options={"profile": PROFILE} if predictions_of == "rules" else {},
                )
            except PluginError as error:
                raise PluginError(
                    f"the crf tagger asks {predictions_of!r} for its predictions: {error}; install"
                    ' it, or train with predictions_of = ""'
                ) from error

    def views(self, notes: Sequence[Note]) -> list[NoteView]:
        """Return the notes with what the sources say of each token."""
        views = views_of([note.text for note in notes], self._pieces)
        if self._detector is not None:
            views = add_predictions(views, [spans.spans for spans in self._detector.detect(notes)])
        if self._lists is not None:
            views = [replace(view, hits=self._lists.hits(view.words)) for view in views]
        return views


def drop_some(
    predictions: Sequence[Prediction], share: float, draw: random.Random
) -> list[Prediction]:
    """Return predictions without some of them, each left out with the chance ``share``."""
    return [each for each in predictions if draw.random() >= share]


def add_predictions(views: Sequence[NoteView], found: Sequence[Sequence[Span]]) -> list[NoteView]:
    """Return views with what a detector found in each: the tokens that a span touches.

    Of overlapping spans the first has the token.
    """
    offsets = np.cumsum([0, *(len(view.text) + 1 for view in views)])
    tokens = np.cumsum([0, *(len(view.words) for view in views)])
    borders = (
        np.concatenate([view.borders for view in views])
        + np.repeat(offsets[:-1], np.diff(tokens))[:, None]
    )
    note = np.repeat(
        np.arange(len(views)), np.array([len(spans) for spans in found], dtype=np.int64)
    )
    ranges = np.array(
        [(span.start, span.end) for spans in found for span in spans], dtype=np.int64
    ).reshape(-1, 2)
    starts, ends = (ranges + offsets[note][:, None]).T
    stop = np.searchsorted(borders[:, 0], ends)
    taken = np.maximum.accumulate(np.append(0, stop))[:-1]
    first = np.maximum(np.searchsorted(borders[:, 1], starts, side="right"), taken)
    columns = ((first - tokens[note]).tolist(), (stop - tokens[note]).tolist())
    predictions = zip(
        *columns, (span.label.value for spans in found for span in spans), strict=True
    )
    replaced = []
    for view, spans in zip(views, found, strict=True):
        of_view = [each for each in islice(predictions, len(spans)) if each[0] < each[1]]
        replaced.append(replace(view, predictions=of_view))
    return replaced
