"""The trainer ``causal``: raw notes in, a causal language model out; ``deid pretrain`` runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deid_assets import Note
from deid_assets.extending import Report, Task, TrainingError
from deid_causal.settings import read_settings


class CausalTrainer:
    """Trains causal language models on raw notes.

    Models are new or given, and are trained whole or through an adapter. On one machine with one
    number of threads the same notes give the same weights, also after a kill; but with ``epsilon``,
    whose noise nobody can draw again.
    """

    name = "causal"
    version = "0.1.0"

    def settings(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the recipe's ``[settings]`` checked and completed.

        Raises:
            ConfigError: A key is unknown or a value is not allowed.
        """
        return read_settings(given).to_json()

    def train(self, task: Task, out: Path, report: Report) -> None:
        """Refuse: a causal model tags nothing.

        Raises:
            TrainingError: Always.
        """
        del task, out, report
        raise TrainingError(
            'plugin "causal" makes language models and no taggers; run deid pretrain'
        )

    def pretrain(
        self,
        notes: Sequence[Note],
        out: Path,
        *,
        settings: Mapping[str, Any],
        seed: int,
        report: Report,
    ) -> None:
        """Write a causal language model of raw notes into ``out``; resume from ``out/checkpoint``.

        Raises:
            ConfigError: The settings are wrong, the base is not there, or epsilon is not reached.
            TrainingError: There is too little text, or the loss is no number.
        """
        from deid_causal.private import make_private_model  # noqa: PLC0415 - loads PyTorch
        from deid_causal.run import make_causal_model  # noqa: PLC0415

        wanted = read_settings(settings)
        make = make_causal_model if wanted.epsilon is None else make_private_model
        make(notes, out, wanted, seed=seed, version=self.version, report=report)
