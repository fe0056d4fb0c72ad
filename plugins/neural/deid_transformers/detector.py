"""The detector ``transformers``: a trained tagger, run with PyTorch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from deid_assets import Note, SpanSet
from deid_assets.extending import ConfigError, WordLabels
from deid_onnx.detector import network
from deid_onnx.devices import device as find_device
from deid_onnx.folder import TAGGER_FILE, digest, read_folder
from deid_onnx.session import cores
from deid_onnx.tagger import Tagger, read_chain
from deid_transformers.trainer import VERSION

_NOTES_ON_GPU = 64


class TransformersDetector:
    """Finds what a tagger of this plugin was trained to find.

    ``deid export`` makes it faster and free of PyTorch.

    On a CPU, notes are run one by one, so that no result depends on the batch. On a GPU the inputs
    of 64 notes are sorted by length together: scores may differ in the last digits with the batch.

    Args:
        model: Folder that ``deid train`` wrote.
        name: Source of the spans; a recipe's detector has the recipe's name.
        threads: Cores that PyTorch may use, in the whole process; all when not given.
        device: ``cpu``, ``cuda``, ``cuda:1`` and so on; a GPU where there is one when not given.
        trust: Whether files that may hold pickles may lie in the folder. They are not read.

    Raises:
        PluginError: The folder is no model of this plugin, or is broken, or the device is not
            there.
        ConfigError: An option has no such value.
    """

    def __init__(
        self,
        *,
        model: str | Path,
        name: str = "transformers",
        threads: int | None = None,
        device: str | None = None,
        trust: bool = False,
    ) -> None:
        if threads is not None and threads < 1:
            raise ConfigError(f"threads is {threads}; give 1 or more")
        folder = read_folder(Path(model), trust=trust)
        import torch  # noqa: PLC0415 - 1 s, and not for those who only list detectors

        from deid_transformers.encoder import load_tagger  # noqa: PLC0415 - 2 s
        from deid_transformers.tune import runner  # noqa: PLC0415

        torch.set_num_threads(threads or cores())
        place = torch.device(find_device(device))
        encoder = load_tagger(folder.path, folder.tags).to(place)
        self.name = name
        self.version = (
            f"{VERSION}+{digest(folder.path / TAGGER_FILE, folder.path / 'model.safetensors')}"
        )
        self.labels = folder.categories
        self.native_labels = frozenset(folder.labels)
        self.tagger = Tagger(
            folder=folder,
            network=network(folder.path, folder.settings, runner(encoder)),
            chain=read_chain(folder),
            source=name,
            together=1 if place.type == "cpu" else _NOTES_ON_GPU,
        )

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield the spans of each note."""
        return self.tagger.detect(notes)

    def word_labels(self, notes: Sequence[Note]) -> Iterator[WordLabels]:
        """Yield the probability of each label at each word of each note, in order."""
        return self.tagger.word_labels(notes)
