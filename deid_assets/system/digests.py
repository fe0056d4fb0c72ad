"""Digests of files and folders by content, read again only where a file changed."""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

SETTLED_NS = 2_000_000_000
"""A file that changed less than this before it was read may change again under the same
time stamp.
"""

Stamp = tuple[int, int, int, int, int]
_known: dict[Stamp, str] = {}


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content, read now: 64 hexadecimal digits.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of a file's content, remembered by device, inode, size and times.

    The time of the last change of the inode counts too, since nobody can set it back as they can
    the file's own.

    Raises:
        OSError: It cannot be read.
    """
    stamp = _stamp(path)
    if stamp in _known:
        return _known[stamp]
    digest = sha256_of(path)
    if _stamp(path) == stamp and time.time_ns() - max(stamp[3:]) > SETTLED_NS:
        _known[stamp] = digest
    return digest


def digest_of_files(named: Iterable[tuple[str, Path]]) -> str:
    """Return one SHA-256 over files, each under the name it is given here.

    Raises:
        OSError: One cannot be read.
    """
    digest = hashlib.sha256()
    for name, path in sorted(named):
        digest.update(
            f"{len(name)}:{name}:{digest_of_file(path)}\n".encode("utf-8", "surrogateescape")
        )
    return digest.hexdigest()


def files_below(
    folder: Path, *, without: frozenset[str] = frozenset({"__pycache__"})
) -> Iterator[tuple[str, Path]]:
    """Yield the files of a folder with their paths inside it, those in folders of some names left
    out.

    Links to folders are followed, as Python's import does; a folder that was visited is not visited
    again.
    """
    visited: set[tuple[int, int]] = set()
    for place, folders, files in os.walk(folder, followlinks=True):
        state = os.stat(place)  # noqa: PTH116 - os.walk gives strings
        if (state.st_dev, state.st_ino) in visited:
            folders.clear()
            continue
        visited.add((state.st_dev, state.st_ino))
        folders[:] = [name for name in folders if name not in without]
        here = Path(place)
        inside = "" if here == folder else f"{here.relative_to(folder).as_posix()}/"
        for name in files:
            if os.path.isfile(path := os.path.join(place, name)):  # noqa: PTH113, PTH118 - called for thousands of files
                yield f"{inside}{name}", Path(path)


def digest_of_path(path: Path) -> str:
    """Return the SHA-256 of a file, or of all files of a folder with their names.

    Raises:
        OSError: Something cannot be read; a pipe or device would wait for ever, or never be the
            same.
    """
    if path.is_dir():
        return digest_of_files(files_below(path))
    if not path.is_file():
        raise OSError(errno.EINVAL, "it is no file or folder", str(path))
    return digest_of_file(path)


def digest_of_package(module: str) -> tuple[str, str]:
    """Return the SHA-256 of a top-level package's files, and a fault where there is no such
    package.
    """
    spec = find_spec(module.partition(".")[0])  # finds, does not import
    if spec is None or spec.origin is None:
        return (
            hashlib.sha256(b"").hexdigest(),
            f"module {module} is not installed; install the plugin again",
        )
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    files = [found for folder in folders for found in files_below(folder)]
    try:
        return digest_of_files(files or [(Path(spec.origin).name, Path(spec.origin))]), ""
    except OSError as error:
        fault = f"a file of {module} cannot be read ({error.strerror}); install it again"
        return hashlib.sha256(b"").hexdigest(), fault


def paths_in(options: object) -> list[Path]:
    """Return the files and folders that options name, alone or in lists and tables, in order."""
    if isinstance(options, str | Path):
        # Any text may stand there; an empty one would name the working folder.
        return [Path(options)] if str(options) and os.path.exists(options) else []  # noqa: PTH110
    if isinstance(options, Mapping):
        return [path for name in sorted(options) for path in paths_in(options[name])]
    if isinstance(options, Sequence):
        return [path for option in options for path in paths_in(option)]
    return []


def _stamp(path: Path) -> Stamp:
    state = path.stat()
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
