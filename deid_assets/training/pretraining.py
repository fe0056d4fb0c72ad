"""Language models of raw notes.

Pre-training as a step of its own, before and apart from any tagger.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from deid_assets import plugins
from deid_assets.config.secret import secret_of_environment
from deid_assets.core.errors import InputError, PluginError
from deid_assets.core.note import Note
from deid_assets.core.trainer import Report
from deid_assets.training.card import CARD, read_card
from deid_assets.training.naming import name_of
from deid_assets.training.recipe import Recipe
from deid_assets.training.run import PART
from deid_assets.training.seen import count_seen

RECORD = "pretraining.json"
"""File of a language model's folder: recipe, versions, and the digests of its training notes."""
PROMISE = "privacy.json"
"""File of a language model's folder: what its training promises of each patient, where it added
noise. It names no note.
"""


@runtime_checkable
class Pretrainer(Protocol):
    """A trainer that can make language models."""

    version: str

    def settings(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return settings checked and completed."""
        ...

    def pretrain(
        self,
        notes: Sequence[Note],
        out: Path,
        *,
        settings: Mapping[str, Any],
        seed: int,
        report: Report,
    ) -> None:
        """Write a language model into ``out``, which exists, or resume what a killed run left
        there.
        """
        ...


@dataclass(frozen=True, slots=True)
class PretrainingRecord:
    """What a language model was made of.

    Args:
        recipe: All its values.
        fingerprint: Of the recipe, the notes and the plugin.
        notes: How many there were.
        digests: Of the text of each, and of those that its base model has read; see ``name_of``.
        promise: What the training promises of each patient; empty where it promises nothing.
    """

    recipe: Mapping[str, Any]
    fingerprint: str
    notes: int
    digests: frozenset[str] = field(repr=False)
    promise: Mapping[str, Any] = field(default_factory=dict)


def pretrain_model(
    recipe: Recipe, notes: Sequence[Note], out: Path, *, report: Report = lambda _epoch: None
) -> PretrainingRecord:
    """Make a language model folder of raw notes; a second call with nothing changed does nothing.

    What is not finished stands under ``NAME.part``, and a killed run resumes there.

    Args:
        recipe: Of which the plugin, the seed and the settings count.
        notes: Their annotations, where there are any, do not matter.
        out: Folder, new or of a language model.
        report: Called after each checkpoint.

    Raises:
        ConfigError: A setting is wrong.
        InputError: There are no notes, or the folder holds something else.
        PluginError: The plugin makes no language models.
        TrainingError: The run cannot give a model.
    """
    trainer = _load(recipe.plugin)
    if not any(note.text.strip() for note in notes):
        raise InputError("there is no raw note with text; give --raw")
    settings = trainer.settings(recipe.settings)
    digests = sorted(_name(note) for note in notes)
    fingerprint = _fingerprint([recipe.plugin, recipe.seed, settings, trainer.version, digests])
    if (out / RECORD).exists():
        known = read_record(out)
        if known.fingerprint == fingerprint:
            return known
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out}: it holds something else; name a new or empty folder")
    part = out.with_name(out.name + PART)
    part.mkdir(parents=True, mode=0o700, exist_ok=True)
    if settings.get("epsilon") is None:
        # of a killed run with other settings
        (part / PROMISE).unlink(missing_ok=True)
    trainer.pretrain(notes, part, settings=settings, seed=recipe.seed, report=report)
    read = frozenset(digests) | _read_before(settings)
    values = recipe.model_dump(mode="json") | {"settings": settings}
    record = PretrainingRecord(values, fingerprint, len(notes), read, read_promise(part))
    _write(part, record)
    if out.exists():
        out.rmdir()
    part.rename(out)
    return record


def _load(plugin: str) -> Pretrainer:
    """Return a trainer.

    Raises:
        PluginError: It makes no language models.
    """
    trainer = plugins.load_trainer(plugin)
    if not isinstance(trainer, Pretrainer):
        raise PluginError(
            f'trainer {plugin!r} makes no language models; choose plugin = "transformers"'
        )
    return trainer


def _fingerprint(made_of: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()


def _read_before(settings: Mapping[str, Any]) -> frozenset[str]:
    """Return the digests of the notes that the model to start from has read, where its folder
    tells.
    """
    base = Path(str(settings.get("encoder") or settings.get("base") or ""))
    return read_record(base).digests if (base / RECORD).is_file() else frozenset()


def _name(note: Note) -> str:
    return note.digest if secret_of_environment() is None else name_of(note.digest)


def _write(folder: Path, record: PretrainingRecord) -> None:
    values = {
        "recipe": record.recipe,
        "fingerprint": record.fingerprint,
        "notes": record.notes,
        "digests": sorted(record.digests),
        **({"promise": record.promise} if record.promise else {}),
    }
    (folder / RECORD).write_text(json.dumps(values, indent=1), encoding="utf-8")


def read_record(folder: Path) -> PretrainingRecord:
    """Return what a language model was made of.

    Raises:
        InputError: The folder has no record, or it is broken.
    """
    path = folder / RECORD
    try:
        values = json.loads(path.read_text("utf-8"))
        return PretrainingRecord(
            values["recipe"],
            values["fingerprint"],
            values["notes"],
            frozenset(values["digests"]),
            values.get("promise", {}),
        )
    except FileNotFoundError:
        raise InputError(
            f"{folder} has no {RECORD}; it is no language model that deid pretrain wrote"
        ) from None
    except (ValueError, KeyError, TypeError, OSError):
        raise InputError(f"{path} is broken; pre-train again") from None


def read_promise(folder: Path) -> Mapping[str, Any]:
    """Return what the training of a model promises of each patient; empty where it says nothing.

    Raises:
        InputError: The file is broken.
    """
    path = folder / PROMISE
    if not path.is_file():
        return {}
    try:
        values: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
        if min(float(values["epsilon"]), float(values["delta"])) >= 0:
            return values
    except (ValueError, KeyError, TypeError, OSError):
        pass
    raise InputError(f"{path} is broken; train again, which spends epsilon again")


def learnt_from(folder: Path, notes: Iterable[Note]) -> list[str]:
    """Return the ids of notes that a language model was trained on, as far as its folder
    says so.
    """
    if not (folder / RECORD).exists():
        return []
    digests = read_record(folder).digests
    # Of folders that were written without a key, and before keys were used, the plain ones.
    return [note.note_id for note in notes if not digests.isdisjoint((_name(note), note.digest))]


def count_read(folder: Path, notes: Sequence[Note]) -> int:
    """Return how many notes a model was trained on, by the record or the card in its folder.

    0 where it has neither.

    Raises:
        InputError: The record or the card is broken.
    """
    if (folder / RECORD).is_file():
        return len(learnt_from(folder, notes))
    return count_seen(read_card(folder), notes) if (folder / CARD).is_file() else 0


def digests_of(notes: Iterable[Note]) -> frozenset[str]:
    """Return the digests under which notes may stand in a language model's folder.

    With the key that there is, and without.
    """
    return frozenset(digest for note in notes for digest in (_name(note), note.digest))
