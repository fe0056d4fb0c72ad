"""Which generation of the store a folder holds.

What an earlier version wrote is refused, never half read.
"""

from __future__ import annotations

from pathlib import Path

from deid_assets.core.errors import ConfigError

MARKER = "generation"
GENERATION = "3"
"""1: ids of batches and digests of notes without a key. 2: keyed. 3: asset keys of one part."""


def mark_store(root: Path) -> None:
    """Say in an empty store that it is of the present generation."""
    root.mkdir(parents=True, exist_ok=True)
    if not any(root.iterdir()):
        (root / MARKER).write_text(GENERATION + "\n")


def check_store(root: Path) -> None:
    """Refuse a store of another generation; one that is empty or not there yet is none.

    Raises:
        ConfigError: It is of another.
    """
    if is_of_another_generation(root):
        raise ConfigError(
            f"{root}: made by another version; run `deid migrate`, which moves what arrived back to"
            " the landing folder and everything else aside"
        )


def is_of_another_generation(root: Path) -> bool:
    """Return whether there is a store that this version cannot read."""
    if not root.is_dir() or not any(root.iterdir()):
        return False
    marker = root / MARKER
    return not marker.is_file() or marker.read_text().strip() != GENERATION
