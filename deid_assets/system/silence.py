"""Keeps what a plugin says, or leaves when it crashes, away from terminals, logs and files.

It may quote a note.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress

_PR_SET_DUMPABLE = 4
"""Of ``linux/prctl.h``."""


@contextmanager
def silence_output() -> Iterator[None]:
    """Discard what is written to standard output, standard error and loggers meanwhile.

    By Python, hence also by warnings, and by native code that writes without a buffer. It holds for
    the whole process; what must be shown, such as a progress bar, is written to a stream of its own
    (``os.dup``). Loggers are switched off as such, since Dagster's write to its event log and to no
    stream.
    """
    with ExitStack() as stack:
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable(sys.maxsize)
        nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123 - a device, not a file
        streams = {1: (sys.stdout, sys.__stdout__), 2: (sys.stderr, sys.__stderr__)}
        for number, writers in streams.items():
            _flush(*writers)
            try:
                kept = os.dup(number)
            except OSError:  # closed, as in a service: there is nothing to keep quiet
                continue
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, number)
            # What a plugin left in a buffer must not follow once the streams are back.
            stack.callback(_flush, *writers)
            os.dup2(nowhere.fileno(), number)
        stack.enter_context(redirect_stdout(nowhere))
        stack.enter_context(redirect_stderr(nowhere))
        yield


def silence_for_good() -> None:
    """Discard what this process writes to standard output, standard error and loggers from
    now on.
    """
    logging.disable(sys.maxsize)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number, writers in {
        1: (sys.stdout, sys.__stdout__),
        2: (sys.stderr, sys.__stderr__),
    }.items():
        with suppress(OSError, ValueError):
            _flush(*writers)
        os.dup2(nowhere, number)
    os.close(nowhere)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - a device, for good


def silence_at_exit() -> None:
    """Discard what functions write that plugins have registered so far to run as this
    process ends.
    """
    atexit.unregister(silence_for_good)
    atexit.register(silence_for_good)  # the last one registered runs first


def protect_memory() -> None:
    """Keep what this process holds in memory out of core files, and from other processes of the
    same user.

    The processes that it starts write no core files either; whatever else holds for a process that
    calls this itself.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if sys.platform == "linux":
        # a crash handler gets nothing, a debugger is refused
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _flush(*writers: object) -> None:
    for writer in writers:
        flush = getattr(writer, "flush", None)
        if flush:
            flush()
