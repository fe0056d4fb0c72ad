"""Reading of files that anyone may have put there: what is no file is not waited for."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_SMALL_B = 1 << 26
"""64 MiB: a key, a manifest or a list of a million releases is far smaller."""


def read_small_file(path: Path) -> bytes:
    """Return the content of a file such as a key or a manifest; see ``read_file``.

    Raises:
        OSError: It cannot be read, is no file, or holds more than 64 MiB.
    """
    return read_file(path, most_b=_SMALL_B)


def read_file(path: Path, *, most_b: int | None = None) -> bytes:
    """Return the content of a file; a link is followed.

    A pipe would be waited for, and a device may have no end: neither is read.

    Args:
        path: Of the file.
        most_b: Bytes that it may hold; any number where not given.

    Raises:
        OSError: It cannot be read, is no file, or holds more.
    """
    # Without this flag a pipe is waited for here already; of a file it changes nothing.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no file", str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read() if most_b is None else file.read(most_b + 1)
    finally:
        os.close(descriptor)
    if most_b is not None and len(content) > most_b:
        raise OSError(errno.EFBIG, "it is too large", str(path))
    return content
