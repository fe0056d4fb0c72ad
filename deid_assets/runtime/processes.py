"""The worker processes of this process.

Started once, since each takes seconds to import and to read its lists.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.util import Finalize
from typing import Any, TypeVar

from deid_assets.core.errors import DeidError, WorkerError, class_name
from deid_assets.own_plugins import message_of
from deid_assets.system.silence import protect_memory, silence_for_good

Part = TypeVar("Part")
Result = TypeVar("Result")

_lock = threading.Lock()
_running: dict[bytes, ProcessPoolExecutor] = {}  # one at most
_stop = threading.Event()


class WorkerDied(WorkerError):  # noqa: N818 - what happened, as in BrokenProcessPool
    """A worker process ended while it was at work."""


def _report_death() -> WorkerDied:
    return WorkerDied("a worker process ended early: a library in it aborted, or memory ran out")


class Stopped(BaseException):
    """Somebody asked for a stop."""


def run_parts(
    work: Callable[[Part], Result],
    parts: Sequence[Part],
    *,
    workers: int,
    on_progress: Callable[[int], None] = lambda _: None,
    on_result: Callable[[Result], None] = lambda _: None,
) -> list[Result]:
    """Return what the work gives for each part, in order, made by worker processes.

    The workers stay for the next call, until this process ends or ``end_workers``. They never serve
    under another environment, working directory or import path than the one they were started with:
    a key or a folder that was changed meanwhile would be the old one there. They write nothing to
    streams, logs or core files.

    Args:
        work: Can be pickled, as its arguments and results can.
        parts: What it is called with.
        workers: Number of processes.
        on_progress: Called with the number of finished parts, in this thread.
        on_result: Called with what the work gave for a part, as soon as it did, in this thread.

    Raises:
        WorkerDied: Nothing is kept, and the next call starts new workers.
        WorkerError: Code that is not ours raised; its class is named, its message is left behind.
        Stopped: A stop was requested; begun work is undone.
    """
    jobs: list[Future[Result]] = []
    with _leaving_nothing(jobs):
        check_stop()
        executor = _start(workers)
        with _interrupts_blocked():
            jobs += [executor.submit(_run_work, work, part) for part in parts]
        check_stop()
        for finished, job in enumerate(as_completed(jobs), start=1):
            on_result(_result_of(job))
            on_progress(finished)
        return [_result_of(job) for job in jobs]


def stream_parts(
    work: Callable[[Part], Result], parts: Iterable[Part], *, workers: int
) -> Iterator[tuple[Part, Result]]:
    """Yield each part with what the work gives for it, in order; parts are taken a few ahead.

    Else as ``run_parts``.
    """
    waiting: deque[Part] = deque()
    jobs: deque[Future[Result]] = deque()
    with _leaving_nothing(jobs):
        for part in parts:
            executor = _start(workers)
            with _interrupts_blocked():
                jobs.append(executor.submit(_run_work, work, part))
            waiting.append(part)
            if len(jobs) > 2 * workers:
                yield waiting.popleft(), _result_of(jobs.popleft())
        while jobs:
            yield waiting.popleft(), _result_of(jobs.popleft())


@contextmanager
def _leaving_nothing(jobs: Iterable[Future[Any]]) -> Iterator[None]:
    """Leave no work of some jobs behind, however what uses them ends.

    Raises:
        WorkerDied: A worker ended.
        Stopped: A stop was requested meanwhile.
    """
    try:
        yield
    except BrokenProcessPool:
        end_workers()
        check_stop()
        raise _report_death() from None
    except Exception:
        raise
    except BaseException:
        end_workers()  # else begun work would hold up whatever comes next
        raise
    finally:
        for job in jobs:
            job.cancel()


def request_stop() -> None:
    """Make ``run_parts`` raise ``Stopped``, now and from now on, in whatever thread it runs."""
    _stop.set()
    _kill()


def is_stopping() -> bool:
    """Whether a stop was requested."""
    return _stop.is_set()


def check_stop() -> None:
    """Go on unless a stop was requested.

    Raises:
        Stopped: It was.
    """
    if _stop.is_set():
        raise Stopped


def end_workers() -> None:
    """End the worker processes at once, if any were started; begun work is lost."""
    with _lock:
        _end()


def _start(workers: int) -> ProcessPoolExecutor:
    state = _state(workers)
    with _lock:
        if state not in _running:
            _end()
            # Not fork: the parent may hold threads and locks of Dagster and of native libraries.
            context = multiprocessing.get_context("spawn")
            _running[state] = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin)
            # A process that multiprocessing started itself, as Dagster starts its runs, waits for
            # its children as it ends, before it tells idle ones to end: without this it would wait
            # for ever.
            Finalize(None, end_workers, exitpriority=100)
        return _running[state]


def _end() -> None:
    _kill()
    while _running:
        _running.popitem()[1].shutdown(wait=True, cancel_futures=True)


def _kill() -> None:
    for executor in list(_running.values()):
        for process in list((executor._processes or {}).values()):  # noqa: SLF001 - public from Python 3.14 on
            process.kill()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Keep the Ctrl-C of a terminal from processes that are started meanwhile.

    Who started them ends them.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        resource_tracker.ensure_running()  # as it starts, it lets interrupts through again
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """Set up a worker: its parent's end, however it comes, is its own."""
    protect_memory()
    silence_for_good()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _result_of(job: Future[Result]) -> Result:
    try:
        return job.result()
    except DeidError as error:
        raise error.with_traceback(None) from None  # raised here, of what ``_run_work`` let pass


def _run_work(work: Callable[[Part], Result], part: Part) -> Result:
    """Return what the work gives.

    Of an error that our code did not raise nothing crosses but the name of its class.
    """
    try:
        return work(part)
    except BaseException as error:
        if message_of(error):
            raise error from None
        raise WorkerError(f"{class_name(error)} in a worker process") from None


def _state(workers: int) -> bytes:
    """Return a digest of what a worker takes over when it starts."""
    inherited = (
        workers,
        os.getpid(),
        os.getcwd(),  # noqa: PTH109 - a string will do
        sys.path,
        sorted(os.environ.items()),
    )
    return hashlib.sha256(repr(inherited).encode("utf-8", "surrogateescape")).digest()
