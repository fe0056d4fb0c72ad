"""The detector: what another detector finds, and what the CRFs add to it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from deid_assets.extending import (
    ConfigError,
    Note,
    PluginError,
    SpanSet,
    load,
    pause_collector,
    runs_of,
)
from deid_crf.batch.coarse import FOUND, GROUP, half_of
from deid_crf.batch.opinions import NoteScores, blend, extend_spans, score_notes
from deid_crf.batch.settings import check_least
from deid_crf.batch.trainer import FORMAT, GIVEN, HALVES, NAME, VERSION, half_folder
from deid_crf.detector import GROUP_CHARS, marginals_of
from deid_crf.lattice import Room
from deid_crf.model import ABOUT, WEIGHTS, read_model
from deid_crf.sources import PROFILE, add_predictions
from deid_crf.tagger import CrfTagger
from deid_crf.view import TokenCache, views_of

_OFF = 2.0
"""Of a category that is not looked for: no probability reaches it."""


class BatchCrfDetector:
    """Finds what another detector finds of names, places, dates and organizations, and what the
    CRFs think it missed.

    A note is read by the given CRF and by the one that did not learn from its half of the batch; a
    token whose mean probability is high enough is found. What is found in a note follows from the
    note, its patient and the model, not from what else is read.

    Args:
        model: Folder that the trainer ``batch_crf`` wrote.
        name: Source of the spans.
        least: Least probability by category, in place of the model's; one that is not named is not
            looked for.
        threads: Taken by every tagger; this one uses one core whatever is given.

    Raises:
        ConfigError: The model is missing or broken, or an option is not allowed.
        PluginError: The detector whose labels were learnt is not installed.
    """

    labels = frozenset(GROUP) | frozenset(FOUND)

    def __init__(
        self,
        *,
        model: str | Path,
        name: str = NAME,
        least: Mapping[str, float] | None = None,
        threads: int | None = None,
    ) -> None:
        del threads
        folder, self.name = Path(model), name
        about = _read(folder)
        wanted = check_least(
            about.get("least") if least is None else least, where=f"detector {name}"
        )
        self._least = np.array([wanted.get(label.value, _OFF) for label in FOUND])
        folders = [folder / GIVEN, *(folder / half_folder(half) for half in range(HALVES))]
        # What they hear is given to them: the detector is asked once for all.
        room, self._pieces = Room(), TokenCache()
        self._given, *self._halves = (
            CrfTagger(replace(read_model(each), predictions_of=""), room) for each in folders
        )
        digests = "".join(
            hashlib.sha256((each / WEIGHTS).read_bytes()).hexdigest() for each in folders
        )
        self.version = f"{VERSION}+{hashlib.sha256(digests.encode()).hexdigest()[:12]}"
        asked = str(about["predictions_of"])
        try:
            self._detector = load(asked, options={"profile": PROFILE} if asked == "rules" else {})
        except PluginError as error:
            raise PluginError(
                f"the batch CRF asks {asked!r}, whose labels it learnt: {error}; install it"
            ) from error

    def detect(self, notes: Sequence[Note]) -> Iterator[SpanSet]:
        """Yield one set of spans per note, in order."""
        for group in runs_of(notes, chars=GROUP_CHARS):
            with pause_collector():
                heard = list(self._detector.detect(group))
                opinions = self.opinions(group, heard)
            for note, spans, found in zip(group, heard, opinions, strict=True):
                picked = np.any(found.values >= self._least, axis=1)
                known = [
                    replace(span, native_label="", source=self.name)
                    for span in spans
                    if span.label in self.labels
                ]
                yield SpanSet.of(note, extend_spans(note, found, picked, known, source=self.name))

    def opinions(self, notes: Sequence[Note], heard: Sequence[SpanSet]) -> list[NoteScores]:
        """Return the mean of what the given CRF and that of the other half think of each note.

        Args:
            notes: In any order.
            heard: What the detector found in each.
        """
        views = views_of([note.text for note in notes], self._pieces)
        with_heard = add_predictions(views, [spans.spans for spans in heard])
        given = [*score_notes(marginals_of(self._given, with_heard), self._given.model.labels)]
        of_batch: dict[int, NoteScores] = {}
        for half, tagger in enumerate(self._halves):
            numbers = [number for number, note in enumerate(notes) if half_of(note) != half]
            found = score_notes(
                marginals_of(tagger, [views[number] for number in numbers]), tagger.model.labels
            )
            of_batch |= zip(numbers, found, strict=True)
        return blend(given, [of_batch[number] for number in range(len(notes))])


def _read(folder: Path) -> Mapping[str, Any]:
    try:
        about: dict[str, Any] = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if about["plugin"] == NAME and about["format"] == FORMAT and about["predictions_of"]:
            return about
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise ConfigError(
        f"model {folder}: no batch CRF of format {FORMAT}; give a folder that deid train finished"
        f" with the plugin {NAME}"
    )
