"""``deid models add`` for the folder of a GLiNER model."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from deid_assets.extending import Note, Phi, PluginError
from deid_gliner.network import CONFIG, GRAPH, GlinerSettings, load, longest, quiet, spans_of
from deid_onnx.session import cores
from deid_published.labels import LabelChoice, choose_labels, decide_labels, read_built_in
from deid_published.library import FILES, LibraryWanted, write_model

PROMPTS = (
    "person",
    "date of birth",
    "date",
    "age",
    "phone number",
    "fax number",
    "email address",
    "url",
    "ip address",
    "address",
    "city",
    "state",
    "country",
    "postal code",
    "hospital",
    "organization",
    "medical record number",
    "social security number",
    "national id number",
    "health insurance id number",
    "account number",
    "credit card number",
    "driver license number",
    "license plate number",
    "device identifier",
    "username",
)
"""Prompts that are proposed for a model without a label map.

Those it was trained with are in its card.
"""
BACKBONE = "backbone"
"""Folder, in that of a model without them, of its encoder's ``config.json`` and tokenizer."""
THRESHOLD = 0.3
PER_CALL = 25
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_TOKENIZER = "tokenizer_config.json"
_LABELS = "labels_tokenizer"
_OF_LABELS = "labels_encoder"
"""A bi-encoder reads its prompts with an encoder of their own.

A folder of that name has its configuration and tokenizer.
"""
_OTHER_KINDS = {
    "relations_layer": "it finds relations",
    "labels_decoder": "it writes its labels",
}


class GlinerImporter:
    """Adds GLiNER models."""

    name = "gliner"

    def recognises(self, folder: Path) -> bool:
        """Return whether a folder holds a GLiNER model."""
        return (folder / CONFIG).is_file()

    def add(self, options: Mapping[str, Any], notes: Sequence[Note]) -> Mapping[str, Any]:
        """Write the folder of a model and return its card.

        The network is exported to ONNX by the library; where the export does not find the same
        spans on ``notes``, PyTorch runs the model, and the card says so.

        Raises:
            PluginError: The model cannot be used; one line says why.
            ConfigError: A prompt is not decided; a proposal stands beside where the folder would
                be.
        """
        wanted = LibraryWanted(library=self.name, **options)
        source = wanted.folder()
        config = _config(source)
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
        with tempfile.TemporaryDirectory() as staging:
            model = _stage(source, config, Path(staging))
            reading = _settings(model, list(labels), wanted.window or choice.window)
            said = {key: value for key, value in asdict(reading).items() if key != "prompts"}
            threshold = THRESHOLD if choice.threshold is None else choice.threshold
            texts = [note.text for note in notes if note.text.strip()]
            sides = _Sides(model, reading, labels, threshold, texts)
            return write_model(
                wanted,
                labels,
                choice,
                lambda folder: {
                    "architecture": type(model).__name__,
                    "backbone": str(config.get("model_name", "")),
                    "threshold": threshold,
                    "reading": said,
                    **sides.write(folder),
                },
                sides.check,
            )

    def said(self, card: Mapping[str, Any]) -> str:
        """Return a line on what was added."""
        check = card["check"]
        runs = (
            f"its export and its network find the same {check['spans']} spans in {check['notes']}"
            " notes"
            if card["runtime"] == "onnx"
            else (
                f"run by PyTorch, since {card['why_not_onnx']}; {check['spans']} spans in"
                f" {check['notes']} notes"
            )
        )
        return (
            f"{card['architecture']}, {len(card['labels'])} prompts, windows of"
            f" {card['reading']['window']} words, threshold {card['threshold']}; {runs}"
        )

    def maps(self) -> Mapping[str, LabelChoice]:
        """Return the label maps that come along."""
        return read_built_in("deid_gliner")


Importer = GlinerImporter
"""The name that the entry point gives it."""


class _Sides:
    """The network as it was given, and what the folder will run."""

    def __init__(
        self,
        model: Any,
        reading: GlinerSettings,
        labels: Mapping[str, Phi | None],
        threshold: float,
        texts: Sequence[str],
    ) -> None:
        if not texts:
            raise PluginError("there is no note with text to compare the export on; give --notes")
        self._model, self._reading, self._labels = model, reading, labels
        self._threshold, self._texts = threshold, texts
        self._wanted = self._read(model)

    def _read(self, model: Any, most: int | None = None) -> list[set[tuple[int, int, str]]]:
        """Return the spans of each text, or of the first ones; all prompts count."""
        every = dict.fromkeys(self._labels, Phi.OTHER)
        return [
            {
                (span.start, span.end, span.native_label)
                for span in spans_of(
                    text, model, self._reading, every, source="", threshold=self._threshold
                )
            }
            for text in self._texts[:most]
        ]

    def write(self, folder: Path) -> Mapping[str, Any]:
        """Write what the library reads.

        Its graph where that finds the same, otherwise its weights.
        """
        try:
            with quiet():
                self._model.export_to_onnx(folder, onnx_filename=GRAPH)
                if of_labels := getattr(self._model.data_processor, _LABELS, None):
                    # the export leaves it out
                    of_labels.save_pretrained(folder / _LABELS)
            exported = _load(folder)
            differing = sum(
                len(a ^ b) for a, b in zip(self._wanted, self._read(exported), strict=True)
            )
            why = f"the export differs in {differing} spans" if differing else ""
        except Exception as error:  # noqa: BLE001 - the library's exporter raises many kinds
            why = f"the library's export fails ({type(error).__name__})"
        if why:
            shutil.rmtree(folder)
            with quiet():
                self._model.save_pretrained(folder, safe_serialization=True)
        _drop_names(folder / CONFIG)
        return {"runtime": "torch" if why else "onnx", **({"why_not_onnx": why} if why else {})}

    def check(self, folder: Path) -> Mapping[str, Any]:
        """Return how many spans were compared, once the added folder was read again.

        Raises:
            PluginError: What lies in the folder is not what was compared.
        """
        if self._read(_load(folder / FILES), most=1) != self._wanted[:1]:
            raise PluginError(
                f"{folder}: the added model differs from the one that was given; it was not kept"
            )
        return {"notes": len(self._texts), "spans": sum(map(len, self._wanted))}


