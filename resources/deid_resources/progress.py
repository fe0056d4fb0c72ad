"""How far a long step is, for whoever shows it: a terminal, or Dagster's event log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Hear = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is done, and of how much; two zeros as it begins."""

_listeners: list[Hear] = []


@contextmanager
def heard_by(hear: Hear) -> Iterator[None]:
    """Let somebody hear of progress meanwhile, beside those who do already."""
    _listeners.append(hear)
    try:
        yield
    finally:
        _listeners.remove(hear)


def tell(what: str, done: int = 0, of: int = 0) -> None:
    """Tell whoever listens.

    Args:
        what: Asset or stage.
        done: What of it is done.
        of: All of it.
    """
    for hear in _listeners:
        hear(what, done, of)
