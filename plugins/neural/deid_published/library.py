"""A published model that its own library runs.

Its folder, its files pinned, every label decided.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deid_assets.extending import ConfigError, Phi, PluginError
from deid_published.folder import CARD, FORMAT, check_files, sha256
from deid_published.labels import LabelChoice
from deid_published.writing import ImportRequest, files_of, write_folder

FILES = "model"
"""Folder, in that of an added model, of the files that its library reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryWanted(ImportRequest):
    """The same of a model that a library runs. ``library`` is the name of the detector."""

    library: str

    def folder(self) -> Path:
        """Return the folder of the model.

        Raises:
            PluginError: It is to be fetched.
            ConfigError: An option was given that is of token classifiers alone.
        """
        if self.fetch or self.revision:
            raise PluginError(
                f"{self.source}: models of {self.library} are not fetched; copy it and give its"
                " folder"
            )
        for option in ("aggregation", "words"):
            if getattr(self, option):
                raise ConfigError(
                    f"--{option} is of token classifiers; {self.library} has its own way"
                )
        return Path(self.source).resolve()


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryModel:
    """An added model.

    Args:
        path: Folder of the files that its library reads.
        labels: Label to category; a label of ``None`` is decided to be no PHI.
        version: Twelve digits of the digests of its files and of its labels.
        card: The whole of ``published.json``.
    """

    path: Path
    labels: Mapping[str, Phi | None]
    version: str
    card: Mapping[str, Any]


def read_model(path: Path, library: str) -> LibraryModel:
    """Return what a folder says, after comparing its files with their digests.

    Raises:
        PluginError: It is no folder of an added model of this library, or a file is missing,
            another or too many.
    """
    try:
        card = json.loads((path / CARD).read_text(encoding="utf-8"))
        if card["format"] != FORMAT:
            raise PluginError(
                f"{path}: {CARD} has format {card['format']!r}, this version reads {FORMAT}"
            )
        if (other := card.get("library", "published")) != library:
            raise PluginError(f"{path}: {other} runs this model; use --detector {other}={path}")
        found = LibraryModel(
            path=path / FILES,
            labels={
                str(label): Phi(value) if value else None for label, value in card["labels"].items()
            },
            version=hashlib.sha256(
                json.dumps([card["files"], card["labels"]], sort_keys=True).encode()
            ).hexdigest()[:12],
            card=card,
        )
        files = dict(card["files"])
    except OSError:
        raise PluginError(
            f"{path}: no {CARD}; give the folder that `deid models add` wrote"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PluginError(
            f"{path}: {CARD} is broken ({type(error).__name__}); add the model again"
        ) from None
    check_files(path, files)
    if more := sorted(files_of(path) - set(files) - {CARD}):
        raise PluginError(
            f"{path / more[0]}: not a file that was added; remove it, or add the model again"
        )
    return found


def write_model(
    wanted: LibraryWanted,
    labels: Mapping[str, Phi | None],
    choice: LabelChoice,
    fill: Callable[[Path], Mapping[str, Any]],
    check: Callable[[Path], Mapping[str, Any]],
) -> Mapping[str, Any]:
    """Write the folder of a model, all or nothing, and return its card.

    The arguments are those of ``write_folder``; ``fill`` is given the folder of the files that the
    library reads.
    """
    source = Path(wanted.source)

    def fill_files(folder: Path) -> Mapping[str, Any]:
        (folder / FILES).mkdir()
        return {
            "library": wanted.library,
            "source_files": {name: sha256(source / name) for name in sorted(files_of(source))},
            **fill(folder / FILES),
        }

    return write_folder(
        wanted, source.name, labels, choice, fill_files, lambda folder: {"check": check(folder)}
    )
