"""Arrivals that say where notes are and hold none, such as the address of a database.

What they lead to changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from deid_assets.formats.installed import FORMATS


def points_elsewhere(files: Iterable[Path]) -> bool:
    """Whether one of the files names a source instead of holding notes."""
    suffixes = {suffix for known in FORMATS.values() for suffix in known.pointers}
    return any(path.suffix.lower() in suffixes for path in files)
