"""Folders and files that only their owner may read."""

from __future__ import annotations

import os
from pathlib import Path

from deid_assets.core.errors import InputError

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
            f"--out {folder} is open to others (mode {mode:o}), and a restricted report shows note text; "
            f"chmod 700 {folder}, or name a new folder"
        )


def write_files(folder: Path, files: dict[str, str], *, restricted: bool) -> None:
    """Write text files into a folder, which is made where it is not there; each appears whole or not at all.

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
        part = folder / f".{name}.part"
        part.unlink(missing_ok=True)
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE if restricted else 0o666)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
        part.replace(folder / name)
