"""A clinical note: an id and its text, exactly as received."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from deid_assets.core.errors import NoteError

MAX_ID_CHARS = 200


@dataclass(frozen=True, slots=True)
class Note:
    """One note; the text is never normalised, so offsets mean the same everywhere.

    Args:
        note_id: Unique within a corpus; printable, 1 to 200 characters.
        text: The note, hidden from ``repr``. May be empty; the quality checks decide on that.
        patient_id: Groups the notes of one patient, for surrogates and for splits.
        lang: ISO 639-1 code in lower case, or ``None`` when not known.
        meta: Free fields of the source, hidden from ``repr`` because they may identify.

    Raises:
        NoteError: The id is empty, too long or not printable, or the text holds a lone surrogate.
    """

    note_id: str
    text: str = field(repr=False)
    patient_id: str | None = field(default=None, repr=False)
    lang: str | None = None
    meta: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False, compare=False)
    digest: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 < len(self.note_id) <= MAX_ID_CHARS or not self.note_id.isprintable():
            raise NoteError(
                f"note id must be 1 to {MAX_ID_CHARS} printable characters, got {len(self.note_id)}"
            )
        try:
            encoded = self.text.encode()
        except UnicodeEncodeError as error:
            raise NoteError(
                f"note {self.note_id!r}: lone surrogate at offset {error.start}; decode the source"
                " as UTF-8 or UTF-16"
            ) from None
        object.__setattr__(self, "digest", hashlib.sha256(encoded).hexdigest())

    def __len__(self) -> int:
        return len(self.text)


def chunks_of(notes: Iterable[Note], chars: int) -> Iterator[list[Note]]:
    """Yield the notes in lists, each ended by the note with which it has at least so many
    characters.
    """
    chunk: list[Note] = []
    size = 0
    for note in notes:
        chunk.append(note)
        size += len(note.text)
        if size >= chars:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
