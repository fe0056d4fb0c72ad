"""Detectors, loaded once a process and run over as many processes as the machine has cores to spare."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from deid_assets.core.detector import Detector, Failed, detect
from deid_assets.core.errors import PluginError
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.plugins import load
from deid_resources.silence import silenced

CHUNK_CHARS = 500_000
"""Text sent to a detector at once: large enough to hide the cost of a call, small enough to keep memory flat."""

_loaded: dict[str, Detector] = {}  # of a worker process


class DetectorPool:
    """The detectors of one run.

    Args:
        options: Keyword options per detector.
        workers: Processes used for a batch that is worth it; 1 stays in this process.
    """

    def __init__(self, options: Mapping[str, Mapping[str, Any]], *, workers: int = 1) -> None:
        self._options = options
        self._workers = workers
        self._detectors: dict[str, Detector] = {}
        self._processes: ProcessPoolExecutor | None = None

    def open(self, name: str) -> Detector:
        """Return a detector, loaded on first use.

        Raises:
            PluginError: It cannot be loaded.
        """
        if name not in self._detectors:
            self._detectors[name] = load(name, options=self._options.get(name))
        return self._detectors[name]

    def detect(self, name: str, notes: Sequence[Note], *, stage: str) -> list[SpanSet | Failed]:
        """Return one outcome per note, in order.

        Raises:
            PluginError: The detector cannot be loaded, or tried to end the process.
            BrokenProcessPool: A worker died; nothing of the batch is kept.
        """
        chunks = _chunks(notes)
        if self._workers == 1 or len(chunks) == 1:
            detector = self.open(name)
            return [outcome for chunk in chunks for outcome in _detect_quietly(detector, chunk, stage)]
        options = dict(self._options.get(name, {}))
        jobs = [self._pool().submit(_detect_in_worker, name, options, chunk, stage) for chunk in chunks]
        return [outcome for job in jobs for outcome in job.result()]

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


def _detect_in_worker(
    name: str, options: Mapping[str, Any], notes: Sequence[Note], stage: str
) -> list[SpanSet | Failed]:
    if name not in _loaded:
        _loaded[name] = load(name, options=options)
    return _detect_quietly(_loaded[name], notes, stage)


def _detect_quietly(detector: Detector, notes: Sequence[Note], stage: str) -> list[SpanSet | Failed]:
    try:
        with silenced():
            return detect(detector, notes, stage=stage)
    except SystemExit:
        # Its message, which may quote a note, would be the process' last words.
        raise PluginError(
            f"detector {detector.name!r} tried to end the process; nothing of the batch is kept"
        ) from None


def _chunks(notes: Sequence[Note]) -> list[Sequence[Note]]:
    chunks: list[Sequence[Note]] = []
    start = size = 0
    for n, note in enumerate(notes):
        size += len(note.text)
        if size >= CHUNK_CHARS:
            chunks.append(notes[start : n + 1])
            start, size = n + 1, 0
    return [*chunks, notes[start:]] if start < len(notes) or not chunks else chunks
