"""Which generation of the store a folder holds.

What an earlier version wrote is refused, never half read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from deid_assets.core.errors import ConfigError

MARKER = "generation"
GENERATION = "3"
"""1: ids of batches and digests of notes without a key. 2: keyed. 3: asset keys of one part."""

ASIDE = "before-migration"
"""Folder beside the store with what an earlier version made."""
UNFINISHED = "unfinished"
"""File in it from before the first move of a migration to the end of the last."""

_UNFINISHED_MARKER = ".generation"
_MIGRATES: ContextVar[bool] = ContextVar("migrates", default=False)


def mark_store(root: Path) -> None:
    """Say in an empty store that it is of the present generation."""
    root.mkdir(parents=True, exist_ok=True)
    if _is_empty(root):
        (root / _UNFINISHED_MARKER).write_text(GENERATION + "\n")
        with suppress(FileNotFoundError):  # another process has put it in its place
            (root / _UNFINISHED_MARKER).replace(root / MARKER)


def check_store(root: Path) -> None:
    """Refuse a store of another generation, and any beside an unfinished migration; one that is
    empty or not there yet is of none.

    Raises:
        ConfigError: It is of another, or withdrawals may not be carried over yet.
    """
    if _MIGRATES.get():
        return
    if is_migration_unfinished(root):
        raise ConfigError(
            f"{root}: a migration ended before it was done, and what was withdrawn may be missing;"
            " run `deid migrate` again, which goes on with it"
        )
    if is_of_another_generation(root):
        raise ConfigError(
            f"{root}: made by another version; run `deid migrate`, which moves what arrived back to"
            " the landing folder and everything else aside"
        )


def is_of_another_generation(root: Path) -> bool:
    """Return whether there is a store that this version cannot read."""
    if not root.is_dir() or _is_empty(root):
        return False
    marker = root / MARKER
    return not marker.is_file() or marker.read_text().strip() != GENERATION


def is_migration_unfinished(root: Path) -> bool:
    """Return whether a migration that was to end in this store was begun and did not end."""
    return (root.parent / ASIDE / UNFINISHED).exists()


@contextmanager
def migrating() -> Iterator[None]:
    """Let the migration itself write to the store that is refused to all others until it ends."""
    token = _MIGRATES.set(True)
    try:
        yield
    finally:
        _MIGRATES.reset(token)


def _is_empty(root: Path) -> bool:
    return all(path.name == _UNFINISHED_MARKER for path in root.iterdir())
