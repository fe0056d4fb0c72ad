"""Read a written PDF again: it holds its note's text, and nothing else."""

from __future__ import annotations

import io
import re
import unicodedata
from typing import TYPE_CHECKING, Any

from deid_assets.extending import InputError, Note
from deid_document_formats.pdf_rows import PRODUCER, read_written_text

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
"""Of the dictionaries of a file that is written; any other withholds it."""


def check_written(note: Note, blob: bytes) -> None:
    """Check that a file has the note's text, both as glyphs and exactly, and nothing else.

    Whatever was covered in the note is then nowhere in the file.

    Raises:
        InputError: It has another text, a property, a revision or a kind of thing that is never
            written, or cannot be read.
    """
    from pypdf import PdfReader  # noqa: PLC0415 - only a writer needs it
    from pypdf.errors import PyPdfError  # noqa: PLC0415

    try:
        fault = _fault(PdfReader(io.BytesIO(blob), strict=True), note.text)
    except PyPdfError:
        fault = "its PDF cannot be read again"
    if not fault and blob.count(b"%%EOF") != 1:
        fault = "its PDF has more than the text"
    if fault:
        raise InputError(f"note {note.note_id!r}: {fault}, so none is written; write docx or txt")


def _fault(reader: PdfReader, text: str) -> str:
    exact = "".join(read_written_text(page) for page in reader.pages)
    shown = "".join(page.extract_text() for page in reader.pages)
    if exact != text or _letters(shown) != _letters(text):
        return "the text read from its PDF is another"
    properties = {key: str(value) for key, value in (reader.metadata or {}).items()}
    if not _keys(reader) <= _KEYS or properties != {"/Producer": PRODUCER}:
        return "its PDF has more than the text"
    return ""


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
