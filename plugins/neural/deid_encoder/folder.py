"""A model folder: ``tagger.json``, and the blocks that were trained in ``model.safetensors``.

The embeddings and the blocks that stayed as published are read from the package, whose digest the
folder names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deid_assets.extending import Phi, PluginError
from deid_compact.labels import Classes
from deid_compact.words import Decision
from deid_encoder.stack import Stack
from deid_encoder.weights import UnigramPieces

TAGGER_FILE = "tagger.json"
WEIGHTS_FILE = "model.safetensors"
PIECES_FILE = "pieces.json"
FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderDescription:
    """Description of a trained encoder.

    Args:
        version: Of the plugin that trained it.
        base: SHA-256 of the published weights.
        layers: Blocks that it has.
        frozen: Of these, the lower ones that are as published.
        classes: Its outputs.
        window: Most pieces in an input.
        step: Pieces between the beginnings of two windows.
        temperature: By which scores are divided, so that probabilities are those of the development
            notes.
        decision: From which probability a word is marked.
        predictions_of: Detector whose spans are united with its own, or empty.
        veto: Probability under which a span of that detector is left out.
        second: Detector whose opinion on each word is weighed with its own, or empty.
        stack: The weights; none where there is no second opinion.
    """

    version: str
    base: str
    layers: int
    frozen: int
    classes: Classes
    window: int
    step: int
    temperature: float
    decision: Decision
    predictions_of: str
    veto: float
    second: str = ""
    stack: Stack | None = None

    def as_json(self) -> dict[str, Any]:
        """Return what ``tagger.json`` holds."""
        values = asdict(self)
        values["classes"] = list(self.classes.categories)
        values["decision"] = self.decision.as_json()
        return {"format": FORMAT, "plugin": "encoder", **values}


def write_about(folder: Path, about: EncoderDescription) -> None:
    """Write ``tagger.json``."""
    text = json.dumps(about.as_json(), indent=1, sort_keys=True) + "\n"
    (folder / TAGGER_FILE).write_text(text, encoding="utf-8", newline="\n")


def read_about(folder: Path) -> EncoderDescription:
    """Return what ``tagger.json`` says.

    Raises:
        PluginError: It is missing, broken or of another plugin.
    """
    path = folder / TAGGER_FILE
    if not path.is_file():
        raise PluginError(
            f"{folder}: no {TAGGER_FILE}; give the folder that `deid train` or `deid export` wrote"
        )
    try:
        return _about(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PluginError(
            f"{path} is broken ({type(error).__name__}); train or export the model again"
        ) from error


def _about(given: Mapping[str, Any]) -> EncoderDescription:
    if given["format"] != FORMAT or given["plugin"] != "encoder":
        raise ValueError
    stack = given.get("stack")
    return EncoderDescription(
        version=str(given["version"]),
        base=str(given["base"]),
        layers=int(given["layers"]),
        frozen=int(given["frozen"]),
        classes=Classes(tuple(Phi(name) for name in given["classes"])),
        window=int(given["window"]),
        step=int(given["step"]),
        temperature=float(given["temperature"]),
        decision=Decision.of_json(given["decision"]),
        predictions_of=str(given["predictions_of"]),
        veto=float(given["veto"]),
        second=str(given.get("second", "")),
        stack=Stack(**{name: float(value) for name, value in stack.items()}) if stack else None,
    )


def write_pieces(folder: Path, pieces: UnigramPieces) -> None:
    """Write the pieces of an exported model's tokenizer."""
    values = asdict(pieces)
    (folder / PIECES_FILE).write_text(
        json.dumps(values, ensure_ascii=False), encoding="utf-8", newline="\n"
    )


def read_pieces(folder: Path) -> UnigramPieces:
    """Return the pieces of an exported model's tokenizer.

    Raises:
        PluginError: They are missing or broken.
    """
    try:
        given = json.loads((folder / PIECES_FILE).read_text(encoding="utf-8"))
        spellings = [(str(piece), float(score)) for piece, score in given.pop("pieces")]
        return UnigramPieces(spellings, **{name: int(value) for name, value in given.items()})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PluginError(
            f"{folder}: {PIECES_FILE} is missing or broken; export the model again"
        ) from error
