"""Write notes as documents, one file each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from deid_assets.extending import InputError, Note
from deid_assets.extending.formats import Annotated, atomic_folder, write_member


def write_documents(
    path: Path,
    notes: Iterable[Annotated],
    suffix: str,
    document: Callable[[Note], str | bytes],
    *,
    kind: str,
) -> None:
    """Write one file per note into a folder, all or none.

    Args:
        path: The folder.
        notes: Without spans, and with text.
        suffix: Of each file; its name is the note's id.
        document: Makes the file's content; may raise :class:`InputError`.
        kind: The format, for messages.

    Raises:
        InputError: A note has spans, no text, or an id that is no file name.
    """
    with atomic_folder(path) as folder:
        for annotated in notes:
            note = annotated.note
            if annotated.spans is not None or not note.text:
                fault = (
                    f"{kind} holds no spans" if note.text else "an empty note cannot be a document"
                )
                raise InputError(f"note {note.note_id!r}: {fault}; write jsonl, csv or parquet")
            content = document(note)
            if isinstance(content, str):
                write_member(folder, note.note_id, suffix, content)
            else:
                # claims the name, with all that is checked of it
                write_member(folder, note.note_id, suffix, "")
                folder.joinpath(f"{note.note_id}{suffix}").write_bytes(content)
