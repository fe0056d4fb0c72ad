"""GLiNER2 models (the library ``gliner2``), whose labels are prompts too, added with ``deid models add``."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from deid_assets.extending import Note, PluginError
from deid_gliner.adding import PROMPTS, THRESHOLD
from deid_gliner.network import quiet
from deid_published.labels import LabelChoice, built_in, chosen, decided
from deid_published.library import LibraryWanted, write_model
from deid_published.pipelines import Entity, Library, Pipeline, PipelineDetector

CONFIG = "config.json"
WORDS = 192
"""Words of a window, so that these and the prompts fit the 512 sub-tokens that most encoders read."""


class Gliner2Detector(PipelineDetector):
    """Takes the entities of all windows; arguments and errors as ``PipelineDetector``. Every span has score 1."""

    def __init__(self, *, model: str | Path, name: str = "gliner2") -> None:
        super().__init__(_LIBRARY, model=model, name=name)


class Importer:
    """Adds GLiNER2 models."""

    name = "gliner2"

    def recognises(self, folder: Path) -> bool:
        """Return whether a folder holds a GLiNER2 model."""
        return _is_here(folder)

    def add(self, options: Mapping[str, Any], notes: Sequence[Note]) -> Mapping[str, Any]:
        """Write the folder of a model and return its card; it is run on ``notes``.

        Raises:
            PluginError: The model cannot be used; one line says why.
            ConfigError: A prompt is not decided; a proposal stands beside where the folder would be.
        """
        wanted = LibraryWanted(library=self.name, **options)
        source = wanted.folder()
        choice = chosen(wanted.labels, known=self.maps(), source=source.name, labels=PROMPTS, file=wanted.proposal)
        labels = decided(list(choice.labels), choice, where=wanted.source)
        threshold = THRESHOLD if choice.threshold is None else choice.threshold
        settings = {"prompts": list(labels), "threshold": threshold, "words": wanted.window or choice.window or WORDS}

        def fill(folder: Path) -> Mapping[str, Any]:
            _copy(source, folder)
            return {"settings": settings}

        def check(folder: Path) -> Mapping[str, Any]:
            detector = Gliner2Detector(model=folder)
            return {"notes": len(notes), "spans": sum(len(spans) for spans in detector.detect(notes))}

        return write_model(wanted, labels, choice, fill, check)

    def said(self, card: Mapping[str, Any]) -> str:
        """Return a line on what was added."""
        settings, check = card["settings"], card["check"]
        return (
            f"GLiNER2, {len(settings['prompts'])} prompts, windows of {settings['words']} words, threshold "
            f"{settings['threshold']}; {check['spans']} spans in {check['notes']} notes"
        )

    def maps(self) -> Mapping[str, LabelChoice]:
        """Return the label maps that come along: those of GLiNER."""
        return built_in("deid_gliner")


def _is_here(folder: Path) -> bool:
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and config.get("model_type") == "extractor"


def _copy(source: Path, out: Path) -> Mapping[str, Any]:
    """Copy a model's files.

    Raises:
        PluginError: It brings code of its own, or its weights are missing.
    """
    configs = [file.read_text(encoding="utf-8", errors="replace") for file in source.rglob("config.json")]
    if any("auto_map" in text for text in configs) or list(source.rglob("*.py")):
        raise PluginError(f"{source}: it brings code of its own, which is not run; choose another model")
    if not any((source / name).is_file() for name in ("model.safetensors", "pytorch_model.bin")):
        raise PluginError(f"{source}: no model.safetensors and no pytorch_model.bin; fetch the model again")
    shutil.copytree(source, out, dirs_exist_ok=True)
    return {}


def _open(folder: Path, settings: Mapping[str, Any]) -> Pipeline:
    with quiet():
        try:
            from gliner2 import AutoExtractor  # noqa: PLC0415 - loads PyTorch
        except ImportError as error:
            raise PluginError("GLiNER2 models need the library gliner2: pip install 'deid-gliner[gliner2]'") from error
        try:
            model = AutoExtractor.from_pretrained(str(folder), local_files_only=True, map_location="cpu").eval()
        except Exception as error:
            raise PluginError(f"{folder}: the model does not load ({type(error).__name__}); fetch it again") from error
    words = int(settings["words"])

    def read(text: str) -> Iterable[Entity]:
        with quiet():
            found = model.extract_entities_long(
                text,
                list(settings["prompts"]),
                threshold=float(settings["threshold"]),
                chunk_size=words,
                chunk_overlap=words // 3,
                include_spans=True,
                overlap_policy="nested",
            )
        return [
            (*_trimmed(text, one["start"], one["end"]), prompt)
            for prompt, of in found["entities"].items()
            for one in of
        ]

    return Pipeline(list(settings["prompts"]), read)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return what a span covers of a text: the library ends a window with a full stop where it has none, and may find that."""
    inside = text[start:end]
    return start + len(inside) - len(inside.lstrip()), start + len(inside.rstrip())


_LIBRARY = Library("gliner2", "deid_gliner", "0.1.0", _is_here, _copy, _open)
