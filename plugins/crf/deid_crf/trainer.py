"""The trainer: annotated notes in, a model folder out, by CRFsuite's L-BFGS."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deid_assets.core.errors import TrainingError
from deid_assets.core.tagging import OUTSIDE, encode, tag_set
from deid_assets.core.trainer import Epoch, Report, Task, labelled
from deid_crf.channels import channels
from deid_crf.examples import Attributes, Example, examples, sequences
from deid_crf.model import Model, write_model
from deid_crf.settings import Settings
from deid_crf.sources import Sources, with_dropout
from deid_crf.statistics import known
from deid_crf.tagger import LONGEST
from deid_crf.weights import Weights

if TYPE_CHECKING:
    import pycrfsuite

VERSION = "0.1.0"
UNFINISHED = "unfinished.crfsuite"
"""CRFsuite's own model file, read and removed at the end."""


class CrfTrainer:
    """Trains a linear-chain CRF (Lafferty, McCallum and Pereira 2001)."""

    name = "crf"
    version = VERSION

    def settings(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the recipe's settings checked and completed.

        Raises:
            ConfigError: A key is unknown or a value is not allowed.
        """
        return Settings.of(given).recorded()

    def train(self, task: Task, out: Path, report: Report) -> None:
        """Write a model into ``out``.

        All phases are trained on together: CRFsuite cannot go on from a model. Nor can it go on from a killed run;
        that begins again.

        Raises:
            ConfigError: A setting is not allowed.
            PluginError: The detector to ask is not installed.
            TrainingError: There is no span to learn from.
        """
        settings = Settings.of(task.settings)
        lists = [Path(path) for path in settings.gazetteers]
        documents = [document for phase in task.phases for document in phase]
        views = Sources(settings.opinion, lists).views([document.note for document in documents])
        if settings.opinion_dropout:
            draw = random.Random(task.seed)  # noqa: S311 - chance, not a secret
            views = [
                replace(view, opinion=with_dropout(view.opinion, settings.opinion_dropout, draw)) for view in views
            ]
        tagged = [
            encode(labelled(document.spans, native=task.native), view.tokens, task.scheme)[0]
            for document, view in zip(documents, views, strict=True)
        ]
        seen = {tag for of_note in tagged for tag in of_note}
        if seen <= {OUTSIDE}:
            raise TrainingError(f"none of {len(documents)} training notes has a span on a word; give annotated notes")
        tags = [tag for tag in tag_set(task.labels, task.scheme) if tag in seen or tag == OUTSIDE]
        owners = [document.note.patient_id or document.note.note_id for document in documents]
        notes, counted = examples(views, tagged, owners, min_patients=settings.min_patients)
        attributes = Attributes(notes, channels(settings.window), min_patients=settings.min_patients)
        weights = _trained(task, settings, notes, attributes, tags=tags, file=out / UNFINISHED, report=report)
        model = Model(
            version=VERSION,
            tags=tags,
            labels=task.labels,
            native=task.native,
            scheme=task.scheme,
            grouping=task.grouping,
            window=settings.window,
            opinion=settings.opinion,
            weights=weights,
            statistics=known(counted, min_patients=settings.min_patients),
            lists=lists,
            min_score=settings.min_score,
        )
        write_model(out, model)

    def evidence(self, model: Path, *, most: int) -> list[dict[str, Any]]:
        """Return the attributes that speak most for each label; they hold words of the notes.

        Raises:
            ConfigError: The folder is missing or broken.
        """
        from deid_crf.analysis import evidence  # noqa: PLC0415 - for analyses alone

        return evidence(model, most=most)


def _trained(
    task: Task,
    settings: Settings,
    notes: Sequence[Example],
    attributes: Attributes,
    *,
    tags: Sequence[str],
    file: Path,
    report: Report,
) -> Weights:
    """Run CRFsuite. It is told numbers for attributes and tags, so that no sign of a text can trouble its files."""
    suite = _suite(report)
    suite.select("lbfgs")
    suite.set_params({"c1": settings.c1, "c2": settings.c2, "max_iterations": settings.max_iterations})
    numbers = {tag: b"%d" % number for number, tag in enumerate(tags)}
    draw = random.Random(task.seed)  # noqa: S311 - chance, not a secret
    used = 0
    for note in notes:
        items = attributes.items(note)
        told = [numbers[tag] for tag in note.tags]
        for part in sequences(note, grouping=task.grouping, longest=LONGEST, keep_empty=settings.keep_empty, draw=draw):
            suite.append(items[part.start : part.stop], told[part.start : part.stop])
            used += 1
    try:
        suite.train(str(file))
        return _weights(file, attributes.numbers, len(tags))
    finally:
        file.unlink(missing_ok=True)


def _suite(report: Report) -> pycrfsuite.Trainer:
    """Return a trainer of CRFsuite that reports each iteration and prints nothing."""
    import pycrfsuite  # noqa: PLC0415 - compiled, loaded when first needed

    class Suite(pycrfsuite.Trainer):  # type: ignore[misc]  # the library has no types
        started = time.monotonic()

        def message(self, message: str) -> None:
            if self.logparser.feed(message) == "iteration":
                last = self.logparser.last_iteration
                seconds = time.monotonic() - self.started
                report(Epoch(phase=0, epoch=int(last["num"]), loss=float(last["loss"]), seconds=seconds))

    return Suite(verbose=False)


def _weights(file: Path, numbers: Mapping[str, int], tags: int) -> Weights:
    """Read CRFsuite's weights, and number the attributes that have any anew."""
    import pycrfsuite  # noqa: PLC0415 - compiled, loaded when first needed

    suite = pycrfsuite.Tagger()
    suite.open(str(file))
    found = suite.info()
    entries = sorted(
        (int(attribute), int(tag), weight) for (attribute, tag), weight in found.state_features.items() if weight
    )
    transitions = np.zeros((tags, tags), dtype=np.float32)
    for (before, after), weight in found.transitions.items():
        transitions[int(before), int(after)] = weight
    names = list(numbers)
    used = sorted({attribute for attribute, _, _ in entries})
    place = {attribute: number for number, attribute in enumerate(used)}
    counts = np.bincount([place[attribute] for attribute, _, _ in entries], minlength=len(used))
    return Weights(
        {names[attribute]: number for attribute, number in place.items()},
        first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        tags=np.array([tag for _, tag, _ in entries], dtype=np.int32),
        values=np.array([weight for _, _, weight in entries], dtype=np.float32),
        transitions=transitions,
    )
