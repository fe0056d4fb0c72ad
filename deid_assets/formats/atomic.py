"""Writing that leaves either the whole output or nothing under its name."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from deid_assets.core.errors import InputError


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces ``path`` when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Make a folder that becomes ``path`` when the block ends without an error.

    Raises:
        InputError: ``path`` is a file, or a folder that is not empty: mixing two corpora goes unnoticed.
    """
    if path.is_symlink() or (path.exists() and not (path.is_dir() and not any(path.iterdir()))):
        raise InputError(f"{path} is there already; name a new or empty folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    part.mkdir()
    try:
        yield part
        part.replace(path)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_member(folder: Path, note_id: str, suffix: str, text: str) -> None:
    """Write one file of a folder format, named by the note's id; a slash in the id makes a subfolder.

    Raises:
        InputError: The id cannot be a file name below the folder, or another id takes the same name.
    """
    steps = note_id.split("/")
    if any(step in ("", ".", "..") for step in steps) or "\\" in note_id:
        raise InputError(f"note id {note_id!r} cannot be a file name; write jsonl, csv or parquet, or change the id")
    path = folder.joinpath(*steps[:-1], steps[-1] + suffix)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(text.encode())
    except OSError as error:
        raise InputError(
            f"note id {note_id!r} cannot be written as a file ({error.strerror}); write jsonl, csv or parquet"
        ) from None
