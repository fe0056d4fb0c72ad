"""The trainer ``zero_shot``.

No weight is trained, a threshold per language is chosen on annotated notes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deid_assets.extending import ConfigError, Document, Epoch, Report, Task, TrainingError
from deid_assets.extending.corpora import learnt_from
from deid_zero_shot import calibration, export, plots
from deid_zero_shot.detector import VERSION
from deid_zero_shot.method import Runtime, method_of, read_options

TAGGER_FILE = "tagger.json"
_OWN = ("model", "target", "threads", "allow_download", "trust")


class ZeroShotTrainer:
    """Makes a model folder of a masked language model and its thresholds, so that recipes and the
    graph can use it.

    The recipe's ``[settings]`` have ``model``, a folder or hub name; ``target``, as for ``deid
    zero-shot calibrate``; ``threads``, ``allow_download``, ``trust``, and how words are scored, as
    ``deid_zero_shot.method.Options`` lists it.
    """

    name = "zero_shot"
    version = VERSION

    def settings(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the recipe's ``[settings]`` checked and completed.

        Raises:
            ConfigError: A key is unknown, a value is not allowed, or there is no model.
        """
        if not given.get("model"):
            raise ConfigError(
                "settings of the trainer 'zero_shot': model is missing; write model = \"FOLDER\""
            )
        own = {"target": "f1", "threads": None, "allow_download": False, "trust": False} | {
            key: value for key, value in given.items() if key in _OWN
        }
        scoring = read_options({key: value for key, value in given.items() if key not in _OWN})
        return own | scoring.model_dump(mode="json")

    def train(self, task: Task, out: Path, report: Report) -> None:
        """Write the model as ONNX with a threshold for each language of the annotated notes, and
        the curves.

        Raises:
            TrainingError: The model was pre-trained on one of the notes.
            InputError: No threshold can be chosen on them.
            PluginError: The model is not there, or is no trained masked language model.
        """
        from deid_zero_shot.guard import load  # noqa: PLC0415 - loads PyTorch

        settings = self.settings(task.settings)
        source = str(settings["model"])
        documents = [document for phase in task.phases for document in phase]
        if learnt := learnt_from(
            Path(source), (document.note for document in (*documents, *task.dev))
        ):
            raise TrainingError(
                f"note {learnt[0]!r}: the model was pre-trained on it; take it out, or another"
                " model"
            )
        permissions = {key: bool(settings[key]) for key in ("allow_download", "trust")}
        export.export(load(source, **permissions), out)
        options = read_options({key: value for key, value in settings.items() if key not in _OWN})
        method = method_of(out, options, Runtime(threads=settings["threads"]))
        found = calibration.LanguageThresholds(method.digest, method.described, {})
        for number, (lang, some) in enumerate(sorted(_by_language(documents).items()), start=1):
            threshold = calibration.threshold_for(method, some, target=str(settings["target"]))
            found = found.add_language(lang, threshold)
            (out / f"calibration-{lang}.png").write_bytes(
                plots.curve_png(threshold, title=f"{Path(source).name}, {lang}")
            )
            (out / f"calibration-{lang}.csv").write_text(
                plots.curve_csv(threshold), encoding="utf-8"
            )
            report(Epoch(phase=0, epoch=number, loss=1 - threshold.f1, seconds=0.0))
        calibration.write(out / calibration.FILE, found)
        (out / TAGGER_FILE).write_text(
            json.dumps({"plugin": self.name, "version": self.version}), encoding="utf-8"
        )


def _by_language(documents: Sequence[Document]) -> Mapping[str, list[Document]]:
    found: dict[str, list[Document]] = {}
    for document in documents:
        if document.note.lang is None:
            raise TrainingError(
                f"note {document.note.note_id!r} names no language; thresholds are per language"
            )
        found.setdefault(document.note.lang, []).append(document)
    return found
