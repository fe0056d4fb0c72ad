"""Private folders for what is unpacked, and for numbers that stand for words of notes.

Those that killed processes left are removed by the next.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from deid_assets.system.atomic import hold, sweep

PREFIX = "deid-unpacked-"
_NAME = re.compile(rf"{PREFIX}(?:(?P<owner>[0-9]+)-)?[a-z0-9_]+")
"""Earlier versions named no owner."""


@contextmanager
def private_folder() -> Iterator[Path]:
    """Make an empty folder that only its owner can read, removed when the block ends."""
    _sweep_once()
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as name, hold(Path(name)):
        yield Path(name)


def sweep_temporary() -> int:
    """Remove the folders of processes that are no more, and return how many."""
    return sweep(Path(tempfile.gettempdir()), _NAME)


@cache
def _sweep_once() -> None:
    sweep_temporary()
