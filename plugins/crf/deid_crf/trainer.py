"""The trainer: annotated notes in, a model folder out."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from deid_assets.extending import (
    OUTSIDE,
    Document,
    Epoch,
    Report,
    Task,
    TrainingError,
    encode,
    label_ranges,
    tag_set,
)
from deid_assets.extending.blas import one_blas_thread
from deid_crf.channels import channels
from deid_crf.checkpoint import FOLDER, read_search, write_search
from deid_crf.evidence import Evidence
from deid_crf.examples import NoteExample, examples, sequences
from deid_crf.likelihood import Likelihood, Parameters
from deid_crf.minimise import minimise
from deid_crf.model import Model, write_model
from deid_crf.settings import CrfSettings
from deid_crf.sources import Sources, drop_some
from deid_crf.statistics import select_known
from deid_crf.tagger import LONGEST
from deid_crf.view import NoteView
from deid_crf.weights import TagWeights

VERSION = "0.2.0"
KEPT_EVERY = 10
"""Iterations between two checkpoints."""


class CrfTrainer:
    """Trains a linear-chain CRF (Lafferty, McCallum and Pereira 2001)."""

    name = "crf"
    version = VERSION

    def settings(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the recipe's settings checked and completed.

        Raises:
            ConfigError: A key is unknown or a value is not allowed.
        """
        return CrfSettings.of(given).to_json()

    def train(self, task: Task, out: Path, report: Report) -> None:
        """Write a model into ``out``.

        All phases are trained on together: of a convex function, the order of the notes does not
        change the least value. A killed run resumes at its last checkpoint and gives the very model
        of an uninterrupted one.

        Raises:
            ConfigError: A setting is not allowed.
            PluginError: The detector to ask is not installed.
            TrainingError: There is no span to learn from.
        """
        write_model(out, fit(task, report, kept=out))
        shutil.rmtree(out / FOLDER, ignore_errors=True)

    def evidence(self, model: Path, *, most: int) -> list[dict[str, Any]]:
        """Return the attributes that speak most for each label; they hold words of the notes.

        Raises:
            ConfigError: The folder is missing or broken.
        """
        from deid_crf.analysis import evidence  # noqa: PLC0415 - for analyses alone

        return evidence(model, most=most)


def fit(task: Task, report: Report = lambda _: None, *, kept: Path | None = None) -> Model:
    """Return a trained model, as ``CrfTrainer.train`` writes it.

    Args:
        task: What is learnt, and how.
        report: Called after each iteration.
        kept: Folder for checkpoints; none are written where it is not given.

    Raises:
        ConfigError, PluginError, TrainingError: As for ``CrfTrainer.train``.
    """
    settings = CrfSettings.of(task.settings)
    lists = [Path(path) for path in settings.gazetteers]
    documents = [document for phase in task.phases for document in phase]
    views = _views(documents, settings, lists, seed=task.seed)
    tagged = [
        encode(label_ranges(document.spans, native=task.native), view.tokens, task.scheme)[0]
        for document, view in zip(documents, views, strict=True)
    ]
    seen = {tag for of_note in tagged for tag in of_note}
    if seen <= {OUTSIDE}:
        raise TrainingError(
            f"none of {len(documents)} training notes has a span on a word; give annotated notes"
        )
    tags = [tag for tag in tag_set(task.labels, task.scheme) if tag in seen or tag == OUTSIDE]
    owners = [document.note.patient_id or document.note.note_id for document in documents]
    notes, keys, counted = examples(views, tagged, owners, min_patients=settings.min_patients)
    evidence = Evidence(notes, keys, channels(settings.window), min_patients=settings.min_patients)
    with one_blas_thread():
        weights = _train(task, settings, notes, evidence, tags=tags, kept=kept, report=report)
    return Model(
        version=VERSION,
        tags=tags,
        labels=task.labels,
        native=task.native,
        scheme=task.scheme,
        grouping=task.grouping,
        window=settings.window,
        predictions_of=settings.predictions_of,
        weights=weights,
        statistics=select_known(counted, min_patients=settings.min_patients),
        lists=lists,
        min_score=settings.min_score,
    )


def _views(
    documents: Sequence[Document], settings: CrfSettings, lists: Sequence[Path], *, seed: int
) -> list[NoteView]:
    """Return what the notes show, without some of the other detector's predictions where the
    settings ask for it.
    """
    views = Sources(settings.predictions_of, lists).views([document.note for document in documents])
    if not settings.prediction_dropout:
        return views
    draw = random.Random(seed)  # noqa: S311 - chance, not a secret
    return [
        replace(view, predictions=drop_some(view.predictions, settings.prediction_dropout, draw))
        for view in views
    ]


def _train(
    task: Task,
    settings: CrfSettings,
    notes: Sequence[NoteExample],
    evidence: Evidence,
    *,
    tags: Sequence[str],
    kept: Path | None,
    report: Report,
) -> TagWeights:
    """Return the weights under which the notes' tags are likeliest, with both norms taken off."""
    likelihood = _likelihood(task, settings, notes, evidence, tags=tags)

    def penalise(parameters: Parameters) -> tuple[float, Parameters]:
        value, slope = likelihood(parameters)
        return (
            value + settings.c2 * float(parameters @ parameters),
            slope + 2 * settings.c2 * parameters,
        )

    started = time.monotonic()
    search = None if kept is None else read_search(kept, size=likelihood.size)
    found = np.zeros(likelihood.size) if search is None else search.x
    done = 0 if search is None else len(search.values) - 1
    steps = minimise(penalise, found, l1=settings.c1, search=search)
    for number, step in enumerate(islice(steps, settings.max_iterations - done), done + 1):
        found = step.x
        report(
            Epoch(phase=0, epoch=number, loss=step.values[-1], seconds=time.monotonic() - started)
        )
        if kept is not None and number % KEPT_EVERY == 0:
            write_search(kept, step)
    return TagWeights.of(evidence.names, *likelihood.weights(found))


def _likelihood(
    task: Task,
    settings: CrfSettings,
    notes: Sequence[NoteExample],
    evidence: Evidence,
    *,
    tags: Sequence[str],
) -> Likelihood:
    numbers = {tag: number for number, tag in enumerate(tags)}
    draw = random.Random(task.seed)  # noqa: S311 - chance, not a secret
    rows, gold_tags = [], []
    for note, first in zip(notes, evidence.first, strict=True):
        of_note = np.array([numbers[tag] for tag in note.tags])
        for part in sequences(
            note, grouping=task.grouping, longest=LONGEST, keep_empty=settings.keep_empty, draw=draw
        ):
            rows.append(np.arange(first + part.start, first + part.stop))
            gold_tags.append(of_note[part.start : part.stop])
    return Likelihood(evidence, rows, gold_tags, width=len(tags))
