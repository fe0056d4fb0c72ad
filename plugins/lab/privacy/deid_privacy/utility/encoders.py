"""Encoders to compare.

One of general text, the same read on with notes of a version, or a folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from deid_assets import Note
from deid_assets.extending import InputError
from deid_privacy.utility.examples import TaskData, TaskDocument
from deid_privacy.utility.tasks import TASKS, task_data
from deid_privacy.utility.versions import version_of
from deid_transformers.trainer import TransformersTrainer

GENERAL, ADAPTED, EPOCHS = "general", "adapted:", "epochs"
_OTHER_NOTES = 50_000
"""Added to the seed, so that encoders are pre-trained on other notes than those of the tasks."""
_SHAPE: dict[str, Any] = {
    "architecture": "bert",
    "layers": 2,
    "hidden": 64,
    "heads": 4,
    "positions": 128,
    "vocabulary": 1_500,
    "lines": False,
    "kinds": False,
    "dropout": 0.1,
}
_READING: dict[str, Any] = {
    "batch": 16,
    "length": 64,
    "packed": True,
    "learning_rate": 3e-3,
    "mask": 0.15,
    "save_every": 10_000,
}


def encoder_of(
    name: str, folder: Path, *, documents: int, steps: int, detectors: Sequence[str], seed: int
) -> Path:
    """Return the folder of an encoder, made where it is not there yet.

    Args:
        name: ``general``, ``adapted:VERSION``, or ``NAME=FOLDER`` for a given one.
        folder: For those that are made.
        documents: Notes of each task that an adapted one reads.
        steps: Optimiser steps of each pre-training.
        detectors: They find what a version replaces.
        seed: Of everything.

    Raises:
        InputError: The name is none of these.
    """
    if "=" in name:
        return Path(name.partition("=")[2])
    if name == GENERAL:
        return _once(
            folder / GENERAL, lambda out: _read(general_notes(), out, steps=steps, seed=seed)
        )
    if not name.startswith(ADAPTED):
        raise InputError(
            f"unknown encoder {name!r}; give {GENERAL}, {ADAPTED}VERSION or NAME=FOLDER"
        )
    base = encoder_of(
        GENERAL, folder, documents=documents, steps=steps, detectors=detectors, seed=seed
    )
    version = name.removeprefix(ADAPTED)

    def adapt(out: Path) -> None:
        notes = select_unlabelled(version, documents=documents, detectors=detectors, seed=seed)
        _read(notes, out, steps=steps, seed=seed, base=base)

    return _once(folder / f"adapted-{version}", adapt)


def epochs_of(name: str) -> list[Path]:
    """Return the epochs of a pre-training that ``NAME=FOLDER/epochs`` names, of which each task
    takes its best, or none.

    Raises:
        InputError: The folder has no epoch.
    """
    folder = Path(name.partition("=")[2])
    if "=" not in name or folder.name != EPOCHS:
        return []
    found = sorted(one for one in folder.glob("*") if (one / "config.json").exists())
    if not found:
        raise InputError(
            f"{folder}: there is no epoch in it; name a folder of deid pretrain with epochs"
        )
    return found


def select_unlabelled(
    version: str, *, documents: int, detectors: Sequence[str], seed: int
) -> list[Note]:
    """Return notes of every task under a version, none of them a note of the tasks themselves."""
    made: list[TaskDocument] = []
    for name in TASKS:
        made += task_data(name, documents=documents, seed=seed + _OTHER_NOTES).examples
    under = version_of(
        TaskData("unlabelled", "tokens", (), tuple(made)), version, detectors=detectors
    )
    return [Note(one.note_id, one.text, lang="en") for one in under.examples]


def general_notes() -> list[Note]:
    """Return paragraphs of a text that is no clinical one.

    The documentation of Python that comes with it.
    """
    from pydoc_data.topics import topics  # noqa: PLC0415 - 700 kB

    parts = [
        " ".join(part.split()) for name in sorted(topics) for part in topics[name].split("\n\n")
    ]
    kept = [part for part in dict.fromkeys(parts) if len(part.split()) >= 8][:1_500]
    return [Note(f"general-{number:05d}", part, lang="en") for number, part in enumerate(kept)]


def _once(out: Path, make: Callable[[Path], None]) -> Path:
    if not out.exists():
        begun = out.with_name(out.name + ".begun")
        shutil.rmtree(begun, ignore_errors=True)
        begun.mkdir(parents=True)
        make(begun)
        begun.rename(out)
    return out


def _read(
    notes: Sequence[Note], out: Path, *, steps: int, seed: int, base: Path | None = None
) -> None:
    trainer = TransformersTrainer()
    begin = {"encoder": str(base)} if base else {"encoder": "new", "new": _SHAPE}
    settings = trainer.settings({**begin, "threads": 1, "pretrain": {**_READING, "steps": steps}})
    trainer.pretrain(notes, out, settings=settings, seed=seed, report=lambda _epoch: None)
