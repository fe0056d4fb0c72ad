"""A trained network as a folder: ``tagger.json``, ``vocabulary/``, ``model.safetensors``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from deid_assets.extending import PluginError, Task
from deid_flair.network import FlairNetwork
from deid_flair.parts import EmbeddingPart, TransformerPart, rebuild
from deid_flair.settings import FlairSettings
from deid_flair.store import DESCRIPTION, WEIGHTS, read_tensors, write_json, write_tensors
from deid_onnx.families.flair import VOCABULARY, vocabulary
from deid_onnx.folder import FORMAT, TaggerFolder

NETWORK = (
    "encoder",
    "decoder",
    "hidden",
    "layers",
    "reproject",
    "word_dropout",
    "locked_dropout",
    "longest",
    "overlap",
)
"""Settings that are needed to build the network again."""


def make_network(
    parts: Sequence[EmbeddingPart], task: Task, wanted: FlairSettings, tags: Sequence[str]
) -> FlairNetwork:
    """Return an untrained network."""
    described = {name: getattr(wanted, name) for name in NETWORK}
    return FlairNetwork(parts, tags, described, task.scheme.value)


def write(
    folder: Path, network: FlairNetwork, task: Task, version: str, more: Mapping[str, Any]
) -> None:
    """Write a network.

    What describes it comes last, so that a folder with ``tagger.json`` is complete.
    """
    described = []
    for number, each in enumerate(network.parts):
        described.append(dict(each.description))
        write_json(folder / VOCABULARY / f"{number}.json", list(each.vocabulary))
        if isinstance(each, TransformerPart):
            described[-1]["folder"] = f"transformer-{number}"
            each.save(folder / f"transformer-{number}")
    write_tensors(folder / WEIGHTS, network.tagger.state_dict(), {})
    content = {
        "format": FORMAT,
        "plugin": "flair",
        "family": "flair",
        "version": version,
        "tags": network.tags,
        "labels": {label: category.value for label, category in task.labels.items()},
        "native": task.native,
        "scheme": task.scheme.value,
        "grouping": task.grouping,
        "embeddings": described,
        **network.described,
        **more,
    }
    write_json(folder / DESCRIPTION, content)


def read(folder: TaggerFolder) -> FlairNetwork:
    """Return the network of a folder, ready for use.

    Raises:
        PluginError: A file or a setting is missing or broken, or the weights are of another
            network.
    """
    try:
        described = {name: folder.settings[name] for name in NETWORK}
        parts = [
            rebuild(dict(each), vocabulary(folder.path, number), folder.path)
            for number, each in enumerate(folder.settings["embeddings"])
        ]
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise PluginError(
            f"{folder.path}: {DESCRIPTION} or a vocabulary is broken ({type(error).__name__}:"
            f" {error}); train the model again"
        ) from None
    network = FlairNetwork(parts, folder.tags, described, folder.scheme)
    load_weights(network, read_tensors(folder.path / WEIGHTS)[0], folder.path)
    network.tagger.eval()
    return network


def load_weights(network: FlairNetwork, tensors: Mapping[str, torch.Tensor], origin: Path) -> None:
    """Put weights into a network.

    Raises:
        PluginError: They are of another network.
    """
    wanted = {name: tuple(tensor.shape) for name, tensor in network.tagger.state_dict().items()}
    given = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    wrong = sorted(
        name for name in wanted.keys() | given.keys() if wanted.get(name) != given.get(name)
    )
    if wrong:
        raise PluginError(
            f"{origin}: the weights do not fit {DESCRIPTION} at {wrong[0]!r}"
            f"{f' and {len(wrong) - 1} more' if wrong[1:] else ''}; train the model again"
        )
    network.tagger.load_state_dict(tensors)
