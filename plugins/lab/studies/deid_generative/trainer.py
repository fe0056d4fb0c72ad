"""The trainer ``generative``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deid_assets.extending import Report, Task
from deid_generative.detector import VERSION
from deid_generative.settings import read_settings


class GenerativeTrainer:
    """Trains a causal language model to rewrite notes without what identifies.

    An adapter, on a given base or a new one.

    On one machine with one number of threads the same task gives the same weights, also after a
    kill.
    """

    name = "generative"
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

        Learning to copy is reported as phase -1.

        Raises:
            ConfigError: The base is not there, or does not fit the memory budget.
            TrainingError: The loss is no number, or no epoch removed anything.
        """
        from deid_generative.run import run  # noqa: PLC0415 - loads PyTorch

        run(task, out, report, plugin=self.name, version=self.version)
