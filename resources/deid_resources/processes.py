"""The worker processes of this process: started once, since each takes seconds to import and to read its lists."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")

_lock = threading.Lock()
_running: dict[bytes, ProcessPoolExecutor] = {}  # one at most


def run_parts(work: Callable[[Part], Result], parts: Sequence[Part], *, workers: int) -> list[Result]:
    """Return what the work gives for each part, in order, made by worker processes.

    The workers stay for the next call, until this process ends or ``end_workers``. They never serve under another
    environment, working directory or import path than the one they were started with: a key or a folder that was
    changed meanwhile would be the old one there.

    Args:
        work: Can be pickled, as its arguments and results can.
        parts: What it is called with.
        workers: Number of processes.

    Raises:
        BrokenProcessPool: A worker died; nothing is kept, and the next call starts new ones.
    """
    jobs: list[Future[Result]] = []
    try:
        executor = _started(workers)
        jobs += [executor.submit(work, part) for part in parts]
        return [job.result() for job in jobs]
    except BrokenProcessPool:
        end_workers()
        raise
    finally:
        for job in jobs:
            job.cancel()


def end_workers() -> None:
    """End the worker processes, if any were started; work that was begun is finished."""
    with _lock:
        _end()


def _started(workers: int) -> ProcessPoolExecutor:
    state = _state(workers)
    with _lock:
        if state not in _running:
            _end()
            # Not fork: the parent may hold threads and locks of Dagster and of native libraries.
            _running[state] = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
        return _running[state]


def _end() -> None:
    while _running:
        _running.popitem()[1].shutdown(wait=False)


def _state(workers: int) -> bytes:
    """Return a digest of what a worker takes over when it starts."""
    inherited = (workers, os.getpid(), os.getcwd(), sys.path, sorted(os.environ.items()))  # noqa: PTH109 - a string will do
    return hashlib.sha256(repr(inherited).encode("utf-8", "surrogateescape")).digest()
