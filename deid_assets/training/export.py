"""ONNX exports, compared with their network before anyone uses them."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from deid_assets import plugins
from deid_assets.core.detector import Detector, Failed, detect
from deid_assets.core.errors import InputError, PluginError, TrainingError
from deid_assets.core.span import SpanSet
from deid_assets.core.trainer import Document
from deid_assets.system.atomic import replace_folder
from deid_assets.training.card import TAGGER, Card, close_folder, digests, read_card, write_card
from deid_assets.training.scoring import score_outcomes

PRECISIONS = ("fp32", "fp16", "int8")
LARGEST_LOSS: Mapping[str, float] = {"fp32": 0.0, "fp16": 0.002, "int8": 0.02}
"""Strict F1 that an export may lose against its network before it is refused."""


@runtime_checkable
class Exporter(Protocol):
    """A trainer whose models are networks."""

    def export(self, model: Path, out: Path) -> None:
        """Write the whole network of a model folder as ONNX into ``out``, which exists.

        The files are those that the detector ``onnx`` reads: ``tagger.json`` and ``model.onnx``,
        and ``model.fp16.onnx`` and ``model.int8.onnx`` where the network has these.
        """
        ...


@dataclass(frozen=True, slots=True)
class Parity:
    """Difference of an export to its network on notes.

    Args:
        precision: Of the export.
        notes: Compared.
        differing_notes: Notes with another set of spans.
        spans: That the network finds.
        differing_spans: Spans that only one of the two finds.
        f1: Strict F1 of the network.
        exported_f1: Strict F1 of the export.
    """

    precision: str
    notes: int
    differing_notes: int
    spans: int
    differing_spans: int
    f1: float
    exported_f1: float

    @property
    def change(self) -> float:
        """Strict F1 that the export gains or, below 0, loses."""
        return self.exported_f1 - self.f1

    @property
    def holds(self) -> bool:
        """Whether the export may be used.

        At fp32 every span is the same, at others F1 falls by little.
        """
        if self.precision == "fp32":
            return not self.differing_spans
        return -self.change <= LARGEST_LOSS[self.precision]


def export_model(
    model: Path, out: Path, documents: Sequence[Document]
) -> tuple[Card, list[Parity]]:
    """Write a model as ONNX and return how each precision does on notes; all or nothing.

    Args:
        model: Folder that ``train_model`` wrote.
        out: Folder for the export; what is there is replaced.
        documents: Annotated notes to compare on, such as the development notes.

    Raises:
        InputError: The model is damaged.
        PluginError: Its plugin has no network to export, or the detector ``onnx`` is not installed.
        TrainingError: There are no notes, or the fp32 export does not find the very spans of its
            network.
    """
    card = read_card(model, verify=True)
    name = str(card.recipe["plugin"])
    exporter = plugins.load_trainer(name)
    if not isinstance(exporter, Exporter):
        raise PluginError(
            f"trainer {name!r}: its models are no networks, so there is nothing to export"
        )
    if not documents:
        raise TrainingError("there are no notes to compare the export on; give annotated notes")
    part = out.with_name(out.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True, mode=0o700)
    exporter.export(model, part)
    parities = [
        compare(card, model, part, documents, precision=precision)
        for precision in PRECISIONS
        if (part / file_of(precision)).exists()
    ]
    if refused := [
        parity for parity in parities if parity.precision == "fp32" and not parity.holds
    ]:
        raise TrainingError(
            f"{model}: the fp32 export differs in {refused[0].differing_spans} of"
            f" {refused[0].spans} spans; it was not kept, report it to the plugin's author"
        )
    files = digests(part)
    size = sum((part / file).stat().st_size for file in files)
    exported = card.model_copy(update={"files": files, "size_bytes": size})
    write_card(part, exported)
    close_folder(part)
    replace_folder(part, out)
    return exported, parities


def open_folder(folder: Path) -> Detector:
    """Return the detector of a tagger's folder, of training or an export, by its ``tagger.json``.

    Of an export the most precise graph is run.

    Raises:
        InputError: The folder does not say which plugin trained the tagger.
        PluginError: That plugin is not installed, or the folder is broken.
    """
    try:
        name = str(json.loads((folder / TAGGER).read_text(encoding="utf-8"))["plugin"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"model {folder.name}: its {TAGGER} is missing, or names no plugin; give the folder"
            " that deid train or deid export wrote"
        ) from None
    options: dict[str, Any] = {"model": str(folder)}
    graphs = [each for each in PRECISIONS if (folder / file_of(each)).exists()]
    if not graphs:
        return plugins.load("tagger", plugin=name, options=options)
    trainer = plugins.available(plugins.TRAINERS).get(name)
    runner = plugins.ONNX if trainer is None else trainer.runner
    return plugins.load("tagger", plugin=runner, options=options | {"precision": graphs[0]})


def file_of(precision: str) -> str:
    """Return the name of an export's graph."""
    return "model.onnx" if precision == "fp32" else f"model.{precision}.onnx"


def compare(
    card: Card, model: Path, onnx: Path, documents: Sequence[Document], *, precision: str
) -> Parity:
    """Return how an export differs from its network."""
    name, plugin = str(card.recipe["name"]), str(card.recipe["plugin"])
    network = plugins.load(name, plugin=plugin, options={"model": str(model)})
    runner = plugins.available(plugins.TRAINERS)[plugin].runner
    exported = plugins.load(
        name, plugin=runner, options={"model": str(onnx), "precision": precision}
    )
    notes = [document.note for document in documents]
    answers = [detect(detector, notes) for detector in (network, exported)]
    wanted, found = ([_spans(outcome) for outcome in outcomes] for outcomes in answers)
    differing = [
        sum(((left - right) + (right - left)).values())
        for left, right in zip(wanted, found, strict=True)
    ]
    native = card.recipe["labels"] == "native"
    scores = [
        score_outcomes(outcomes, documents, native=native).micro.f1 or 0.0 for outcomes in answers
    ]
    return Parity(
        precision=precision,
        notes=len(documents),
        differing_notes=sum(count > 0 for count in differing),
        spans=sum(sum(spans.values()) for spans in wanted),
        differing_spans=sum(differing),
        f1=scores[0],
        exported_f1=scores[1],
    )


def _spans(outcome: SpanSet | Failed) -> Counter[tuple[object, ...]]:
    if isinstance(outcome, Failed):
        return Counter([("failed",)])
    return Counter((span.start, span.end, span.label, span.native_label) for span in outcome)
