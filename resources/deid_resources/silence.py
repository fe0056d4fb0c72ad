"""Keeps what a plugin says away from terminals and log files: it may quote a note."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout


@contextmanager
def silenced() -> Iterator[None]:
    """Discard what is written to standard output and standard error meanwhile.

    By Python, hence also by logging handlers and warnings, and by native code that writes without a buffer. It holds
    for the whole process; who must be heard, such as a progress bar, writes to a stream of its own (``os.dup``).
    """
    with ExitStack() as stack:
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


def _flush(*writers: object) -> None:
    for writer in writers:
        flush = getattr(writer, "flush", None)
        if flush:
            flush()
