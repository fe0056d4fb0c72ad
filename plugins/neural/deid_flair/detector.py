"""The detector that loads what the trainer wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deid_assets.extending import Note, PluginError, SpanSet
from deid_flair.quiet import quiet, use_device, use_threads

if TYPE_CHECKING:
    from deid_assets.extending import WordLabels
    from deid_onnx.folder import TaggerFolder
    from deid_onnx.tagger import Tagger


class FlairDetector:
    """Finds PHI with a trained Bi-LSTM-CRF.

    A span's score is the least marginal probability of its tokens' tags.

    Args:
        model: Folder that the trainer wrote.
        name: Under which its spans appear.
        trust: Whether the folder may hold files that can run code when they are read.
        threads: Of PyTorch; 0 for the cores given to the process.
        device: ``cpu``, ``cuda``, ``cuda:1`` and so on; a GPU where there is one when not given.
            Flair has one for everything, which is set anew whenever notes are read.

    Raises:
        PluginError: The folder is missing, broken, not this plugin's, or holds pickles and is not
            trusted, or the device is not there.
    """

    def __init__(
        self,
        *,
        model: str | Path,
        name: str = "flair",
        trust: bool = False,
        threads: int = 0,
        device: str | None = None,
    ) -> None:
        from deid_onnx.devices import (  # noqa: PLC0415 - keeps the import of the plugin light
            device as find_device,
        )
        from deid_onnx.folder import digest, read_folder  # noqa: PLC0415

        folder = read_folder(Path(model), trust=trust)
        if folder.plugin != "flair":
            raise PluginError(
                f"{model}: trained by {folder.plugin!r}; use the detector {folder.plugin!r}"
            )
        weights = folder.path / "model.safetensors"
        if not weights.is_file():
            raise PluginError(
                f"{model}: no {weights.name}; use the detector 'onnx' for an exported folder"
            )
        words = sorted((folder.path / "vocabulary").glob("*.json"))
        self.name = name
        self.labels = folder.categories
        self.native_labels = frozenset(folder.labels)
        self.version = f"{folder.version}+{digest(folder.path / 'tagger.json', weights, *words)}"
        self._threads, self._place = threads, find_device(device)
        with quiet():
            use_device(self._place)
            self.tagger = _tagger(folder, name)

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield one set per note.

        Each note is read alone, so that its result depends on no other.
        """
        use_threads(self._threads)
        for note in notes:
            with quiet():
                use_device(self._place)
                (found,) = self.tagger.detect([note])
            yield found

    def word_labels(self, notes: Sequence[Note]) -> Iterator[WordLabels]:
        """Yield the probability of each label at each word of each note, in order."""
        use_threads(self._threads)
        for note in notes:
            with quiet():
                use_device(self._place)
                (found,) = self.tagger.word_labels([note])
            yield found


def _tagger(folder: TaggerFolder, name: str) -> Tagger:
    from deid_flair.folders import read  # noqa: PLC0415 - imports Flair
    from deid_onnx.families.flair import (  # noqa: PLC0415 - keeps the import of the plugin light
        LineNetwork,
    )
    from deid_onnx.tagger import Tagger  # noqa: PLC0415 - keeps the import of the plugin light

    network = read(folder)
    reading = LineNetwork(
        network.scores, int(network.described["longest"]), int(network.described["overlap"])
    )
    return Tagger(folder=folder, network=reading, chain=network.chain(), source=name)
