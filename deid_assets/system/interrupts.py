"""Ctrl-C of a command that makes assets.

The first stops after what cannot be divided, the second at once.

During a run Dagster handles interrupts itself, ends one step and starts the next run. So they are
blocked in every thread but one, which waits for them.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker

INTERRUPTED = 130
"""Exit code: 128 and the number of the signal, as shells have it."""

_handlers: list[Callable[[], None]] = []
"""Handlers of the next interrupts, the last one first."""


def watch_interrupts() -> None:
    """Take over this process' interrupts; until there are handlers, one ends it at once.

    Call it before anything is imported that starts threads, which would still be interrupted. A
    shell has what it starts in the background ignore interrupts, and Dagster, whose runs treat
    termination (SIGTERM) as an interrupt, would have that ignored too, by the processes it starts
    as well.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    resource_tracker.ensure_running()  # as it starts, it lets interrupts through again
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    threading.Thread(target=_wait, daemon=True).start()


@contextmanager
def interrupts_handled(first: Callable[[], None], second: Callable[[], None]) -> Iterator[None]:
    """Call these when somebody presses Ctrl-C meanwhile; after the second one this process ends.

    Args:
        first: Asks for a stop.
        second: Cleans up what the end of this process would leave.
    """
    _handlers[:] = [second, first]
    try:
        yield
    finally:
        _handlers.clear()


def _wait() -> None:
    while True:
        signal.sigwait({signal.SIGINT})
        handler = _handlers.pop() if _handlers else None
        is_last = not _handlers
        if handler:
            handler()
        if is_last:
            os._exit(INTERRUPTED)
