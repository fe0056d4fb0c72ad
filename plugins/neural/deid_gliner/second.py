"""GLiNER2 models (the library ``gliner2``), whose labels are prompts too.

They are added with ``deid models add``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from deid_assets.extending import Note, PluginError, remedy
from deid_gliner.adding import PER_CALL, PROMPTS, THRESHOLD
from deid_gliner.network import count_taken, most_of, parts, quiet, sizes_of
from deid_onnx.devices import device as find_device
from deid_published.labels import LabelChoice, choose_labels, decide_labels, read_built_in
from deid_published.library import LibraryWanted, write_model
from deid_published.pipelines import Entity, Library, LoadedPipeline, PipelineDetector

CONFIG = "config.json"
WORDS = 192
"""Words of a window.

Fewer where these and the prompts are more sub-tokens than the encoder reads.
"""
_SCHEMA = 16
"""Sub-tokens that the library puts around prompts and text, at most."""


class Gliner2Detector(PipelineDetector):
    """Takes the entities of all windows; arguments and errors as ``PipelineDetector``.

    Every span has score 1.
    """

    def __init__(
        self, *, model: str | Path, name: str = "gliner2", device: str | None = None
    ) -> None:
        super().__init__(_LIBRARY, model=model, name=name, device=device)


class Gliner2Importer:
    """Adds GLiNER2 models."""

    name = "gliner2"

    def recognises(self, folder: Path) -> bool:
        """Return whether a folder holds a GLiNER2 model."""
        return _is_here(folder)

    def add(self, options: Mapping[str, Any], notes: Sequence[Note]) -> Mapping[str, Any]:
        """Write the folder of a model and return its card; it is run on ``notes``.

        Raises:
            PluginError: The model cannot be used; one line says why.
            ConfigError: A prompt is not decided; a proposal stands beside where the folder would
                be.
        """
        wanted = LibraryWanted(library=self.name, **options)
        source = wanted.folder()
        choice = choose_labels(
            wanted.labels,
            known=self.maps(),
            source=source.name,
            labels=PROMPTS,
            file=wanted.proposal,
        )
        labels = decide_labels(
            list(choice.labels), choice, where=wanted.source, file=wanted.proposal
        )
        threshold = THRESHOLD if choice.threshold is None else choice.threshold
        settings = {
            "prompts": list(labels),
            "threshold": threshold,
            "words": wanted.window or choice.window or WORDS,
        }

        def fill(folder: Path) -> Mapping[str, Any]:
            _copy(source, folder)
            return {"settings": settings}

        def check(folder: Path) -> Mapping[str, Any]:
            detector = Gliner2Detector(model=folder, device="cpu")
            return {
                "notes": len(notes),
                "spans": sum(len(spans) for spans in detector.detect(notes)),
            }

        return write_model(wanted, labels, choice, fill, check)

    def said(self, card: Mapping[str, Any]) -> str:
        """Return a line on what was added."""
        settings, check = card["settings"], card["check"]
        return (
            f"GLiNER2, {len(settings['prompts'])} prompts, windows of {settings['words']} words,"
            f" threshold {settings['threshold']}; {check['spans']} spans in {check['notes']} notes"
        )

    def maps(self) -> Mapping[str, LabelChoice]:
        """Return the label maps that come along: those of GLiNER."""
        return read_built_in("deid_gliner")


Importer = Gliner2Importer
"""The name that the entry point gives it."""


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
    configs = [
        file.read_text(encoding="utf-8", errors="replace") for file in source.rglob("config.json")
    ]
    if any("auto_map" in text for text in configs) or list(source.rglob("*.py")):
        raise PluginError(
            f"{source}: it brings code of its own, which is not run; choose another model"
        )
    if not any((source / name).is_file() for name in ("model.safetensors", "pytorch_model.bin")):
        raise PluginError(
            f"{source}: no model.safetensors and no pytorch_model.bin; fetch the model again"
        )
    shutil.copytree(source, out, dirs_exist_ok=True)
    return {}


def _load(folder: Path, place: str) -> Any:
    """Return the library's model on a device."""
    try:
        from gliner2 import AutoExtractor  # noqa: PLC0415 - loads PyTorch
    except ImportError as error:
        raise PluginError(
            f"GLiNER2 models need the library gliner2; {remedy('gliner[gliner2]')}"
        ) from error
    try:
        return AutoExtractor.from_pretrained(
            str(folder), local_files_only=True, map_location=place
        ).eval()
    except Exception as error:
        raise PluginError(
            f"{folder}: the model does not load ({type(error).__name__}); fetch it again"
        ) from error


def _open(folder: Path, settings: Mapping[str, Any], device: str | None) -> LoadedPipeline:
    with quiet():
        model = _load(folder, find_device(device))
    prompts, words = list(settings["prompts"]), int(settings["words"])
    tokenizer, splitter = model.processor.tokenizer, model.processor.word_splitter
    longest = most_of(tokenizer, model.encoder.config) - _SCHEMA

    def read(text: str) -> Iterable[Entity]:
        places = list(splitter(text))
        sizes = sizes_of(tokenizer, [word for word, _, _ in places])
        found: list[Entity] = []
        for at in range(0, len(prompts), PER_CALL):
            group = prompts[at : at + PER_CALL]
            room = longest - count_taken(tokenizer, group)
            if room < 1:
                raise PluginError(
                    f"{len(group)} prompts fill all of {longest} sub-tokens; give fewer labels"
                )
            for first, last in parts(
                len(places), sizes, words=words, overlap=words // 3, room=room
            ):
                begin, window = places[first][1], text[places[first][1] : places[last - 1][2]]
                found += [
                    (begin + start, begin + end, prompt)
                    for start, end, prompt in ask(window, group)
                ]
        return found

    def ask(window: str, group: list[str]) -> Iterable[Entity]:
        with quiet():
            entities = model.extract_entities(
                window,
                group,
                threshold=float(settings["threshold"]),
                include_spans=True,
                overlap_policy="nested",
            )["entities"]
        # The library ends a text with a full stop where it has none, and may find that.
        spans = [
            (one["start"], min(one["end"], len(window)), prompt)
            for prompt in group
            for one in entities[prompt]
        ]
        return [span for span in spans if span[0] < span[1]]

    return LoadedPipeline(list(settings["prompts"]), read)


_LIBRARY = Library("gliner2", "deid_gliner", "0.1.0", _is_here, _copy, _open)
