"""The trainer: annotated notes for the given CRF, unannotated ones for those that read them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from deid_assets.extending import (
    Document,
    Epoch,
    Note,
    Report,
    TagScheme,
    Task,
    TrainingError,
    load,
)
from deid_crf.batch.coarse import LABELS, coarse, count_found, half_of, owner_of
from deid_crf.batch.settings import BatchSettings
from deid_crf.model import ABOUT
from deid_crf.settings import CrfSettings
from deid_crf.sources import PROFILE
from deid_crf.trainer import CrfTrainer

NAME = "batch_crf"
FORMAT = 1
VERSION = "0.1.0"
HALVES = 2
GIVEN = "given"
KEEP_EMPTY = 0.3
DROPOUT = 0.5


class BatchCrfTrainer:
    """Trains three CRFs.

    One on annotated notes, and one on each half of unannotated ones, as a detector labels them.
    """

    name = NAME
    version = VERSION

    def settings(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the recipe's settings checked and completed.

        Raises:
            ConfigError: A key is unknown or a value is not allowed.
        """
        return BatchSettings.of(given).to_json()

    def train(self, task: Task, out: Path, report: Report) -> None:
        """Write a model into ``out``.

        The annotated documents make the given CRF, which has the detector's labels as features;
        ``task.raw`` is the batch. A killed run resumes at its last checkpoint.

        Raises:
            ConfigError: A setting is not allowed.
            PluginError: The detector to learn from is not installed.
            TrainingError: There is no batch, or a half of it has too little to learn from.
        """
        settings = BatchSettings.of(task.settings)
        learnt = halves_of(task.raw, settings)
        documents = [coarse(each.note, each.spans) for phase in task.phases for each in phase]
        parts = {GIVEN: task_of(documents, select_settings(settings), seed=task.seed)}
        for half, of_half in enumerate(learnt):
            parts[half_folder(half)] = task_of(of_half, batch_settings(settings), seed=task.seed)
        for phase, (name, part) in enumerate(parts.items()):
            folder = out / name
            if (folder / ABOUT).is_file():
                continue
            folder.mkdir(parents=True, exist_ok=True)
            CrfTrainer().train(part, folder, _number_epochs(report, phase))
        about = {
            "format": FORMAT,
            "plugin": NAME,
            "version": VERSION,
            "predictions_of": settings.predictions_of,
            "least": dict(settings.least),
            "learnt": [
                {
                    "notes": len(half),
                    "patients": len({owner_of(each.note) for each in half}),
                    "spans": count_found(half),
                }
                for half in learnt
            ],
        }
        (out / ABOUT).write_text(
            json.dumps(about, sort_keys=True) + "\n", encoding="utf-8", newline="\n"
        )


def half_folder(half: int) -> str:
    """Return the folder of the CRF that learnt from a half."""
    return f"half-{half}"


def halves_of(notes: Sequence[Note], settings: BatchSettings) -> list[list[Document]]:
    """Return both halves of a batch, as the detector labels them.

    Raises:
        PluginError: The detector is not installed.
        TrainingError: There is no batch, or a half of it has too little to learn from.
    """
    if not notes:
        raise TrainingError(
            "batch_crf learns from the notes that it is to read, and there are none: name them with"
            " --raw"
        )
    detector = load(
        settings.predictions_of,
        options={"profile": PROFILE} if settings.predictions_of == "rules" else {},
    )
    halves = []
    for half in range(HALVES):
        drawn = _draw(
            [note for note in notes if half_of(note) == half], characters=settings.characters
        )
        documents = [
            coarse(note, spans) for note, spans in zip(drawn, detector.detect(drawn), strict=True)
        ]
        spans, owners = count_found(documents), len({owner_of(note) for note in drawn})
        if spans < settings.min_spans or owners < settings.min_owners:
            raise TrainingError(
                f"batch_crf: one half of the {len(notes):,} notes has {spans:,} names, places,"
                f" dates and organizations that {settings.predictions_of} found, of {owners:,}"
                f" patients; {settings.min_spans} of {settings.min_owners} are the least to learn"
                " from: give more raw notes, or use the detectors without it"
            )
        halves.append(documents)
    return halves


def select_settings(settings: BatchSettings) -> Mapping[str, Any]:
    """Return the settings of the CRF of annotated notes."""
    return {
        "max_iterations": settings.max_iterations,
        "predictions_of": settings.predictions_of,
        "prediction_dropout": DROPOUT,
        "keep_empty": KEEP_EMPTY,
    }


def batch_settings(settings: BatchSettings) -> Mapping[str, Any]:
    """Return the settings of the CRFs of the batch, which do not hear the detector whose labels
    they learn.
    """
    return {
        "max_iterations": settings.max_iterations,
        "predictions_of": "",
        "min_patients": settings.min_patients,
        "keep_empty": KEEP_EMPTY,
    }


def task_of(documents: Sequence[Document], settings: Mapping[str, Any], *, seed: int = 1) -> Task:
    """Return the task of learning coarse categories, one sequence per note."""
    return Task(
        phases=[documents],
        dev=[],
        labels=LABELS,
        native=False,
        scheme=TagScheme.BIO,
        grouping=1_000,
        seed=seed,
        settings=CrfSettings.of(settings).to_json(),
    )


def _draw(notes: Sequence[Note], *, characters: int) -> list[Note]:
    """Return notes of as much text, those of whole patients, who are drawn by their
    names' digests.
    """
    ordered = sorted(
        notes, key=lambda note: (hashlib.sha256(owner_of(note).encode()).digest(), note.note_id)
    )
    kept, size, owner = [], 0, ""
    for note in ordered:
        if size >= characters and owner_of(note) != owner:
            break
        kept.append(note)
        size, owner = size + len(note.text), owner_of(note)
    return kept


def _number_epochs(report: Report, phase: int) -> Callable[[Epoch], None]:
    return lambda epoch: report(replace(epoch, phase=phase))
