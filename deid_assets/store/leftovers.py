"""Files in the store that no receipt names, left by killed runs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from deid_assets.core.errors import DeidError
from deid_assets.store.atomic import TEMPORARY, file_name, lock_folder
from deid_assets.store.files import RECEIPT, StoreFiles
from deid_assets.store.zones import Zone

_TABLE_FILE = re.compile(r"[a-z][a-z0-9_]{0,40}-[0-9a-f]{12}\.parquet")
_ARRIVED = "landing"
"""Folder of the restricted zone with files as they arrived; nothing of it is ours to remove."""


def sweep_store(files: StoreFiles) -> int:
    """Remove temporary files, and tables that their partition's receipt does not name.

    Return how many.

    A partition whose receipt cannot be read keeps its tables, since what they are is not known.
    """
    found = [path for zone in Zone for path in (files.root / zone).rglob("*") if _is_ours(path)]
    folders = sorted(
        {path.parent for path in found if _ARRIVED not in path.relative_to(files.root).parts[:2]}
    )
    return sum(_sweep(folder, files) for folder in folders)


def _sweep(folder: Path, files: StoreFiles) -> int:
    asset = folder.parent.name
    with lock_folder(folder):
        try:
            receipt = files.find(asset, folder.name)
        except DeidError:
            return _remove(folder.glob(f"{TEMPORARY}*"))
        outputs = receipt.outputs if receipt else {}
        named = {RECEIPT, *(file_name(name, output["sha256"]) for name, output in outputs.items())}
        return _remove(
            path for path in folder.iterdir() if _is_ours(path) and path.name not in named
        )


def _is_ours(path: Path) -> bool:
    return path.name.startswith(TEMPORARY) or _TABLE_FILE.fullmatch(path.name) is not None


def _remove(paths: Iterable[Path]) -> int:
    removed = 0
    for path in list(paths):
        path.unlink(missing_ok=True)
        removed += 1
    return removed
