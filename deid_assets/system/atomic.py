"""Writing that leaves the old output or the whole new one under its name, whatever happens
meanwhile.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from io import BufferedRandom
from pathlib import Path
from typing import BinaryIO

from deid_assets.core.errors import InputError
from deid_assets.system.owned import held, part_of, sweep_parts


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
        with held(part):
            yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


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
        with held(part):
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
    if out.exists():
        shutil.rmtree(aside, ignore_errors=True)
        out.rename(aside)
    new.rename(out)
    sync_folder(out.parent)
    shutil.rmtree(aside, ignore_errors=True)


def sync_folder(folder: Path) -> None:
    """Make a rename durable; Windows has no way to ask for it."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
