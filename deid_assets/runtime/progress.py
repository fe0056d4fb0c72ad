"""How far a long step is, for whoever shows it: a terminal, or Dagster's event log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

ProgressCallback = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and of how much.

Two zeros as it begins.
"""

_callbacks: list[ProgressCallback] = []


@contextmanager
def progress_callback(callback: ProgressCallback) -> Iterator[None]:
    """Call back on progress meanwhile, beside the callbacks there are."""
    _callbacks.append(callback)
    try:
        yield
    finally:
        _callbacks.remove(callback)


def report(what: str, done: int = 0, of: int = 0) -> None:
    """Call every callback.

    Args:
        what: Asset or stage.
        done: What of it is done.
        of: All of it.
    """
    for callback in _callbacks:
        callback(what, done, of)
