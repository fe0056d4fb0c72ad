"""The detector ``onnx``: any exported tagger, on CPU or GPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from deid_assets import Note, SpanSet
from deid_assets.extending import ConfigError, PluginError, WordLabels
from deid_onnx.families import Network, Run, Spreading
from deid_onnx.folder import TAGGER_FILE, digest, read_folder
from deid_onnx.session import Session, cores
from deid_onnx.tagger import Tagger, read_chain

VERSION = "0.1.0"
PRECISIONS: Mapping[str, str] = {
    "fp32": "model.onnx",
    "fp16": "model.fp16.onnx",
    "int8": "model.int8.onnx",
}
NOTES_ON_GPU = 64
"""Notes whose inputs are sorted by length together.

That is done on a card, or where the network is spread over cores.
"""


class OnnxDetector:
    """Finds what a trained tagger finds, without the library that trained it.

    On a CPU no result depends on the batch: notes are run one by one, or, where the network can be
    spread over cores, together but with the same arithmetic for each, dynamic int8 included. On a
    GPU the inputs of 64 notes are sorted by length together: scores may differ in the last digits
    with the batch.

    Args:
        model: Folder that ``deid export`` wrote.
        name: Source of the spans; a recipe's detector has the recipe's name.
        precision: ``fp32``, ``fp16`` or ``int8``. On a CPU, fp16 is no faster than fp32.
        providers: ``cpu``, ``cuda``, ``tensorrt``, or several in order of preference; empty for the
            best that starts.
        threads: Cores to use; all that the process may use when not given.
        trust: Whether files that may hold pickles may lie in the folder.

    Raises:
        PluginError: The folder is no exported tagger, or the hardware asked for is not there.
        ConfigError: An option has no such value.
    """

    def __init__(
        self,
        *,
        model: str | Path,
        name: str = "onnx",
        precision: str = "fp32",
        providers: str | Sequence[str] = (),
        threads: int | None = None,
        trust: bool = False,
    ) -> None:
        if precision not in PRECISIONS:
            raise ConfigError(
                f"precision {precision!r} is unknown; choose of {', '.join(PRECISIONS)}"
            )
        if threads is not None and threads < 1:
            raise ConfigError(f"threads is {threads}; give 1 or more")
        folder = read_folder(Path(model), trust=trust)
        wanted = [providers] if isinstance(providers, str) else list(providers)
        file = folder.path / PRECISIONS[precision]
        threads = threads or cores()
        spreads = bool(getattr(_family(folder.path, folder.settings), "SPREADS", False))
        session = Session(file, providers=wanted, threads=1 if spreads else threads)
        found = network(folder.path, folder.settings, session.run)
        if spreads:
            found = cast(Spreading, found).spread(
                alone=precision == "int8", workers=1 if session.on_gpu else threads
            )
        self.name = name
        self.version = f"{VERSION}+{digest(folder.path / TAGGER_FILE, file)}"
        self.labels = folder.categories
        self.native_labels = frozenset(folder.labels)
        self.tagger = Tagger(
            folder=folder,
            network=found,
            chain=read_chain(folder),
            source=name,
            together=NOTES_ON_GPU if spreads or (session.on_gpu and precision != "int8") else 1,
        )

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield the spans of each note."""
        return self.tagger.detect(notes)

    def word_labels(self, notes: Sequence[Note]) -> Iterator[WordLabels]:
        """Yield the probability of each label at each word of each note, in order."""
        return self.tagger.word_labels(notes)


def network(path: Path, settings: Mapping[str, Any], run: Run) -> Network:
    """Return the network of a folder's family around a way to run it.

    Raises:
        PluginError: The family is unknown, or the folder lacks what the family reads.
    """
    try:
        found: Network = _family(path, settings).load(path, settings, run)
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise PluginError(
            f"{path}: {TAGGER_FILE} or a file beside it is broken ({type(error).__name__}:"
            f" {error}); export again"
        ) from error
    return found


def _family(path: Path, settings: Mapping[str, Any]) -> Any:
    """Return the module of a folder's family."""
    family = settings.get("family")
    module = f"deid_onnx.families.{family}"
    if not isinstance(family, str) or not family.isidentifier() or find_spec(module) is None:
        raise PluginError(
            f"{path}: family {family!r} is unknown;"
            " export the model with this version of its plugin"
        )
    return import_module(module)
