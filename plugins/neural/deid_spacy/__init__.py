"""spaCy pipelines that set entities as detectors, added from a folder with ``deid models add``."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from deid_assets.extending import PluginError
from deid_published.pipelines import (
    Entity,
    Library,
    LoadedPipeline,
    PipelineDetector,
    PipelineImporter,
)

__all__ = ["SpacyDetector", "SpacyImporter"]

CONFIG = "config.cfg"


class SpacyDetector(PipelineDetector):
    """Takes a pipeline's ``doc.ents``, on the CPU; arguments and errors as ``PipelineDetector``."""

    def __init__(self, *, model: str | Path, name: str = "spacy") -> None:
        super().__init__(_LIBRARY, model=model, name=name)


class SpacyImporter(PipelineImporter):
    """Adds pipelines that ``nlp.to_disk`` of spaCy wrote."""

    def __init__(self) -> None:
        super().__init__(_LIBRARY)


Importer = SpacyImporter
"""The name that the entry point gives it."""


def _is_here(folder: Path) -> bool:
    """Return whether it is spaCy's: a configuration of EDS-NLP names its factories with an @."""
    config = folder / CONFIG
    return config.is_file() and "@factory" not in config.read_text(
        encoding="utf-8", errors="replace"
    )


def _copy(source: Path, out: Path) -> Mapping[str, Any]:
    shutil.copytree(source, out, dirs_exist_ok=True)
    return {}


def _open(folder: Path, _: Mapping[str, Any], __: str | None) -> LoadedPipeline:
    import spacy  # noqa: PLC0415 - 1 s

    try:
        nlp = spacy.load(folder)
    except Exception as error:
        raise PluginError(
            f"{folder}: the pipeline does not load ({type(error).__name__}); it needs the version"
            " of spaCy that meta.json names, and the package of each component that is not"
            " spaCy's own"
        ) from error
    setters = [name for name in nlp.pipe_names if "doc.ents" in nlp.get_pipe_meta(name).assigns]
    labels = sorted({label for name in setters for label in nlp.pipe_labels.get(name, ())})
    if not labels:
        raise PluginError(
            f"{folder}: the pipeline sets no entities; it has"
            f" {', '.join(nlp.pipe_names) or 'no components'}, and needs one such as ner or"
            " entity_ruler with labels"
        )

    def read(text: str) -> Iterable[Entity]:
        return [(found.start_char, found.end_char, found.label_) for found in nlp(text).ents]

    return LoadedPipeline(labels, read)


_LIBRARY = Library(
    "spacy", "deid_spacy", f"0.1.0+spacy{metadata.version('spacy')}", _is_here, _copy, _open
)
