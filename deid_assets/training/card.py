"""Model cards: what a tagger was trained on, how, and how well it does.

Counts and digests, never text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deid_assets.core.errors import InputError
from deid_assets.core.trainer import Epoch
from deid_assets.system.digests import sha256_of

CARD = "card.json"
TAGGER = "tagger.json"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Learnt(_Section):
    """One corpus of a card."""

    name: str
    role: str
    notes: int
    spans: int
    digest: str


class SeedRun(_Section):
    """One of several trainings with different seeds.

    ``six`` are its micro F1 of the six scores on the test notes.
    """

    seed: int
    dev_f1: float
    test_f1: float | None = None
    six: Mapping[str, float | None] | None = None
    seconds: float
    kept: bool = False


class Seen(_Section):
    """Names of the patients and texts that a model was trained on or chosen by.

    See ``training.seen``.

    Args:
        mark: Name of nothing, which says under which key the others were made.
        names: In order.
    """

    mark: str
    names: tuple[str, ...] = Field(repr=False)


class Card(_Section):
    """Card of a model.

    Args:
        recipe: The recipe, completed.
        settings: The plugin's settings, with its defaults.
        plugin: Distribution version and digest of the trainer.
        software: Versions of what trained it.
        machine: Processor, cores and accelerator.
        fingerprint: Changes with everything that decides on the model.
        labels: Tag label to category.
        scheme: Tag scheme.
        grouping: Sentences in one input, or ``N words``.
        corpora: Training, development and test sets.
        seen: Whose notes it was trained on or chosen by; none in a card of an earlier version.
        inexact: Training spans that begin or end inside a token, and were widened.
        curve: Of the kept run.
        runs: Every run, with its score on the development notes.
        dev: Strict scores on the development notes, which chose the model: optimistic.
        test: Strict scores on notes that nothing was chosen by, where there are some.
        seconds: Wall-clock seconds of training, all runs.
        cpu_seconds: Of all processes and threads.
        size_bytes: Of the model folder.
        files: File name to SHA-256.
        licence: Of the corpora.
        energy_kwh: Where it is known.
        created_at: UTC, ISO 8601.
    """

    recipe: Mapping[str, Any]
    settings: Mapping[str, Any]
    plugin: str
    software: Mapping[str, str]
    machine: Mapping[str, str | int]
    fingerprint: str
    labels: Mapping[str, str]
    scheme: str
    grouping: int | str
    corpora: tuple[Learnt, ...]
    seen: Seen | None = None
    inexact: int
    curve: tuple[Epoch, ...]
    runs: tuple[SeedRun, ...]
    dev: Mapping[str, Any]
    test: Mapping[str, Any] | None = None
    seconds: float
    cpu_seconds: float
    size_bytes: int
    files: Mapping[str, str]
    licence: str = ""
    energy_kwh: float | None = None
    created_at: str
    format: int = Field(default=1, ge=1, le=1)

    @property
    def dev_f1(self) -> float:
        """Strict micro F1 on the development notes."""
        return float(self.dev["labels"]["ALL"]["f1"] or 0.0)


def write_card(folder: Path, card: Card) -> None:
    """Write the card into a model folder."""
    (folder / CARD).write_text(
        json.dumps(card.model_dump(mode="json"), indent=1) + "\n", encoding="utf-8"
    )


def close_folder(folder: Path) -> None:
    """Restrict a model folder and its content to the owner: models remember words of the notes."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o700 if path.is_dir() else 0o600)


def read_card(folder: Path, *, verify: bool = False) -> Card:
    """Return the card of a model folder.

    Args:
        folder: A model.
        verify: Also compare its files with the digests in the card.

    Raises:
        InputError: There is no card, it is damaged, or a file is missing or altered.
    """
    try:
        card = Card.model_validate_json((folder / CARD).read_bytes())
    except OSError:
        raise InputError(
            f"{folder}: no {CARD} in it; name a model folder that deid train wrote"
        ) from None
    except ValidationError:
        raise InputError(f"{folder / CARD}: not a model card; train the model again") from None
    if verify:
        found = digests(folder)
        for name in sorted({*card.files, *found}):
            if card.files.get(name) != found.get(name):
                state = "altered"
                if name not in found:
                    state = "missing"
                elif name not in card.files:
                    state = "not in the model card"
                raise InputError(
                    f"{folder / name}: {state}; train the model again, or copy the folder again"
                )
    return card


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a model folder but its card, by slash path."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if name != CARD:
            found[name] = sha256_of(path)
    return found
