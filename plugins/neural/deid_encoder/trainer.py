"""The trainer ``encoder``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deid_assets.extending import Report, Task
from deid_encoder.detector import NAME, VERSION
from deid_encoder.settings import read_settings


class EncoderTrainer:
    """Fine-tunes multilingual-e5-small as a tagger of whole notes, and exports it.

    On one machine with one number of threads the same task gives the same bytes, also after a kill.
    """

    name = NAME
    version = VERSION

    def settings(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the recipe's ``[settings]`` checked and completed.

        Raises:
            ConfigError: A key is unknown or a value is not allowed.
        """
        return read_settings(given).model_dump(mode="json")

    def train(self, task: Task, out: Path, report: Report) -> None:
        """Write the model into ``out``.

        Resume from ``out/checkpoint`` where a killed run of the same task left it.

        Raises:
            ConfigError: The package with the weights is not installed.
            TrainingError: The loss is no number.
        """
        from deid_encoder.run import run  # noqa: PLC0415 - loads PyTorch

        run(task, out, report)

    def export(self, model: Path, out: Path) -> None:
        """Write the ONNX folder of a model: fp32, and int8 by channel.

        Raises:
            PluginError: The model folder is broken.
        """
        from deid_encoder.export import export  # noqa: PLC0415 - loads PyTorch

        export(model, out)