def _settings(model: Any, prompts: list[str], window: int | None) -> GlinerSettings:
    """Return how notes are read: in windows of the words that are asked for, or of the most."""
    words = min(window or model.config.max_len, model.config.max_len)
    return GlinerSettings(
        prompts=prompts,
        groups=PER_CALL,
        window=words,
        overlap=words // 3,
        subtokens=longest(model),
    )


def _load(folder: Path) -> Any:
    """Return the model of a folder on the CPU, where it is compared."""
    if (folder / GRAPH).is_file():
        return load(folder, threads=cores(), providers=["cpu"])
    return load(folder, threads=cores(), device="cpu")


def _drop_names(path: Path) -> None:
    """Take the hub's names out of a configuration, so that nothing is looked for under them."""
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**config, "model_name": ""}, indent=1) + "\n", encoding="utf-8")


def _config(folder: Path) -> dict[str, Any]:
    """Return a model's configuration.

    Raises:
        PluginError: It is no JSON, runs code of its own, or is of a kind that is not run.
    """
    path = folder / CONFIG
    try:
        text = path.read_text(encoding="utf-8")
        config = json.loads(text)
    except ValueError:
        raise PluginError(f"{path}: not JSON; fetch the model again") from None
    if not isinstance(config, dict):
        raise PluginError(f"{path}: not a configuration; fetch the model again")
    if "auto_map" in text or list(folder.glob("**/*.py")):
        raise PluginError(
            f"{folder}: it brings code of its own, which is not run; choose another model"
        )
    for key, what in _OTHER_KINDS.items():
        if config.get(key):
            raise PluginError(
                f"{folder}: {what} ({key}), which is not run; choose a model that finds spans"
            )
    if not any((folder / name).is_file() for name in _WEIGHTS):
        raise PluginError(f"{folder}: no {' and no '.join(_WEIGHTS)}; fetch the model again")
    return config


def _stage(source: Path, config: Mapping[str, Any], staging: Path) -> Any:
    """Return the model, read from a copy in which nothing points outside of it.

    Raises:
        PluginError: Tokenizer or encoder's configuration are missing, or it does not load.
    """
    whole = dict(config)
    whole["encoder_config"] = _part(
        source,
        config,
        staging,
        "encoder_config",
        source,
        source / BACKBONE,
        name=str(config.get("model_name") or ""),
    )
    if name := config.get(_OF_LABELS):
        (staging / _LABELS).mkdir()
        whole["labels_encoder_config"] = _part(
            source,
            config,
            staging / _LABELS,
            "labels_encoder_config",
            source / _LABELS,
            source / _OF_LABELS,
            name=str(name),
        )
        whole[_OF_LABELS] = _OF_LABELS
    weights = next(name for name in _WEIGHTS if (source / name).is_file())
    (staging / weights).symlink_to(source / weights)
    (staging / CONFIG).write_text(json.dumps({**whole, "model_name": ""}), encoding="utf-8")
    try:
        return _load(staging)
    except PluginError as error:
        raise PluginError(str(error).replace(str(staging), str(source))) from error.__cause__


def _part(  # noqa: PLR0917 - where a part of a model may lie
    source: Path,
    config: Mapping[str, Any],
    out: Path,
    key: str,
    own: Path,
    backbone: Path,
    *,
    name: str,
) -> dict[str, Any]:
    """Copy an encoder's tokenizer, and return its configuration.

    The tokenizer comes from the model's own folder or from its backbone's.

    Raises:
        PluginError: One of both is missing, or it runs code of its own.
    """
    if not config.get(key) or not (own / _TOKENIZER).is_file():
        for wanted in ("config.json", _TOKENIZER):
            if not (backbone / wanted).is_file():
                raise PluginError(
                    f"{source}: it has no tokenizer or no configuration of its encoder; copy"
                    f" config.json and the tokenizer's files of {name or 'its encoder'} into"
                    f" {backbone}"
                )
    for file in (own if (own / _TOKENIZER).is_file() else backbone).iterdir():
        if (
            file.is_file()
            and file.suffix in {".json", ".txt", ".model"}
            and file.name not in {CONFIG, "config.json"}
        ):
            shutil.copyfile(file, out / file.name)
    if found := config.get(key):
        return dict(found)
    text = (backbone / "config.json").read_text(encoding="utf-8")
    if "auto_map" in text:
        raise PluginError(
            f"{backbone}: it brings code of its own, which is not run; choose another model"
        )
    encoder: dict[str, Any] = json.loads(text)
    if key == "encoder_config" and int(config.get("vocab_size", -1)) != -1:
        encoder["vocab_size"] = config["vocab_size"]
    return encoder
