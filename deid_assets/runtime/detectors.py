"""Detectors, loaded once a process and run over as many processes as the machine has cores to
spare.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, Protocol, TypeVar

from deid_assets.core.detector import Detector, Failed, detect
from deid_assets.core.note import Note, chunks_of
from deid_assets.core.span import SpanSet
from deid_assets.plugins import load
from deid_assets.plugins.environments import plugin_in, set_apart
from deid_assets.runtime.processes import WorkerDied, run_parts
from deid_assets.runtime.progress import report
from deid_assets.system.digests import digest_of_path, paths_in

CHUNK_CHARS = 500_000
"""Text sent to a detector at once.

Large enough to hide the cost of a call, small enough to keep memory flat.
"""
MAX_DEATHS = 10
"""Worker processes that a detector may end in a batch.

Each costs the seconds that a new one takes to start.
"""

Part = TypeVar("Part")
Result = TypeVar("Result")
Source = tuple[str, Mapping[str, Any]]
"""Plugin and keyword options."""
Locate = Callable[[str], Source]


class RunsDetector(Protocol):
    """Runs a detector by name: one outcome per note, in order."""

    def __call__(self, name: str, notes: Sequence[Note], *, stage: str) -> list[SpanSet | Failed]:
        """Return the outcomes; ``stage`` is named by failures."""
        ...


@dataclass(frozen=True, slots=True)
class _Located:
    """Source of a detector, and the files behind it.

    A worker that outlives a run must see that they changed.
    """

    plugin: str
    options: Mapping[str, Any]
    digest: str
    contents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answers:
    """Outcomes of a detector on a batch, and the time they took.

    Args:
        outcomes: One per note, in order.
        seconds: Wall time spent in the detector, added up over the processes; neither starting it
            nor sending notes.
    """

    outcomes: Sequence[SpanSet | Failed]
    seconds: float


_loaded: dict[str, tuple[_Located, Detector]] = {}  # of a worker process


class DetectorPool:
    """The detectors of one run, always in worker processes.

    What they say, and how they end, stays there.

    Args:
        options: Keyword options per detector, or a function from its name to its plugin and
            options.
        workers: Processes used for a batch that is worth it; a small one takes one of them.
        digests: Plugin to the digest that its files must have.
    """

    def __init__(
        self,
        options: Mapping[str, Mapping[str, Any]] | Locate,
        *,
        workers: int = 1,
        digests: Mapping[str, str] | None = None,
    ) -> None:
        self._locate: Locate = (
            options if callable(options) else lambda name: (name, options.get(name, {}))
        )
        self._workers = workers
        self._digests = digests or {}

    def detect(self, name: str, notes: Sequence[Note], *, stage: str) -> list[SpanSet | Failed]:
        """Return one outcome per note, in order; as ``answer``."""
        return list(self.answer(name, notes, stage=stage).outcomes)

    def answer(
        self,
        name: str,
        notes: Sequence[Note],
        *,
        stage: str,
        on_answers: Callable[[Answers], None] | None = None,
    ) -> Answers:
        """Return one outcome per note, and the time they took.

        A note on which the detector ends its process is ``Failed``.

        Args:
            name: The detector.
            notes: In order. Of none, nothing is loaded.
            stage: Named by failures.
            on_answers: Called with the answers to some of the notes as soon as they are there; a
                note may come twice, where a worker died.

        Raises:
            PluginError: The detector cannot be loaded.
            WorkerDied: Too many notes ended a process; nothing of the batch is kept.
        """
        if not notes:
            return Answers([], 0.0)
        located = _locate(*self._locate(name), digests=self._digests)
        work = partial(_time_in_worker, name=name, stage=stage, located=located)
        return self._answer(work, notes, stage=stage, on_answers=on_answers or _ignore)

    def _answer(
        self,
        work: Callable[[Sequence[Note]], Answers],
        notes: Sequence[Note],
        *,
        stage: str,
        on_answers: Callable[[Answers], None],
    ) -> Answers:
        """Return the answers of workers; chunks on which one dies are asked again in smaller ones,
        until a single note is known on which it does.

        Raises:
            WorkerDied: Too many did.
        """
        found: list[SpanSet | Failed] = []
        whole: list[Sequence[Note]] = [*chunks_of(notes, CHUNK_CHARS)]
        waiting = deque([whole])
        deaths, seconds = 0, 0.0
        while waiting:
            chunks = waiting.popleft()
            ends = list(accumulate(map(len, chunks), initial=len(found)))
            try:
                told = partial(_tell_notes, stage, ends, len(notes))
                parts = run_parts(
                    work,
                    chunks,
                    workers=self._workers,
                    on_progress=told,
                    on_result=on_answers,
                )
                for part in parts:
                    found += part.outcomes
                    seconds += part.seconds
            except WorkerDied:
                deaths += 1
                if deaths > MAX_DEATHS:
                    raise
                if sum(map(len, chunks)) == 1:
                    found.append(Failed(chunks[0][0].note_id, stage, WorkerDied.__name__))
                else:
                    waiting.extendleft(reversed(_smaller(chunks)))
        return Answers(found, seconds)

    def map(
        self,
        work: Callable[[Part], Result],
        parts: Sequence[Part],
        *,
        on_progress: Callable[[int], None] = lambda _: None,
    ) -> list[Result]:
        """Return what other work on a batch gives for each of its parts, in order.

        Args:
            work: Can be pickled, as its arguments and results can.
            parts: Of the batch. A single one goes to a worker too: a plugin's abort must not end
                this process.
            on_progress: Called with the number of finished parts.

        Raises:
            WorkerDied: Nothing of the batch is kept.
            WorkerError: Code that is not ours raised.
        """
        return run_parts(work, parts, workers=self._workers, on_progress=on_progress)

    def map_detecting(
        self,
        work: Callable[[Part, RunsDetector], Result],
        parts: Sequence[Part],
        *,
        names: Iterable[str],
        on_progress: Callable[[int], None] = lambda _: None,
    ) -> list[Result]:
        """Return what work that runs detectors gives for each part, in order.

        What they found need not travel.

        Args:
            work: Is given the part and what runs a detector.
            parts: As for ``map``.
            names: Detectors that it may run.
            on_progress: Called with the number of finished parts.

        Raises:
            PluginError: As for ``detect``.
            WorkerDied: Nothing of the batch is kept.
        """
        located = {name: _locate(*self._locate(name), digests=self._digests) for name in names}
        return run_parts(
            partial(_work_in_worker, work, located),
            parts,
            workers=self._workers,
            on_progress=on_progress,
        )


def _ignore(_: Answers) -> None:
    """Do nothing with some answers."""


def _tell_notes(stage: str, ends: Sequence[int], of: int, finished: int) -> None:
    report(stage, ends[finished], of)


def _smaller(chunks: Sequence[Sequence[Note]]) -> list[list[Sequence[Note]]]:
    """Return each of several chunks alone, or each note of a single one."""
    return [[chunk] for chunk in chunks] if len(chunks) > 1 else [[[note]] for note in chunks[0]]


def _time_in_worker(notes: Sequence[Note], *, name: str, stage: str, located: _Located) -> Answers:
    detector = _open(name, located)
    started = time.perf_counter()
    outcomes = detect(detector, notes, stage=stage, interruptible=False)
    return Answers(outcomes, time.perf_counter() - started)


def _work_in_worker(
    work: Callable[[Part, RunsDetector], Result], located: Mapping[str, _Located], part: Part
) -> Result:
    def detect_here(name: str, notes: Sequence[Note], *, stage: str) -> list[SpanSet | Failed]:
        return detect(_open(name, located[name]), notes, stage=stage, interruptible=False)

    return work(part, detect_here)


def _open(name: str, located: _Located) -> Detector:
    if name not in _loaded or _loaded[name][0] != located:
        _loaded[name] = (
            located,
            load(name, plugin=located.plugin, options=located.options, digest=located.digest),
        )
    return _loaded[name][1]


def _locate(plugin: str, options: Mapping[str, Any], *, digests: Mapping[str, str]) -> _Located:
    environment, own = set_apart(options)
    digest = plugin_in(environment, plugin).digest if environment else digests.get(plugin, "")
    return _Located(plugin, options, digest, tuple(digest_of_path(path) for path in paths_in(own)))
