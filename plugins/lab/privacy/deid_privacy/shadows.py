"""Trains shadow models as the target was trained, each on a random half of the notes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from deid_assets import Note
from deid_assets.extending import InputError
from deid_assets.extending.taggers import Recipe, load_trainer
from deid_audits.models.shadows import FEWEST, SETTINGS, digest, halves, model_name
from deid_privacy.utility.running import claim

_PART = ".part"


def train(
    recipe: Recipe,
    notes: Sequence[Note],
    folder: Path,
    *,
    count: int,
    seed: int,
    say: Callable[[str], None],
) -> None:
    """Write shadow models into a folder.

    Those that are there stay, and a killed training is resumed.

    Args:
        recipe: The target's.
        notes: Training and held-out notes of the target together, as many of the one as of the
            other at best.
        folder: Of the models, which hold what their notes say: keep it as the notes.
        count: Models, an even number.
        seed: Of the halves.
        say: Told what is to be done, what it takes after the first model, and each one made.

    Raises:
        InputError: There are too few or an odd number of models, or the folder holds others.
        TrainingError: A half has too little text.
    """
    if count < FEWEST or count % 2:
        raise InputError(f"{count} shadow models; give an even number of {FEWEST} or more")
    trainer: Any = load_trainer(recipe.plugin)
    folder.mkdir(parents=True, exist_ok=True)
    known = {
        "plugin": recipe.plugin,
        "settings": trainer.settings(recipe.settings),
        "recipe seed": recipe.seed,
        "notes": digest(notes),
    }
    claim(folder / SETTINGS, known | {"count": count, "seed": seed})
    drawn = halves(notes, count, seed=seed)
    left = [number for number in range(count) if not (folder / model_name(number)).exists()]
    say(f"{len(left)} of {count} trainings by {recipe.name}, each on half of {len(notes)} notes")
    for done, number in enumerate(left):
        began = time.monotonic()
        own = [note for note, inside in zip(notes, drawn[number], strict=True) if inside]
        _train_one(trainer, recipe, own, folder / model_name(number), seed=recipe.seed + number)
        took = time.monotonic() - began
        say(
            f"shadow model {number + 1}: {took:.0f} s; about {took * (len(left) - done - 1):.0f} s"
            " to go"
        )


def _train_one(
    trainer: Any, recipe: Recipe, notes: Sequence[Note], out: Path, *, seed: int
) -> None:
    """Write one model, beside its place until it is finished."""
    part = out.with_name(out.name + _PART)
    part.mkdir(mode=0o700, exist_ok=True)
    settings = trainer.settings(recipe.settings)
    trainer.pretrain(notes, part, settings=settings, seed=seed, report=lambda _epoch: None)
    part.rename(out)
