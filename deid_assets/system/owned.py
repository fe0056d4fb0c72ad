"""Temporary files and folders with an owner.

What a killed process left is told from what another still uses.

The owner's number stands in the name, and the owner holds a lock, which ends with the process
however it ends.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FRESH_S = 60
"""Something younger that nobody has locked may belong to the process of its number, which has not
locked it yet.
"""
_PART = re.compile(r"\.(?P<owner>[0-9]+)-[0-9a-f]{16}\.part")


def owned_name() -> str:
    """Return a name for something temporary of this process."""
    return f"{os.getpid()}-{secrets.token_hex(8)}"


def part_of(path: Path) -> Path:
    """Return where a file or folder is written before it gets its name."""
    return path.with_name(f".{owned_name()}.part")


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a file or folder as its owner, so that no other process removes it."""
    descriptor = _lock(path)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def sweep_parts(folder: Path) -> int:
    """Remove what killed processes left half written in a folder, and return how many."""
    return sweep(folder, _PART)


def sweep(folder: Path, name: re.Pattern[str]) -> int:
    """Remove what nobody owns any more, and return how many.

    Args:
        folder: Its own entries are looked at, no deeper.
        name: Of whole names, with a group ``owner``, which may be missing.
    """
    swept = 0
    for entry in os.listdir(folder) if folder.is_dir() else ():  # noqa: PTH208 - may be very many
        found = name.fullmatch(entry)
        if found is not None and not (folder / entry).is_symlink():
            swept += _sweep(folder / entry, found["owner"])
    return swept


def _sweep(path: Path, owner: str | None) -> bool:
    descriptor = _lock(path)
    if descriptor is None:  # held, gone, or somebody else's
        return False
    try:
        is_fresh = time.time() - os.fstat(descriptor).st_mtime < _FRESH_S
        if is_fresh and (owner is None or _is_alive(int(owner))):
            return False
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()
    finally:
        os.close(descriptor)
    return not path.exists()


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _lock(path: Path) -> int | None:
    """Return a descriptor that holds something until it is closed or the process ends.

    ``None`` if another holds it.

    Windows has no such locks: there nothing is swept.
    """
    if sys.platform == "win32":
        return None
    import fcntl  # noqa: PLC0415 - absent on Windows

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
