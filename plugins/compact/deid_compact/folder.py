"""A model folder: ``tagger.json``, ``weights.npz`` and ``lists.marisa``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import Phi, PluginError
from deid_compact.labels import Classes
from deid_compact.lexicon import read_lexicon
from deid_compact.network import DILATIONS, CompactNetwork, CompactWeights, Floats
from deid_compact.words import Decision

TAGGER_FILE = "tagger.json"
WEIGHTS_FILE = "weights.npz"
LISTS_FILE = "lists.marisa"
FILES = (TAGGER_FILE, WEIGHTS_FILE, LISTS_FILE)
FORMAT = 1
PLUGIN = "compact"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactDescription:
    """Description of a trained model.

    Args:
        version: Of the plugin that trained it.
        classes: Outputs of the network.
        labels: Labels of the other detector, in the order of their numbers; ``""`` is none.
        temperature: By which scores are divided before they are probabilities.
        decision: From which probability a word is marked.
        predictions_of: Detector whose spans the network is told and is united with.
        veto: Probability under which a span of that detector is left out.
    """

    version: str
    classes: Classes
    labels: tuple[str, ...]
    temperature: float
    decision: Decision
    predictions_of: str
    veto: float


def write_about(folder: Path, about: CompactDescription) -> None:
    """Write ``tagger.json``."""
    values = {
        "format": FORMAT,
        "plugin": PLUGIN,
        "version": about.version,
        "classes": list(about.classes.categories),
        "labels": list(about.labels),
        "temperature": about.temperature,
        "decision": about.decision.as_json(),
        "predictions_of": about.predictions_of,
        "veto": about.veto,
    }
    text = json.dumps(values, indent=1, sort_keys=True) + "\n"
    (folder / TAGGER_FILE).write_text(text, encoding="utf-8", newline="\n")


def read_about(folder: Path) -> CompactDescription:
    """Return what ``tagger.json`` says.

    Raises:
        PluginError: It is missing, broken or of another plugin.
    """
    path = folder / TAGGER_FILE
    if not path.is_file():
        raise PluginError(f"{folder}: no {TAGGER_FILE}; give the folder that `deid train` wrote")
    try:
        return _about(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PluginError(
            f"{path} is broken ({type(error).__name__}); train the model again"
        ) from error


def _about(given: Mapping[str, Any]) -> CompactDescription:
    if given["format"] != FORMAT or given["plugin"] != PLUGIN:
        raise ValueError
    return CompactDescription(
        version=str(given["version"]),
        classes=Classes(tuple(Phi(name) for name in given["classes"])),
        labels=tuple(str(label) for label in given["labels"]),
        temperature=float(given["temperature"]),
        decision=Decision.of_json(given["decision"]),
        predictions_of=str(given["predictions_of"]),
        veto=float(given["veto"]),
    )


def write_weights(folder: Path, weights: CompactWeights) -> None:
    """Write the weights; those of the layers in half precision."""
    arrays: dict[str, NDArray[Any]] = {
        "table": weights.table,
        "scales": weights.scales.astype(np.float16),
    }
    for name, values in _small(weights).items():
        arrays[name] = values.astype(np.float16)
    np.savez_compressed(folder / WEIGHTS_FILE, **arrays)  # type: ignore[arg-type]


def _small(weights: CompactWeights) -> dict[str, Floats]:
    arrays = {
        "lists": weights.lists,
        "gap": weights.gap,
        "rule": weights.rule,
        "project.0": weights.project[0],
        "project.1": weights.project[1],
        "norm.0": weights.norm[0],
        "norm.1": weights.norm[1],
        "head.0": weights.head[0],
        "head.1": weights.head[1],
    }
    if weights.note is not None:
        arrays["note"] = weights.note
    for number, layer in enumerate(weights.layers):
        for part, values in enumerate(layer):
            arrays[f"layer.{number}.{part}"] = values
    return arrays


def read_network(folder: Path) -> CompactNetwork:
    """Return the network of a model folder.

    Raises:
        PluginError: A file is missing or broken.
    """
    path = folder / WEIGHTS_FILE
    try:
        with np.load(path, allow_pickle=False) as arrays:
            weights = _weights(arrays)
    except Exception as error:
        raise PluginError(
            f"{path} is missing or broken ({type(error).__name__}); train the model again"
        ) from error
    return CompactNetwork(weights, read_lexicon(folder / LISTS_FILE, len(weights.lists)))


def _weights(arrays: Mapping[str, NDArray[Any]]) -> CompactWeights:
    def read(name: str) -> Floats:
        return np.ascontiguousarray(arrays[name], dtype=np.float32)

    layers = []
    for number in range(len(DILATIONS)):
        matrix, bias, scale, shift = (read(f"layer.{number}.{part}") for part in range(4))
        layers.append((matrix, bias, scale, shift))
    return CompactWeights(
        table=np.ascontiguousarray(arrays["table"], dtype=np.int8),
        scales=read("scales"),
        lists=read("lists"),
        project=(read("project.0"), read("project.1")),
        gap=read("gap"),
        rule=read("rule"),
        note=read("note") if "note" in arrays else None,
        norm=(read("norm.0"), read("norm.1")),
        layers=layers,
        head=(read("head.0"), read("head.1")),
    )


def digest_of(folder: Path, *files: str) -> str:
    """Return twelve digits that stand for files of a model folder.

    Raises:
        PluginError: A file is missing.
    """
    total = hashlib.sha256()
    for name in files:
        try:
            with (folder / name).open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise PluginError(f"{folder}: no {name}; train or export the model again") from error
    return total.hexdigest()[:12]
