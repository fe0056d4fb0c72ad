"""Folders and files that only their owner may read."""

from __future__ import annotations

from pathlib import Path

from deid_assets.core.errors import InputError
from deid_assets.system.atomic import atomic_path

_OTHERS = 0o077
_FOLDER, _FILE = 0o700, 0o600


def check_restricted(folder: Path) -> None:
    """Refuse a folder that others may read or write.

    Raises:
        InputError: Group or others have any right in it.
    """
    if folder.exists() and folder.stat().st_mode & _OTHERS:
        mode = folder.stat().st_mode & 0o777
        raise InputError(
            f"--out {folder} is open to others (mode {mode:o}), and a restricted report shows note"
            f" text; chmod 700 {folder}, or name a new folder"
        )


def write_files(folder: Path, files: dict[str, str], *, restricted: bool) -> None:
    """Write text files into a folder, which is made where it is not there.

    Each appears whole or not at all.

    Args:
        folder: Where to.
        files: Name to content.
        restricted: Give rights to the owner alone.

    Raises:
        InputError: ``restricted``, and others have rights in the folder.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=_FOLDER if restricted else 0o777)
    if restricted:
        check_restricted(folder)
    for name, content in files.items():
        with atomic_path(folder / name, mode=_FILE if restricted else 0o666) as part:
            part.write_text(content, encoding="utf-8")
