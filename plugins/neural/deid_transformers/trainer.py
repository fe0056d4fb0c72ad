"""The trainer ``transformers``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid_assets.extending import Report, Task
from deid_transformers.settings import read_settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deid_assets import Note

VERSION = "0.1.0"


class TransformersTrainer:
    """Fine-tunes an encoder of the BERT kind, given or made from nothing, and exports it.

    On one machine with one number of threads the same task gives the same bytes, also after a kill.
    """

    name = "transformers"
    version = VERSION
    learns_in_phases = True

    def settings(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the recipe's ``[settings]`` checked and completed.

        Raises:
            ConfigError: A key is unknown or a value is not allowed.
        """
        return read_settings(given).model_dump(mode="json")

    def train(self, task: Task, out: Path, report: Report) -> None:
        """Write the model into ``out``.

        Resume from ``out/checkpoint`` where a killed run of the same task left it.

        Pre-training is reported as phase -1.

        Raises:
            TrainingError: The encoder is not there, the notes have no spans, or no attempt learnt
                anything.
        """
        from deid_transformers.run import run  # noqa: PLC0415 - loads PyTorch

        run(task, out, report, plugin=self.name, version=self.version)

    def pretrain(
        self,
        notes: Sequence[Note],
        out: Path,
        *,
        settings: Mapping[str, Any],
        seed: int,
        report: Report,
    ) -> None:
        """Write a masked language model of raw notes into ``out``.

        Resume from ``out/checkpoint`` as ``train`` does.

        The folder holds the last weights, those of each epoch under ``epochs`` where the recipe
        counts epochs, and the learning curve.

        Raises:
            ConfigError: The settings do not say how to pre-train.
            TrainingError: The encoder is not there, has no mask, or there is too little text.
        """
        from deid_transformers.language_model import (  # noqa: PLC0415 - loads PyTorch
            make_language_model,
        )

        make_language_model(
            notes, out, read_settings(settings), seed=seed, version=self.version, report=report
        )

    def export(self, model: Path, out: Path) -> None:
        """Write the ONNX folder of a model, which the detector ``onnx`` loads.

        Fp32, fp16 and dynamic int8.

        Raises:
            PluginError: The model folder is broken.
        """
        from deid_transformers.export import export  # noqa: PLC0415 - loads PyTorch

        export(model, out)

    def vectors(
        self, model: Path, notes: Sequence[Note]
    ) -> Iterator[Mapping[str, NDArray[np.float32]]]:
        """Yield the layers of each note.

        ``embeddings``, and ``encoder``, from which the tags are read.

        Raises:
            PluginError: The model folder is broken.
        """
        from deid_transformers.analysis import vectors  # noqa: PLC0415 - loads PyTorch

        return vectors(model, notes)
