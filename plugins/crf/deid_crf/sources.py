"""Sources of features beside the model: another detector, and lists."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from deid_assets.extending import OUTSIDE, Note, PluginError, Span, Token, load
from deid_crf.lists import Lists
from deid_crf.view import View

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
        self._lists = Lists(lists) if lists else None
        self._detector = None
        if predictions_of:
            try:
                self._detector = load(predictions_of, options={"profile": PROFILE} if predictions_of == "rules" else {})
            except PluginError as error:
                raise PluginError(
                    f'the crf tagger asks {predictions_of!r} for its predictions: {error}; install it, or train with predictions_of = ""'
                ) from error

    def views(self, notes: Sequence[Note]) -> list[View]:
        """Return the notes with what the sources say of each token."""
        views = [View.of(note.text) for note in notes]
        if self._detector is not None:
            found = self._detector.detect(notes)
            views = [
                replace(view, predictions=projected(spans.spans, view.tokens))
                for view, spans in zip(views, found, strict=True)
            ]
        if self._lists is not None:
            views = [replace(view, hits=self._lists.hits(view.words)) for view in views]
        return views


def with_dropout(predictions: Sequence[str], share: float, draw: random.Random) -> list[str]:
    """Return predictions without some of the spans, each left out with the chance ``share``."""
    kept, is_dropped = [], False
    for tag in predictions:
        if tag.startswith("B"):
            is_dropped = draw.random() < share
        kept.append(OUTSIDE if is_dropped else tag)
    return kept


def projected(spans: Sequence[Span], tokens: Sequence[Token]) -> list[str]:
    """Return for each token ``O``, ``B-LABEL`` or ``I-LABEL``; of overlapping spans the first has the token."""
    tags = [OUTSIDE] * len(tokens)
    at = 0
    for span in spans:
        at = bisect_left(tokens, (span.start, 0), at)
        if at and tokens[at - 1][1] > span.start and tags[at - 1] == OUTSIDE:
            at -= 1
        prefix = "B"
        while at < len(tokens) and tokens[at][0] < span.end:
            tags[at] = f"{prefix}-{span.label.value}"
            prefix, at = "I", at + 1
    return tags
