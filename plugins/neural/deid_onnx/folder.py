"""A tagger's folder: what ``tagger.json`` says, checked before anything of it is used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deid_assets import Phi
from deid_assets.extending import OUTSIDE, Grouping, PluginError, TagScheme, read_grouping

TAGGER_FILE = "tagger.json"
FORMAT = 1
_PICKLES = frozenset({".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggerFolder:
    """Description of a trained tagger.

    Args:
        path: The folder.
        plugin: Which plugin trained it.
        version: Of the plugin.
        tags: In the order of the network's output; ``O`` is among them.
        labels: Tag label to category.
        scheme: Of the tags.
        grouping: Consecutive sentences in one input, or a chunk of ``N words``.
        settings: The whole of ``tagger.json``.
    """

    path: Path
    plugin: str
    version: str
    tags: Sequence[str]
    labels: Mapping[str, Phi]
    scheme: TagScheme
    grouping: Grouping
    settings: Mapping[str, Any]

    @property
    def categories(self) -> frozenset[Phi]:
        """Every category that the tags stand for."""
        return frozenset(self.labels[label] for label in labels_of(self.tags))


def labels_of(tags: Sequence[str]) -> list[str]:
    """Return the labels of tags, each once, in their order."""
    return list(dict.fromkeys(tag.partition("-")[2] for tag in tags if tag != OUTSIDE))


def read_folder(path: Path, *, trust: bool = False) -> TaggerFolder:
    """Return what the folder's ``tagger.json`` says.

    Args:
        path: A model folder.
        trust: Whether files that may hold pickles, and so run code when they are read, may lie in
            it.

    Raises:
        PluginError: The folder is missing, has pickles, or its ``tagger.json`` is missing, broken
            or contradicts itself.
    """
    if not (path / TAGGER_FILE).is_file():
        raise PluginError(
            f"{path}: no {TAGGER_FILE}; give the folder that `deid train` or `deid export` wrote"
        )
    refuse_pickles(path, trust=trust)
    try:
        given = json.loads((path / TAGGER_FILE).read_text(encoding="utf-8"))
        if given["format"] != FORMAT:
            raise PluginError(
                f"{path}: {TAGGER_FILE} has format {given['format']!r}, this version reads {FORMAT}"
            )
        return _check(path, given)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PluginError(
            f"{path}: {TAGGER_FILE} is broken ({type(error).__name__}: {error}); train or export"
            " the model again"
        ) from error


def _check(path: Path, given: Mapping[str, Any]) -> TaggerFolder:
    tags = [str(tag) for tag in given["tags"]]
    labels = {str(label): Phi(category) for label, category in given["labels"].items()}
    if missing := [label for label in labels_of(tags) if label not in labels]:
        raise PluginError(
            f"{path}: {TAGGER_FILE} gives no category to {', '.join(missing)}; add them to its"
            " labels"
        )
    if OUTSIDE not in tags or len(set(tags)) != len(tags):
        raise PluginError(f"{path}: {TAGGER_FILE} must list O and each other tag once")
    try:
        grouping = read_grouping(given["grouping"])
    except ValueError:
        raise PluginError(
            f"{path}: {TAGGER_FILE} has grouping {given['grouping']}, it must be 1 or more, or read"
            " as '128 words'"
        ) from None
    return TaggerFolder(
        path=path,
        plugin=str(given["plugin"]),
        version=str(given["version"]),
        tags=tags,
        labels=labels,
        scheme=TagScheme(given["scheme"]),
        grouping=grouping,
        settings=given,
    )


def refuse_pickles(path: Path, *, trust: bool) -> None:
    """Check that no file of the folder may hold pickles.

    Raises:
        PluginError: One may, and it is not trusted.
    """
    found = sorted(file.name for file in path.rglob("*") if file.suffix in _PICKLES)
    if found and not trust:
        raise PluginError(
            f"{path}: {', '.join(found[:3])} may run code when read; "
            "save the model as safetensors, or give trust=true if you know who made it"
        )


def digest(*files: Path) -> str:
    """Return twelve hexadecimal digits of the SHA-256 over the files' contents.

    They are for a detector's version.
    """
    total = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()[:12]
