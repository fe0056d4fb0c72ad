"""EDS-NLP pipelines as detectors, EDS-Pseudo among them.

They are added from a folder with ``deid models add``.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from deid_assets.extending import PluginError
from deid_onnx.devices import device as find_device
from deid_published.pipelines import (
    Entity,
    Library,
    LoadedPipeline,
    PipelineDetector,
    PipelineImporter,
)

__all__ = ["EdsnlpDetector", "EdsnlpImporter"]

CONFIG = "config.cfg"
_SPACE = re.compile(r"\s")


class EdsnlpDetector(PipelineDetector):
    """Takes a pipeline's ``doc.ents``; arguments and errors as ``PipelineDetector``."""

    def __init__(
        self, *, model: str | Path, name: str = "edsnlp", device: str | None = None
    ) -> None:
        super().__init__(_LIBRARY, model=model, name=name, device=device)


class EdsnlpImporter(PipelineImporter):
    """Adds pipelines that ``nlp.to_disk`` of EDS-NLP wrote."""

    def __init__(self) -> None:
        super().__init__(_LIBRARY)


Importer = EdsnlpImporter
"""The name that the entry point gives it."""


def _is_here(folder: Path) -> bool:
    config = folder / CONFIG
    return config.is_file() and "@factory" in config.read_text(encoding="utf-8", errors="replace")


def _copy(source: Path, out: Path) -> Mapping[str, Any]:
    for file in source.rglob("*"):
        if file.is_file() and file.suffix in {".cfg", ".json"}:
            text = file.read_text(encoding="utf-8", errors="replace")
            if "trust_remote_code" in text or "auto_map" in text:
                raise PluginError(
                    f"{file}: it asks to run code of its own, which is not run; choose another"
                    " model"
                )
    shutil.copytree(source, out, dirs_exist_ok=True)
    return {}


def _open(folder: Path, _: Mapping[str, Any], device: str | None) -> LoadedPipeline:
    place = find_device(device)
    import edsnlp  # noqa: PLC0415 - loads PyTorch

    try:
        nlp = edsnlp.load(folder.resolve()).to(place)
    except Exception as error:
        raise PluginError(
            f"{folder}: the pipeline does not load ({type(error).__name__}); a pipe of a package of"
            " its own, such as eds-pseudo, needs that package installed, a model in it a folder of"
            " its own"
        ) from error

    def read(text: str) -> Iterable[Entity]:
        document = nlp(text)
        if _SPACE.sub(" ", document.text) != _SPACE.sub(" ", text):
            # EDS-NLP makes blanks of other white space
            raise PluginError(
                f"{folder}: the pipeline changes the text, so its offsets are not the note's"
            )
        return [(found.start_char, found.end_char, found.label_) for found in document.ents]

    return LoadedPipeline(_labels(nlp), read)


def _labels(nlp: Any) -> Sequence[str]:
    """Return the labels that the configuration of its pipes names; a rule may set others."""
    found: list[str] = []
    for pipe in nlp.config["components"].values():
        found += [
            str(label) for key in ("labels", "terms", "regex") for label in pipe.get(key) or ()
        ]
        found += [pipe["label"]] if isinstance(pipe.get("label"), str) else []
    return list(dict.fromkeys(found))


_LIBRARY = Library("edsnlp", "deid_edsnlp", "0.1.0", _is_here, _copy, _open)
