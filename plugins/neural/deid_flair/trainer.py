"""The trainer that recipes name ``flair``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid_assets.extending import Report, Task, tag_set
from deid_flair.quiet import quiet, seed_all, use_device, use_threads
from deid_flair.settings import settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deid_assets.extending import Note

VERSION = "0.1.0"
CHECKPOINT = "checkpoint"


class FlairTrainer:
    """Trains a Bi-LSTM-CRF over stacked embeddings (Akbik et al. 2018; Catelli 2021)."""

    name = "flair"
    version = VERSION
    learns_in_phases = True

    def settings(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the recipe's ``[settings]`` checked and completed.

        Raises:
            ConfigError: A key is unknown or a value is not allowed.
        """
        return settings(given).model_dump(mode="json")

    def train(self, task: Task, out: Path, report: Report) -> None:
        """Write a model folder.

        It resumes from the checkpoint of a killed run under ``out/checkpoint``.

        Raises:
            TrainingError: There is nothing to learn from, a resource is missing, or the loss is not
                a number.
            PluginError: A resource cannot be read.
        """
        wanted = settings(task.settings)
        with quiet():
            from deid_flair import (  # noqa: PLC0415 - they import Flair
                building,
                checks,
                folders,
                training,
            )
            from deid_onnx.devices import (  # noqa: PLC0415 - they import Flair
                device,
            )
            from deid_training.checkpoint import Checkpoint  # noqa: PLC0415 - imports PyTorch

            checks.check(task, wanted)
            use_threads(wanted.threads)
            use_device(device())
            kept = out / CHECKPOINT
            parts, curves = building.stack(task, wanted, kept)
            seed_all(task.seed)
            network = folders.make_network(parts, task, wanted, tag_set(task.labels, task.scheme))
            known = training.identity(task, wanted, VERSION)
            training.train(
                network, task, wanted, lambda stage: Checkpoint(kept / stage, known), report
            )
            folders.write(out, network, task, VERSION, {"language_model_losses": curves})
        shutil.rmtree(kept, ignore_errors=True)

    def export(self, model: Path, out: Path) -> None:
        """Write the whole network for ONNX Runtime.

        ``model.onnx``, ``model.fp16.onnx``, ``model.int8.onnx``.

        Raises:
            PluginError: The model folder is broken, or an embedding cannot leave PyTorch.
        """
        with quiet():
            from deid_flair.export import export  # noqa: PLC0415 - imports Flair

            export(model, out)

    def vectors(
        self, model: Path, notes: Sequence[Note]
    ) -> Iterator[Mapping[str, NDArray[np.float32]]]:
        """Yield the layers of each note.

        ``embeddings``, and ``reprojected`` and ``encoder`` where there are such.

        Raises:
            PluginError: The model folder is broken.
        """
        from deid_flair.analysis import vectors  # noqa: PLC0415 - for analyses alone

        return vectors(model, notes)

    def neighbours(
        self, model: Path, words: Sequence[str], *, known: Mapping[str, int], most: int
    ) -> dict[str, list[dict[str, Any]]]:
        """Return the nearest words of a model's whole table of word vectors.

        They are given for each word that has a vector.

        Raises:
            PluginError: The model folder is broken.
        """
        from deid_flair.analysis import nearest  # noqa: PLC0415 - for analyses alone

        return nearest(model, words, known=known, most=most)
