"""A model folder: what describes it, its base or where that is, its adapter, and its classifier of
categories.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid_assets import Phi
from deid_assets.extending import PluginError
from deid_generative.categories import ValueClassifier
from deid_generative.prompts import Prompt

TAGGER, BASE, ADAPTER, CATEGORIES = "tagger.json", "base", "adapter", "categories.json"
FORMAT, FAMILY = 1, "generative"


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A trained model.

    Args:
        path: The folder.
        base: Folder or hub name of the base; ``base`` where it is in the folder.
        has_adapter: Whether an adapter is on it.
        prompt: What it was trained with.
        tags: Labels of typed placeholders; empty where one stands for all.
        labels: Categories that it was trained to remove.
        settings: Of the recipe, completed.
        curve: What each epoch was measured to do.
        best_epoch: The one that was kept, from 1.
        biases: What each bias that was tried was measured to do, the kept one with ``kept``.
        categories: Classifier of untyped placeholders.
    """

    path: Path
    base: str
    has_adapter: bool
    prompt: Prompt
    tags: tuple[str, ...]
    labels: frozenset[Phi]
    settings: Mapping[str, Any]
    curve: tuple[Mapping[str, Any], ...] = ()
    best_epoch: int = 0
    biases: tuple[Mapping[str, Any], ...] = ()
    categories: ValueClassifier = field(default_factory=ValueClassifier)

    @property
    def base_folder(self) -> str:
        """Folder that the base model is read from."""
        return str(self.path / BASE) if self.base == BASE else self.base

    @property
    def digest(self) -> str:
        """Digest of all files of the folder; 12 hexadecimal digits."""
        total = hashlib.sha256()
        for path in sorted(
            path for path in self.path.rglob("*") if path.is_file() and path.name != "card.json"
        ):
            total.update(path.relative_to(self.path).as_posix().encode())
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
        return total.hexdigest()[:12]

    def write(self, *, plugin: str, version: str) -> None:
        """Write what describes the folder.

        ``tagger.json`` comes last, so that a folder with it is whole.
        """
        _dump(self.path / CATEGORIES, self.categories.to_json())
        described = {
            "format": FORMAT,
            "plugin": plugin,
            "version": version,
            "family": FAMILY,
            "base": self.base,
            "adapter": self.has_adapter,
            "prompt": self.prompt.model_dump(mode="json"),
            "prompt_digest": self.prompt.digest,
            "tags": list(self.tags),
            "labels": sorted(self.labels),
            "settings": dict(self.settings),
            "curve": [dict(point) for point in self.curve],
            "best_epoch": self.best_epoch,
            "biases": [dict(point) for point in self.biases],
        }
        _dump(self.path / TAGGER, described)


def _dump(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_folder(path: Path) -> ModelFolder:
    """Return what a model folder says of itself.

    Raises:
        PluginError: It is no folder of this plugin, or is broken.
    """
    try:
        found = json.loads((path / TAGGER).read_text(encoding="utf-8"))
        known = json.loads((path / CATEGORIES).read_text(encoding="utf-8"))
        if (found["format"], found["family"]) != (FORMAT, FAMILY):
            raise PluginError(f"{path}: a model of another plugin or version; train it again")
        return ModelFolder(
            path,
            base=str(found["base"]),
            has_adapter=bool(found["adapter"]),
            prompt=Prompt.model_validate(found["prompt"]),
            tags=tuple(found["tags"]),
            labels=frozenset(map(Phi, found["labels"])),
            settings=found["settings"],
            curve=tuple(found["curve"]),
            best_epoch=int(found["best_epoch"]),
            biases=tuple(found.get("biases", ())),
            categories=ValueClassifier.of_json(known),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PluginError(
            f"{path}: not a model folder of this plugin ({type(error).__name__}); train it again"
        ) from None
