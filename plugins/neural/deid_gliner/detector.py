"""The detector ``gliner``: a GLiNER model that was added with ``deid models add``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from deid_assets import Note, Span, SpanSet
from deid_assets.extending import ConfigError
from deid_gliner.network import GlinerSettings, load, spans_of
from deid_onnx.session import cores
from deid_published.library import read_model

VERSION = "0.1.0"


class GlinerDetector:
    """Finds what a GLiNER model finds for its prompts.

    Notes are read one by one, long ones in windows.

    Args:
        model: Folder that ``deid models add`` wrote; its files are compared with their digests.
        name: Source of the spans.
        threshold: Least score of a span, 0 to 1; the label map's when not given.
        providers: As for the detector ``onnx``.
        device: In place of ``providers`` for a model that was not exported: ``cpu``, ``cuda`` and
            so on.
        threads: Cores to use; all that the process may use when not given.

    Raises:
        PluginError: The folder is no added model, is broken or altered, or the hardware asked for
            is not there.
        ConfigError: An option has no such value.
    """

    def __init__(
        self,
        *,
        model: str | Path,
        name: str = "gliner",
        threshold: float | None = None,
        providers: str | Sequence[str] = (),
        device: str | None = None,
        threads: int | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise ConfigError(f"threads is {threads}; give 1 or more")
        if threshold is not None and not 0 <= threshold <= 1:
            raise ConfigError(f"threshold is {threshold}; give 0 to 1")
        added = read_model(Path(model), "gliner")
        wanted = [providers] if isinstance(providers, str) else list(providers)
        self.name = name
        self.version = f"{VERSION}+{added.version}"
        self.labels = frozenset(category for category in added.labels.values() if category)
        self.native_labels = frozenset(
            label for label, category in added.labels.items() if category
        )
        self._labels = added.labels
        self._settings = GlinerSettings(prompts=list(added.labels), **added.card["reading"])
        self._threshold = float(added.card["threshold"]) if threshold is None else threshold
        self._model = load(added.path, threads=threads or cores(), providers=wanted, device=device)

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield the spans of each note."""
        for note in notes:
            yield SpanSet.of(note, self._spans(note.text))

    def _spans(self, text: str) -> list[Span]:
        return spans_of(
            text,
            self._model,
            self._settings,
            self._labels,
            source=self.name,
            threshold=self._threshold,
        )
