"""Detectors run on the same notes, each in a process of its own.

So memory and start-up are each detector's own.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid_assets.extending import (
    ConfigError,
    DeidError,
    Failed,
    InputError,
    Note,
    Phi,
    SpanSet,
    chunks_of,
    detect,
    load,
)

CHUNK_CHARS = 250_000
"""Text that a detector is given at once, as ``deid detect`` does."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A detector as it takes part.

    Args:
        name: How it is shown; unique among the contestants.
        plugin: Entry-point name.
        options: Keyword options.
    """

    name: str
    plugin: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunCost:
    """Time and memory of a run, in a process that did nothing else.

    Args:
        start_s: From the call that loads the detector to its first answer, in seconds; imports
            included.
        detect_s: Wall time of detection after that, in seconds; reading and scoring not included.
        cpu_s: Processor time of the same, all threads.
        notes: Notes of ``detect_s``.
        chars: Code points of ``detect_s``.
        peak_bytes: Largest resident memory of the process, or 0 where the system does not tell.
        base_bytes: Resident memory before the detector was loaded: Python, this package and the
            notes.
    """

    start_s: float
    detect_s: float
    cpu_s: float
    notes: int
    chars: int
    peak_bytes: int
    base_bytes: int

    @property
    def notes_per_s(self) -> float:
        """Return the rate by wall time."""
        return self.notes / max(self.detect_s, 1e-9)

    @property
    def chars_per_s(self) -> float:
        """Return the rate by wall time."""
        return self.chars / max(self.detect_s, 1e-9)


@dataclass(frozen=True, slots=True)
class ContestantRun:
    """Outcome of a contestant.

    Args:
        contestant: Who ran.
        version: Of the detector; empty where it did not load.
        labels: Categories that it can find.
        outcomes: One per note, in order; empty where there is a fault.
        cost: ``None`` where there is a fault.
        fault: Why there is no result, or empty.
    """

    contestant: Contestant
    version: str = ""
    labels: frozenset[Phi] = frozenset()
    outcomes: Sequence[SpanSet | Failed] = ()
    cost: RunCost | None = None
    fault: str = ""

    @property
    def failed(self) -> int:
        """Notes without an answer."""
        return sum(isinstance(outcome, Failed) for outcome in self.outcomes)


def contestants(
    specs: Sequence[str], options: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Contestant]:
    """Return detectors named as ``NAME`` or ``NAME=MODEL``.

    The same one may come with several models.

    Args:
        specs: In the order of the table; the first is the one that others are compared with.
        options: Keyword options by entry-point name, for all that use it.

    Raises:
        ConfigError: None is named, two are the same, or an option is for a detector that is not
            named.
    """
    if not specs:
        raise ConfigError(
            "a bake-off needs at least one detector; deid detectors lists those installed"
        )
    named = [spec.partition("=")[::2] for spec in specs]
    known = [name for name, _ in named]
    if strangers := sorted((options or {}).keys() - set(known)):
        raise ConfigError(
            f"an option is for {strangers[0]!r}, but the detectors are {', '.join(known)}"
        )
    found = []
    for name, model in named:
        shown = f"{name}={Path(model).name}" if known.count(name) > 1 and model else name
        chosen = {**(options or {}).get(name, {}), **({"model": model} if model else {})}
        found.append(Contestant(shown, name, chosen))
    if len({one.name for one in found}) < len(found):
        raise ConfigError("a detector is named twice with the same model; name each once")
    return found


def measure(
    contestant: Contestant, notes: Sequence[Note], *, limit_s: float | None = None
) -> ContestantRun:
    """Run a detector on notes in a process of its own and return what it found and what it took.

    The process is killed at the limit and when this one is interrupted. What the detector prints is
    discarded: it may quote a note.

    Args:
        contestant: Who runs.
        notes: At least one. They wait in the memory of the process, so that reading them is not
            measured.
        limit_s: Wall time, in seconds, after which the run is a fault; start-up included.

    Raises:
        InputError: There is no note.
        ConfigError: The limit is not positive.
    """
    if not notes:
        raise InputError("a bake-off needs at least one note")
    if limit_s is not None and limit_s <= 0:
        raise ConfigError(f"the time limit must be positive, got {limit_s:g} s")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and program
            [sys.executable, "-P", "-c", _PROGRAM],
            input=pickle.dumps((contestant, list(notes))),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=limit_s,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ContestantRun(
            contestant, fault=f"stopped after {limit_s:g} s; give it more time or fewer notes"
        )
    if done.returncode:
        return ContestantRun(
            contestant, fault="its process ended early, perhaps for want of memory"
        )
    answer = pickle.loads(done.stdout)  # noqa: S301 - written by our own process
    return ContestantRun(contestant, fault=answer) if isinstance(answer, str) else answer


# Not multiprocessing: its processes import the main module of the parent, whose memory would count
# as the detector's.
_PROGRAM = "from deid_evaluation.bench import work; work()"


def work() -> None:
    """Run as the process of one contestant.

    Read the task from standard input, write the answer to standard output.
    """
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    contestant, notes = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by our own process
    with answers:
        pickle.dump(_ran(contestant, notes), answers)
    os._exit(0)  # a thread that a detector left running must not keep the process


def _ran(contestant: Contestant, notes: Sequence[Note]) -> ContestantRun | str:
    base = _memory("VmRSS")
    started = time.perf_counter()
    try:
        detector = load(contestant.plugin, options=contestant.options)
    except DeidError as error:
        return str(error)
    detect(detector, notes[:1])
    start_s = time.perf_counter() - started
    outcomes: list[SpanSet | Failed] = []
    before = time.perf_counter(), time.process_time()
    for chunk in chunks_of(notes, CHUNK_CHARS):
        outcomes += detect(detector, chunk)
    detect_s, cpu_s = time.perf_counter() - before[0], time.process_time() - before[1]
    chars = sum(len(note.text) for note in notes)
    cost = RunCost(start_s, detect_s, cpu_s, len(notes), chars, _memory("VmHWM"), base)
    return ContestantRun(contestant, detector.version, frozenset(detector.labels), outcomes, cost)


def _memory(figure: str) -> int:
    """Return a figure of Linux in bytes, or 0 elsewhere.

    ``getrusage`` will not do: after a fork it begins with the memory of the parent.
    """
    with suppress(OSError):
        for line in (
            Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        ):
            if line.startswith(f"{figure}:"):
                return int(line.split()[1]) * 1024
    return 0
