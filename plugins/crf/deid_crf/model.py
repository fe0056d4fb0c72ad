"""A model folder: written by the trainer, read by the detector, without pickles."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deid_assets.extending import ConfigError, Grouping, InputError, Phi, TagScheme, read_grouping
from deid_crf.statistics import Tally
from deid_crf.weights import TagWeights

FORMAT = 1
ABOUT, ATTRIBUTES, STATISTICS, WEIGHTS, LISTS = (
    "tagger.json",
    "attributes.txt",
    "statistics.json",
    "weights.safetensors",
    "lists",
)
PICKLES = (".pkl", ".pickle", ".pt", ".pth", ".bin", ".joblib")


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A trained tagger.

    Args:
        version: Of the trainer.
        tags: In the order of the weights.
        labels: Tag label to category.
        native: Whether tags carry a corpus' own labels.
        scheme: Of the tags.
        grouping: Consecutive sentences in one sequence, or a chunk of ``N words``.
        window: Words to either side that count.
        predictions_of: Detector whose predictions are features, or empty.
        weights: Of attributes and transitions.
        statistics: Words in normal form, and the labels they had in training.
        lists: Compiled lists in the folder.
        min_score: Spans less probable are not returned, unless the detector's options say
            otherwise.
    """

    version: str
    tags: Sequence[str]
    labels: Mapping[str, Phi]
    native: bool
    scheme: TagScheme
    grouping: Grouping
    window: int
    predictions_of: str
    weights: TagWeights
    statistics: Tally = field(repr=False)
    lists: Sequence[Path] = ()
    min_score: float = 0.0


def write_model(folder: Path, model: Model) -> None:
    """Write a model into a folder. ``tagger.json`` comes last: without it a folder is no model."""
    from safetensors.numpy import save  # noqa: PLC0415 - compiled, loaded when first needed

    weights = model.weights
    names = sorted(weights.numbers, key=weights.numbers.__getitem__)
    (folder / ATTRIBUTES).write_text(
        "".join(f"{name}\n" for name in names), encoding="utf-8", newline="\n"
    )
    _write_json(folder / STATISTICS, model.statistics)
    arrays = {
        name: np.ascontiguousarray(getattr(weights, name))
        for name in ("first", "tags", "values", "transitions")
    }
    (folder / WEIGHTS).write_bytes(save(arrays))
    for path in model.lists:
        (folder / LISTS).mkdir(exist_ok=True)
        shutil.copyfile(path, folder / LISTS / path.name)
    about = {
        "format": FORMAT,
        "plugin": "crf",
        "version": model.version,
        "tags": list(model.tags),
        "labels": {name: label.value for name, label in model.labels.items()},
        "native": model.native,
        "scheme": model.scheme.value,
        "grouping": model.grouping,
        "window": model.window,
        "predictions_of": model.predictions_of,
        "min_score": model.min_score,
        "lists": [path.name for path in model.lists],
    }
    _write_json(folder / ABOUT, about)


def _write_json(path: Path, content: object) -> None:
    path.write_text(
        json.dumps(content, ensure_ascii=False, sort_keys=True) + "\n",
        encoding="utf-8",
        newline="\n",
    )


def read_model(folder: Path) -> Model:
    """Read a model.

    Raises:
        ConfigError: The folder or one of its files is missing or broken, is of another plugin or
            version, holds pickles, or its labels do not cover its tags.
    """
    if not (folder / ABOUT).is_file():
        raise ConfigError(
            f"model {folder}: no {ABOUT}; give a folder that deid train finished with the"
            " plugin crf"
        )
    if pickles := sorted(path.name for path in folder.rglob("*") if path.suffix in PICKLES):
        raise ConfigError(
            f"model {folder}: {pickles[0]} may be a pickle, which runs code; this plugin writes"
            " none"
        )
    try:
        about: dict[str, Any] = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if about["plugin"] != "crf" or about["format"] != FORMAT:
            raise ConfigError(
                f"model {folder}: made by plugin {about['plugin']!r}, format {about['format']};"
                f" this is crf, format {FORMAT}: load it with the detector that made it, or train"
                " again"
            )
        return _model(folder, about)
    except (InputError, OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, ConfigError):
            raise
        fault = str(error) if isinstance(error, InputError) else type(error).__name__
        raise ConfigError(f"model {folder}: broken or incomplete ({fault}); train again") from error


def _model(folder: Path, about: Mapping[str, Any]) -> Model:
    labels = {str(name): Phi(category) for name, category in about["labels"].items()}
    if missing := sorted({tag[2:] for tag in about["tags"] if tag != "O"} - labels.keys()):
        raise ConfigError(
            f"model {folder}: no category for label {', '.join(missing)}; add it to labels in"
            f" {ABOUT}"
        )
    return Model(
        version=str(about["version"]),
        tags=tuple(map(str, about["tags"])),
        labels=labels,
        native=bool(about["native"]),
        scheme=TagScheme(about["scheme"]),
        grouping=read_grouping(about["grouping"]),
        window=int(about["window"]),
        predictions_of=str(about.get("predictions_of", about.get("opinion", ""))),
        weights=_weights(folder, tags=len(about["tags"])),
        statistics=json.loads((folder / STATISTICS).read_text(encoding="utf-8")),
        min_score=float(about["min_score"]),
        lists=tuple(folder / LISTS / Path(name).name for name in about["lists"]),
    )


def _weights(folder: Path, *, tags: int) -> TagWeights:
    from safetensors import SafetensorError  # noqa: PLC0415 - compiled, loaded when first needed
    from safetensors.numpy import load_file  # noqa: PLC0415 - likewise

    try:
        arrays = load_file(folder / WEIGHTS)
    except SafetensorError as error:
        raise ConfigError(f"model {folder}: {WEIGHTS} is broken; train again") from error
    names = (folder / ATTRIBUTES).read_text(encoding="utf-8").split("\n")[:-1]
    weights = TagWeights({name: number for number, name in enumerate(names)}, **arrays)
    fits = (
        len(weights.first) == len(names) + 1
        and weights.first[-1] == len(weights.tags) == len(weights.values)
        and weights.transitions.shape == (tags, tags)
        and (weights.tags < tags).all()
    )
    if not fits or not (
        np.isfinite(weights.values).all() and np.isfinite(weights.transitions).all()
    ):
        raise ConfigError(
            f"model {folder}: {WEIGHTS} does not fit {ATTRIBUTES} and {ABOUT}; train again"
        )
    return weights
