"""Private folders for what is unpacked; those that killed processes left are removed by the next."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

PREFIX = "deid-unpacked-"
_FRESH_S = 60
"""A younger folder may belong to a process that has not locked it yet."""


@contextmanager
def private_folder() -> Iterator[Path]:
    """Make an empty folder that only its owner can read, removed when the block ends."""
    _sweep_once()
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
        held = _lock(Path(name))
        try:
            yield Path(name)
        finally:
            if held is not None:
                os.close(held)


def sweep_temporary() -> int:
    """Remove the folders of processes that are no more, and return how many."""
    swept = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            if folder.is_symlink() or time.time() - folder.stat().st_mtime < _FRESH_S:
                continue
        except OSError:  # removed meanwhile
            continue
        held = _lock(folder)
        if held is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(held)
            swept += not folder.exists()
    return swept


@cache
def _sweep_once() -> None:
    sweep_temporary()


def _lock(folder: Path) -> int | None:
    """Return a descriptor that holds the folder until it is closed or the process ends; ``None`` if another holds it.

    Windows has no such locks: there nothing is swept.
    """
    if sys.platform == "win32":
        return None
    import fcntl  # noqa: PLC0415 - absent on Windows

    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
