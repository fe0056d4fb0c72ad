"""Stanza pipelines as detectors, added from the folder of a language with ``deid models add``."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
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

__all__ = ["StanzaDetector", "StanzaImporter"]

RESOURCES = "resources.json"
READ = ("tokenize", "mwt", "ner", "pretrain", "forward_charlm", "backward_charlm")
"""Folders of a language that finding entities needs."""


class StanzaDetector(PipelineDetector):
    """Takes a pipeline's entities; arguments and errors as ``PipelineDetector``."""

    def __init__(
        self, *, model: str | Path, name: str = "stanza", device: str | None = None
    ) -> None:
        super().__init__(_LIBRARY, model=model, name=name, device=device)


class StanzaImporter(PipelineImporter):
    """Adds a language of ``stanza_resources``."""

    def __init__(self) -> None:
        super().__init__(_LIBRARY)


Importer = StanzaImporter
"""The name that the entry point gives it."""


def _is_here(folder: Path) -> bool:
    return (folder / "ner").is_dir() and (folder.parent / RESOURCES).is_file()


def _copy(source: Path, out: Path) -> Mapping[str, Any]:
    try:
        resources = json.loads((source.parent / RESOURCES).read_text(encoding="utf-8"))
        own = resources[source.name]
    except (ValueError, KeyError, TypeError):
        raise PluginError(
            f"{source.parent / RESOURCES}: not JSON, or it does not name {source.name!r}; download"
            " the language again"
        ) from None
    for name in READ:
        if (source / name).is_dir():
            shutil.copytree(source / name, out / source.name / name)
    (out / RESOURCES).write_text(json.dumps({source.name: own}), encoding="utf-8")
    return {"lang": source.name}


def _open(folder: Path, settings: Mapping[str, Any], device: str | None) -> LoadedPipeline:
    place = find_device(device)
    import stanza  # noqa: PLC0415 - loads PyTorch

    try:
        made = stanza.Pipeline(
            settings["lang"],
            dir=str(folder),
            processors="tokenize,ner",
            download_method=None,
            verbose=False,
            device=place,
        )
    except Exception as error:
        raise PluginError(
            f"{folder}: the pipeline does not load ({type(error).__name__}); its folder needs the"
            " models of tokenize and ner, and what these need (mwt, pretrain, character models),"
            " as stanza.download lays them"
        ) from error

    def read(text: str) -> Iterable[Entity]:
        return [
            _trim(text, found.start_char, found.end_char, found.type) for found in made(text).ents
        ]

    return LoadedPipeline(made.processors["ner"].get_known_tags(), read)


def _trim(text: str, start: int, end: int, label: str) -> Entity:
    inside = text[start:end]
    return (
        start + len(inside) - len(inside.lstrip()),
        end - len(inside) + len(inside.rstrip()),
        label,
    )


_LIBRARY = Library("stanza", "deid_stanza", "0.1.0", _is_here, _copy, _open)
