"""The folder of an added model.

What ``published.json`` says, and files that are still those that were added.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deid_assets.extending import ConfigError, Phi, PluginError
from deid_onnx.session import OUTPUT
from deid_published.aggregation import AGGREGATIONS, WORDS, Convention
from deid_published.scheme import EntityScheme
from deid_published.viterbi import check_biases

CARD = "published.json"
GRAPH = "model.onnx"
TOKENIZER = "tokenizer.json"
FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """A model that was added.

    Args:
        path: Its folder.
        name: As it was added.
        convention: How its scores are read.
        labels: Label to category; a label of ``None`` is decided to be no PHI.
        window: Most sub-tokens in one sequence, with the special ones.
        overlap: Sub-tokens that neighbouring windows share.
        unknown: Number of the tokenizer's unknown one.
        output: Of the network's graph: its scores.
        version: Twelve digits of the digests of its files.
        card: The whole of ``published.json``.
    """

    path: Path
    name: str
    convention: Convention
    labels: Mapping[str, Phi | None]
    window: int
    overlap: int
    unknown: int | None
    output: str
    version: str
    card: Mapping[str, Any]


def read_added(path: Path) -> Added:
    """Return what a folder says, after comparing its files with their digests.

    Raises:
        PluginError: There is no ``published.json``, it is broken, or a file is missing or another.
    """
    if not (path / CARD).is_file():
        raise PluginError(f"{path}: no {CARD}; give the folder that `deid models add` wrote")
    try:
        card = json.loads((path / CARD).read_text(encoding="utf-8"))
        if card["format"] != FORMAT:
            raise PluginError(
                f"{path}: {CARD} has format {card['format']!r}, this version reads {FORMAT}"
            )
        if library := card.get("library"):
            raise PluginError(f"{path}: {library} runs this model; use --detector {library}={path}")
        found = _check(path, card)
    except (ValueError, KeyError, TypeError, AttributeError, ConfigError) as error:
        raise PluginError(
            f"{path}: {CARD} is broken ({type(error).__name__}); add the model again"
        ) from None
    check_files(path, card["files"])
    return found


def _check(path: Path, card: Mapping[str, Any]) -> Added:
    if card["aggregation"] not in AGGREGATIONS or card["words"] not in WORDS:
        raise ValueError("aggregation")
    convention = Convention(
        tags=[str(tag) for tag in card["tags"]],
        scheme=EntityScheme(card["scheme"]),
        aggregation=card["aggregation"],
        words=card["words"],
        has_prefix=bool(card["has_prefix"]),
        biases=check_biases(card["biases"]) if card["aggregation"] == "viterbi" else {},
    )
    biases = [card["biases"]] if convention.biases else []
    digests = json.dumps(
        [card["files"], card["labels"], card["aggregation"], card["words"], *biases], sort_keys=True
    )
    return Added(
        path=path,
        name=str(card["name"]),
        convention=convention,
        labels={
            str(label): Phi(value) if value else None for label, value in card["labels"].items()
        },
        window=int(card["window"]),
        overlap=int(card["overlap"]),
        unknown=card["unknown"],
        output=str(card.get("output", OUTPUT)),
        version=hashlib.sha256(digests.encode()).hexdigest()[:12],
        card=card,
    )


def check_files(path: Path, files: Mapping[str, str]) -> None:
    """Compare files of a folder with their SHA-256.

    Raises:
        PluginError: One is missing or another.
    """
    for name, wanted in files.items():
        if not (path / name).is_file() or sha256(path / name) != wanted:
            raise PluginError(
                f"{path / name}: missing, or not the file that was added; add the model again"
            )


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
