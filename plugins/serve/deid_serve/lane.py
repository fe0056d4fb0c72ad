"""The one thread in which notes are read, and how many requests may wait for it.

Detectors share the interpreter, so that more threads would make every note slower and none
faster. Several processes serve more notes at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import TypeVar

from deid_serve.limits import ServiceLimits
from deid_serve.problems import HttpProblem

_T = TypeVar("_T")


class Lane:
    """Runs work one after another.

    Args:
        limits: How many may wait, and how long.
    """

    def __init__(self, limits: ServiceLimits) -> None:
        self._limits = limits
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="notes")
        self._held = 0

    @property
    def held(self) -> int:
        """Requests that wait or run."""
        return self._held

    async def run(self, work: Callable[[], _T]) -> _T:
        """Return what the work returns.

        Work that has begun cannot be ended: it keeps its place until it is done, also where the
        answer comes before.

        Raises:
            HttpProblem: Too many wait, or it took too long.
        """
        if self._held >= self._limits.waiting:
            raise HttpProblem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "busy",
                f"{self._held} requests wait or run",
                remedy="send it again after the seconds of Retry-After",
                headers={"Retry-After": "2"},
            )
        self._held += 1
        loop = asyncio.get_running_loop()
        job = self._thread.submit(work)
        job.add_done_callback(lambda _: loop.call_soon_threadsafe(self._leave))
        future = asyncio.wrap_future(job)
        future.add_done_callback(_look)
        try:
            return await asyncio.wait_for(asyncio.shield(future), self._limits.seconds)
        except TimeoutError:
            job.cancel()  # where it has not begun
            raise too_slow(self._limits) from None

    def close(self) -> None:
        """Take no more work."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _leave(self) -> None:
        self._held -= 1


def _look(future: asyncio.Future[_T]) -> None:
    """Take an error that nobody waits for any more, so that asyncio logs nothing of it."""
    if not future.cancelled():
        future.exception()


def too_slow(limits: ServiceLimits) -> HttpProblem:
    """Return the problem of a request that was not answered in time."""
    return HttpProblem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "too-slow",
        f"no answer within {limits.seconds:g} seconds",
        remedy="send fewer or shorter notes, or raise --seconds",
        headers={"Retry-After": "5"},
    )
