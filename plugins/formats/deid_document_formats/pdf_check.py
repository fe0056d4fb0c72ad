"""Whether a PDF is as this package writes it: it holds its note's text, and nothing else."""

from __future__ import annotations

import io
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid_assets.extending import InputError, Note
from deid_document_formats.pdf_rows import PRODUCER, has_rows_alone, read_written_text

if TYPE_CHECKING:
    from pypdf import PdfReader

_KEYS = frozenset(
    re.findall(
        r"\w+",
        """
        Type Subtype Pages Kids Count Parent MediaBox Resources Font F Contents Length Filter
        BaseFont Encoding DescendantFonts ToUnicode CIDSystemInfo Registry Ordering Supplement
        FontDescriptor DW W CIDToGIDMap FontName Flags FontBBox ItalicAngle Ascent Descent CapHeight
        StemV FontFile2 Length1 Producer
        """,
    )
)
"""Of the dictionaries of a file that is written; a file with any other is none."""
_WRITTEN = {"/Producer": PRODUCER}
"""The properties of a file that is written."""


def check_written(note: Note, blob: bytes) -> None:
    """Check that a file has the note's text, both as glyphs and exactly, and nothing else.

    Whatever was covered in the note is then nowhere in the file.

    Raises:
        InputError: It has another text, a property, a revision or a kind of thing that is never
            written, or cannot be read.
    """
    from pypdf.errors import PyPdfError  # noqa: PLC0415 - only a writer needs it

    try:
        fault = _fault(blob, note.text)
    except PyPdfError:
        fault = "its PDF cannot be read again"
    if fault:
        raise InputError(f"note {note.note_id!r}: {fault}, so none is written; write docx or txt")


def read_pages_as_written(path: Path) -> list[str] | None:
    """Return the exact texts of the pages of a file that has nothing but what was written.

    ``None`` for any other, also one of this package that somebody stamped, merged or saved anew:
    what its rows say that they stand for is then not all of it.
    """
    from pypdf.errors import LimitReachedError, PyPdfError  # noqa: PLC0415 - only a reader needs it

    blob = path.read_bytes()
    try:
        reader = _strict_reader(blob)
        if _properties(reader) != _WRITTEN:
            return None
        pages = [read_written_text(page) for page in reader.pages]
        return None if _fault(blob, "".join(pages)) else pages
    except LimitReachedError:
        raise
    except (PyPdfError, LookupError, TypeError, ValueError, AttributeError):
        # of a hostile file: it is read as any other is, which has its own faults
        return None


def _fault(blob: bytes, text: str) -> str:
    reader = _strict_reader(blob)
    exact = "".join(read_written_text(page) for page in reader.pages)
    shown = "".join(page.extract_text() for page in reader.pages)
    if exact != text or _letters(shown) != _letters(text):
        return "the text read from its PDF is another"
    if (
        blob.count(b"%%EOF") != 1
        or not _keys(reader) <= _KEYS
        or _properties(reader) != _WRITTEN
        or not all(has_rows_alone(page) for page in reader.pages)
    ):
        return "its PDF has more than the text"
    return ""


def _strict_reader(blob: bytes) -> PdfReader:
    from pypdf import PdfReader  # noqa: PLC0415 - as above

    return PdfReader(io.BytesIO(blob), strict=True)


def _properties(reader: PdfReader) -> dict[str, str]:
    return {key: str(value) for key, value in (reader.metadata or {}).items()}


def _letters(text: str) -> str:
    """Return the text without blanks and characters of no width, which extraction may change."""
    return "".join(
        char for char in text if not char.isspace() and unicodedata.category(char) not in "CcCf"
    )


def _keys(reader: PdfReader) -> set[str]:
    """Return the keys of all dictionaries of a file."""
    found: set[str] = set()
    for number in range(1, int(str(reader.trailer["/Size"]))):
        _add_keys(reader.get_object(number), found)
    return found


def _add_keys(value: Any, found: set[str]) -> None:
    if isinstance(value, dict):
        found.update(key[1:] for key in value)
        for each in value.values():
            _add_keys(each, found)
    elif isinstance(value, list):
        for each in value:
            _add_keys(each, found)
