"""Detectors, loaded once a process and run over as many processes as the machine has cores to spare."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

from deid_assets.core.detector import Detector, Failed, detect
from deid_assets.core.errors import PluginError
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.plugins import load
from deid_resources.silence import silenced

CHUNK_CHARS = 500_000
"""Text sent to a detector at once: large enough to hide the cost of a call, small enough to keep memory flat."""

Part = TypeVar("Part")
Result = TypeVar("Result")
Source = tuple[str, Mapping[str, Any]]
"""Plugin and keyword options."""
Locate = Callable[[str], Source]
_loaded: dict[str, tuple[Source, Detector]] = {}  # of a worker process


class DetectorPool:
    """The detectors of one run.

    Args:
        options: Keyword options per detector, or a function from its name to its plugin and options.
        workers: Processes used for a batch that is worth it; 1 stays in this process.
    """

    def __init__(self, options: Mapping[str, Mapping[str, Any]] | Locate, *, workers: int = 1) -> None:
        self._locate: Locate = options if callable(options) else lambda name: (name, options.get(name, {}))
        self._workers = workers
        self._detectors: dict[str, tuple[Source, Detector]] = {}
        self._processes: ProcessPoolExecutor | None = None

    def open(self, name: str) -> Detector:
        """Return a detector, loaded on first use.

        Raises:
            PluginError: It cannot be loaded.
        """
        source = self._locate(name)
        if name not in self._detectors or self._detectors[name][0] != source:  # a model may be trained again
            plugin, options = source
            self._detectors[name] = (source, load(name, plugin=plugin, options=options))
        return self._detectors[name][1]

    def detect(self, name: str, notes: Sequence[Note], *, stage: str) -> list[SpanSet | Failed]:
        """Return one outcome per note, in order.

        Raises:
            PluginError: The detector cannot be loaded, or tried to end the process.
            BrokenProcessPool: A worker died; nothing of the batch is kept.
        """
        chunks = chunks_of(notes)
        if self._workers == 1 or len(chunks) == 1:
            detector = self.open(name)
            return [outcome for chunk in chunks for outcome in _detect_quietly(detector, chunk, stage)]
        source = self._locate(name)
        jobs = [self._pool().submit(_detect_in_worker, name, source, chunk, stage) for chunk in chunks]
        return [outcome for job in jobs for outcome in job.result()]

    def map(self, work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        """Return what other work on a batch gives for each of its parts, in order.

        Args:
            work: Can be pickled, as its arguments and results can.
            parts: Of the batch; a single one stays in this process.

        Raises:
            BrokenProcessPool: A worker died; nothing of the batch is kept.
        """
        if self._workers == 1 or len(parts) == 1:
            return [work(part) for part in parts]
        return list(self._pool().map(work, parts))

    def close(self) -> None:
        """End the worker processes, if any were started."""
        if self._processes is not None:
            self._processes.shutdown(cancel_futures=True)
            self._processes = None

    def _pool(self) -> ProcessPoolExecutor:
        """Return the worker processes, started once: each imports its detectors, which takes seconds."""
        if self._processes is None:
            # Not fork: the parent may hold threads and locks of Dagster and of native libraries.
            self._processes = ProcessPoolExecutor(self._workers, mp_context=multiprocessing.get_context("spawn"))
        return self._processes


def _detect_in_worker(name: str, source: Source, notes: Sequence[Note], stage: str) -> list[SpanSet | Failed]:
    if name not in _loaded or _loaded[name][0] != source:
        plugin, options = source
        _loaded[name] = (source, load(name, plugin=plugin, options=options))
    return _detect_quietly(_loaded[name][1], notes, stage)


def _detect_quietly(detector: Detector, notes: Sequence[Note], stage: str) -> list[SpanSet | Failed]:
    try:
        with silenced():
            return detect(detector, notes, stage=stage)
    except SystemExit:
        # Its message, which may quote a note, would be the process' last words.
        raise PluginError(
            f"detector {detector.name!r} tried to end the process; nothing of the batch is kept"
        ) from None


def chunks_of(notes: Sequence[Note]) -> list[Sequence[Note]]:
    """Return the notes in pieces of about ``CHUNK_CHARS``; one empty piece where there are none."""
    chunks: list[Sequence[Note]] = []
    start = size = 0
    for n, note in enumerate(notes):
        size += len(note.text)
        if size >= CHUNK_CHARS:
            chunks.append(notes[start : n + 1])
            start, size = n + 1, 0
    return [*chunks, notes[start:]] if start < len(notes) or not chunks else chunks
