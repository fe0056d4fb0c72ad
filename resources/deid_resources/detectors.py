"""Detectors, loaded once a process and run over as many processes as the machine has cores to spare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from deid_assets.core.detector import Detector, Failed, detect
from deid_assets.core.errors import PluginError
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.plugins import load
from deid_resources.processes import run_parts
from deid_resources.silence import silenced

CHUNK_CHARS = 500_000
"""Text sent to a detector at once: large enough to hide the cost of a call, small enough to keep memory flat."""

Part = TypeVar("Part")
Result = TypeVar("Result")
Source = tuple[str, Mapping[str, Any]]
"""Plugin and keyword options."""
Locate = Callable[[str], Source]
Stamps = tuple[tuple[str, int, int], ...]


class Detect(Protocol):
    """Runs a detector by name: one outcome per note, in order."""

    def __call__(self, name: str, notes: Sequence[Note], *, stage: str) -> list[SpanSet | Failed]:
        """Return the outcomes; ``stage`` is named by failures."""
        ...


@dataclass(frozen=True, slots=True)
class _Located:
    """Where a detector comes from, and the files behind it: a worker that outlives a run must see that they changed."""

    plugin: str
    options: Mapping[str, Any]
    stamps: Stamps


_loaded: dict[str, tuple[_Located, Detector]] = {}  # of a worker process


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
        found = self.map_detecting(partial(_detected, name=name, stage=stage), chunks_of(notes), names=[name])
        return [outcome for part in found for outcome in part]

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
        return run_parts(work, parts, workers=self._workers)

    def map_detecting(
        self, work: Callable[[Part, Detect], Result], parts: Sequence[Part], *, names: Iterable[str]
    ) -> list[Result]:
        """Return what work that runs detectors gives for each part, in order: what they found need not travel.

        Args:
            work: Is given the part and what runs a detector.
            parts: As for ``map``.
            names: Detectors that it may run.

        Raises:
            PluginError: As for ``detect``.
            BrokenProcessPool: A worker died; nothing of the batch is kept.
        """
        if self._workers == 1 or len(parts) == 1:
            return [work(part, self._detect_here) for part in parts]
        located = {name: _located(*self._locate(name)) for name in names}
        return self.map(partial(_work_in_worker, work, located), parts)

    def close(self) -> None:
        """Let go of the detectors. Worker processes stay, for the next run of this process."""
        self._detectors.clear()

    def _detect_here(self, name: str, notes: Sequence[Note], *, stage: str) -> list[SpanSet | Failed]:
        return _detect_quietly(self.open(name), notes, stage)


def _detected(notes: Sequence[Note], detect_one: Detect, *, name: str, stage: str) -> list[SpanSet | Failed]:
    return detect_one(name, notes, stage=stage)


def _work_in_worker(work: Callable[[Part, Detect], Result], located: Mapping[str, _Located], part: Part) -> Result:
    def detect_here(name: str, notes: Sequence[Note], *, stage: str) -> list[SpanSet | Failed]:
        return _detect_quietly(_opened(name, located[name]), notes, stage)

    return work(part, detect_here)


def _opened(name: str, located: _Located) -> Detector:
    if name not in _loaded or _loaded[name][0] != located:
        _loaded[name] = (located, load(name, plugin=located.plugin, options=located.options))
    return _loaded[name][1]


def _located(plugin: str, options: Mapping[str, Any]) -> _Located:
    values = [
        value for option in options.values() for value in (option if isinstance(option, list | tuple) else [option])
    ]
    named = [Path(value) for value in values if isinstance(value, str | Path)]
    return _Located(plugin, options, tuple(stamp for path in named for stamp in _stamps(path)))


def _stamps(path: Path) -> Stamps:
    """Return name, size and time of a file, or of every file of a folder; nothing where the option is other text."""
    try:
        files = sorted(found for found in path.rglob("*") if found.is_file()) if path.is_dir() else [path]
        states = [(str(file), file.stat()) for file in files]
    except (OSError, ValueError):
        return ()
    return tuple((name, state.st_size, state.st_mtime_ns) for name, state in states)


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
