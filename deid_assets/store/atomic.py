"""Writing files so that a crash leaves the old one or the new one."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedRandom
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from deid_assets.store.generation import mark_store
from deid_assets.store.receipts import Output
from deid_assets.store.zones import Zone
from deid_assets.system.atomic import write_named

TEMPORARY = ".tmp-"


def file_name(table: str, sha256: str) -> str:
    """Name of a data file: the table and the first 12 digits of its content's digest."""
    return f"{table}-{sha256[:12]}.parquet"


def make_folder(root: Path, folder: Path, zone: Zone) -> None:
    """Create ``folder`` and its parents below ``root``.

    Those of the restricted zone for the owner alone.
    """
    mark_store(root)
    mode = 0o700 if zone is Zone.RESTRICTED else 0o777
    path = root
    for segment in folder.relative_to(root).parts:
        path /= segment
        path.mkdir(mode=mode, exist_ok=True)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the folder against other writers; readers need no lock.

    A lock on the folder itself leaves no lock file behind. Windows has none: there, one writer at a
    time is the caller's care.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl  # noqa: PLC0415 - absent on Windows

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def lock_by_file(path: Path) -> Iterator[None]:
    """Hold a file against other writers, those on other machines too; it is made and stays.

    A file system of a network, such as NFS, asks its server for the lock of a file. One of a folder
    holds on the machine that asked, and nowhere else. Windows has none, as ``lock_folder``.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl  # noqa: PLC0415 - absent on Windows

    # NFS gives an exclusive lock only where the file may be written.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write_table(folder: Path, name: str, table: pa.Table, zone: Zone) -> Output:
    """Write a table to a file named by its content, and return the file's digest and row count."""
    digest = ""

    def fill(file: BufferedRandom) -> str:
        nonlocal digest
        pq.write_table(table, file, compression="zstd")
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return file_name(name, digest)

    _write(folder, fill, zone)
    return {"sha256": digest, "rows": table.num_rows}


def write_bytes(folder: Path, name: str, content: bytes, zone: Zone) -> None:
    """Write a small file in one step."""

    def fill(file: BufferedRandom) -> str:
        file.write(content)
        return name

    _write(folder, fill, zone)


def write_copy(folder: Path, name: str, source: Path, zone: Zone) -> None:
    """Write a copy of a file of any size in one step."""

    def fill(file: BufferedRandom) -> str:
        with source.open("rb") as content:
            shutil.copyfileobj(content, file, 1 << 20)
        return name

    _write(folder, fill, zone)


def _write(folder: Path, fill: Callable[[BufferedRandom], str], zone: Zone) -> None:
    """Write a file that ``fill`` names; those of the restricted zone are their owner's alone."""
    temporary = folder / f"{TEMPORARY}{secrets.token_hex(8)}"
    write_named(temporary, fill, mode=0o600 if zone is Zone.RESTRICTED else 0o666)
