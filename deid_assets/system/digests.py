"""Digests of files and folders by content, read again only where a file changed."""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

SETTLED_NS = 2_000_000_000
"""A file that changed less than this before it was read may change again under the same
time stamp.
"""

COMPILED = frozenset({"__pycache__"})
FindsModule = Callable[[str], ModuleSpec | None]
"""Finds a top-level module by its name, and does not import it."""
Stamp = tuple[int, int, int, int, int]
_known: dict[Stamp, str] = {}


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content, read now: 64 hexadecimal digits.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of_file(path: Path | str) -> str:
    """Return the SHA-256 of a file's content, remembered by device, inode, size and times.

    The time of the last change of the inode counts too, since nobody can set it back as they can
    the file's own.

    Raises:
        OSError: It cannot be read.
    """
    stamp = _stamp(path)
    if stamp in _known:
        return _known[stamp]
    digest = sha256_of(Path(path))
    if _stamp(path) == stamp and time.time_ns() - max(stamp[3:]) > SETTLED_NS:
        _known[stamp] = digest
    return digest


def digest_of_files(named: Iterable[tuple[str, Path | str]]) -> str:
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


def files_below(folder: Path, *, without: frozenset[str] = COMPILED) -> Iterator[tuple[str, Path]]:
    """Yield the files of a folder with their paths inside it, those in folders of some names left
    out.

    Links to folders are followed, as Python's import does; a folder that was visited is not visited
    again. One that cannot be listed has no files.
    """
    for name, path in paths_below(folder, without=without):
        yield name, Path(path)


def paths_below(folder: Path, *, without: frozenset[str] = COMPILED) -> Iterator[tuple[str, str]]:
    """Yield what ``files_below`` does, with paths as text: a run asks for thousands again and
    again, and most of the time would go into making paths of them.
    """
    visited: set[tuple[int, int]] = set()
    left = [(os.fspath(folder), "")]
    while left:
        place, inside = left.pop()
        try:
            state = os.stat(place)  # noqa: PTH116 - of text, see above
            entries = [*os.scandir(place)]
        except OSError:
            continue
        if (state.st_dev, state.st_ino) in visited:
            continue
        visited.add((state.st_dev, state.st_ino))
        for entry in entries:
            if _is(entry.is_dir):
                if entry.name not in without:
                    left.append((entry.path, f"{inside}{entry.name}/"))
            elif _is(entry.is_file):
                yield f"{inside}{entry.name}", entry.path


def _is(kind: Callable[[], bool]) -> bool:
    try:
        return kind()
    except OSError:  # a link in a circle is neither a folder nor a file
        return False


def digest_of_path(path: Path) -> str:
    """Return the SHA-256 of a file, or of all files of a folder with their names.

    Raises:
        OSError: Something cannot be read; a pipe or device would wait for ever, or never be the
            same.
    """
    if path.is_dir():
        return digest_of_files(paths_below(path))
    if not path.is_file():
        raise OSError(errno.EINVAL, "it is no file or folder", str(path))
    return digest_of_file(path)


def digest_of_package(module: str, find: FindsModule = find_spec) -> tuple[str, str]:
    """Return the SHA-256 of a top-level package's files, and a fault where there is no such
    package.

    Args:
        module: Of the package, or below it.
        find: Finds the package, in this environment where nothing else is said.
    """
    spec = find(module.partition(".")[0])  # finds, does not import
    if spec is None or spec.origin is None:
        return (
            hashlib.sha256(b"").hexdigest(),
            f"module {module} is not installed; install the plugin again",
        )
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    files = [found for folder in folders for found in paths_below(folder)]
    alone = Path(spec.origin)
    try:
        return digest_of_files(files or [(alone.name, str(alone))]), ""
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


def _stamp(path: Path | str) -> Stamp:
    state = os.stat(path)  # noqa: PTH116 - of text too
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
