"""Files of a folder format, one per note."""

from __future__ import annotations

from pathlib import Path

from deid_assets.core.errors import InputError


def write_member(folder: Path, note_id: str, suffix: str, text: str) -> None:
    """Write one file of a folder format, named by the note's id.

    A slash in the id makes a subfolder.

    Raises:
        InputError: The id cannot be a file name below the folder, or another id takes the same
            name.
    """
    steps = note_id.split("/")
    if any(step in ("", ".", "..") for step in steps) or "\\" in note_id:
        raise InputError(
            f"note id {note_id!r} cannot be a file name; write jsonl, csv or parquet, or change"
            " the id"
        )
    path = folder.joinpath(*steps[:-1], steps[-1] + suffix)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(text.encode())
    except OSError as error:
        raise InputError(
            f"note id {note_id!r} cannot be written as a file ({error.strerror}); write jsonl, csv"
            " or parquet"
        ) from None
