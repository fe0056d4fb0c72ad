"""Writing that leaves the old output or the whole new one under its name, whatever happens
meanwhile.

What is temporary has an owner, so that what a killed process left is told from what another still
uses: the owner's number stands in the name, and the owner holds a lock, which ends with the process
however it ends.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from io import BufferedRandom
from pathlib import Path
from typing import BinaryIO

from deid_assets.core.errors import InputError

_FRESH_S = 60
"""Something younger that nobody has locked may belong to the process of its number, which has not
locked it yet.
"""
_PART = re.compile(r"\.(?P<owner>[0-9]+)-[0-9a-f]{16}\.part")


@contextmanager
def atomic_path(path: Path, *, mode: int = 0o666) -> Iterator[Path]:
    """Make an empty file and return its path.

    It replaces ``path`` when the block ends without an error.

    Args:
        path: What is written; its folder is made.
        mode: Permissions of the new file, less those that the process masks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep_once(path.parent)
    part = part_of(path)
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        with hold(part):
            yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def owner_only() -> Iterator[None]:
    """Let nobody but the owner read files that are made meanwhile."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces ``path`` when the block ends without an error."""
    with atomic_path(path) as part, part.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Make a folder that becomes ``path`` when the block ends without an error.

    Raises:
        InputError: ``path`` is a file, or a folder that is not empty: mixing two corpora goes
            unnoticed.
    """
    if path.is_symlink() or (path.exists() and not (path.is_dir() and not any(path.iterdir()))):
        raise InputError(f"{path} is there already; name a new or empty folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep_once(path.parent)
    part = part_of(path)
    part.mkdir()
    try:
        with hold(part):
            yield part
        part.replace(path)
    finally:
        shutil.rmtree(part, ignore_errors=True)


@cache
def _sweep_once(folder: Path) -> None:
    sweep_parts(folder)


def write_named(
    temporary: Path, fill: Callable[[BufferedRandom], str], *, mode: int = 0o666
) -> None:
    """Have ``fill`` write a temporary file and name it.

    Move it to that name once it is on the disk.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, mode)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            name = fill(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(temporary.with_name(name))
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(temporary.parent)


def replace_folder(new: Path, out: Path, *, aside: Path | None = None) -> None:
    """Put a folder in the place of another, which stands aside until then.

    One that is not empty cannot be replaced.

    Args:
        new: On the same file system.
        out: Need not exist.
        aside: Where the old one waits; ``out`` with ``.old`` where not given.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    aside = aside or out.with_name(f"{out.name}.old")
    if os.path.lexists(out):
        remove(aside)
        out.rename(aside)
    new.rename(out)
    sync_folder(out.parent)
    remove(aside)


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with all that it holds, as far as this process may.

    Of a link the link alone: what it leads to is somebody else's.
    """
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        path.unlink()


def sync_folder(folder: Path) -> None:
    """Make a rename durable; Windows has no way to ask for it."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_owned_name() -> str:
    """Return a name for something temporary of this process."""
    return f"{os.getpid()}-{secrets.token_hex(8)}"


def part_of(path: Path) -> Path:
    """Return where a file or folder is written before it gets its name."""
    return path.with_name(f".{make_owned_name()}.part")


@contextmanager
def hold(path: Path) -> Iterator[None]:
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

    Windows has no such locks: there nothing is removed.
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
