"""The trainer ``transformers``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deid_assets.core.trainer import Report, Task
from deid_transformers.settings import read_settings

VERSION = "0.1.0"


class TransformersTrainer:
    """Fine-tunes an encoder of the BERT kind, given or made from nothing, and exports it.

    On one machine with one number of threads the same task gives the same bytes, also after a kill.
    """

    name = "transformers"
    version = VERSION

    def settings(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the recipe's ``[settings]`` checked and completed.

        Raises:
            ConfigError: A key is unknown or a value is not allowed.
        """
        return read_settings(given).model_dump(mode="json")

    def train(self, task: Task, out: Path, report: Report) -> None:
        """Write the model into ``out``; go on from ``out/checkpoint`` where a killed run of the same task left it.

        Pre-training is reported as phase -1.

        Raises:
            TrainingError: The encoder is not there, the notes have no spans, or no attempt learnt anything.
        """
        from deid_transformers.run import run  # noqa: PLC0415 - loads PyTorch

        run(task, out, report, plugin=self.name, version=self.version)

    def export(self, model: Path, out: Path) -> None:
        """Write the ONNX folder of a model, which the detector ``onnx`` loads: fp32, fp16 and dynamic int8.

        Raises:
            PluginError: The model folder is broken.
        """
        from deid_transformers.export import export  # noqa: PLC0415 - loads PyTorch

        export(model, out)
