"""RTF: one file per note, read with all text that it shows or hides.

Order of the text: headers, body, footers, footnotes and endnotes, comments, text boxes, and then
one line each for what is hidden: field codes, what an unknown extension holds, and, where asked
for, the document properties as ``name: value``. Names of who made, saved, changed or commented the
document are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from deid_assets.extending import Note
from deid_assets.extending.formats import (
    Annotated,
    Fault,
    ParsedNote,
    ReadOptions,
    RecordError,
    Source,
    WriteOptions,
    read_bytes,
)
from deid_document_formats.options import Documents
from deid_document_formats.revisions import attachment_faults, report_no_text
from deid_document_formats.rtf_text import RtfText
from deid_document_formats.writing import write_documents

_BYTES_PER_CHAR = 8
"""``\\u12345?`` for every character; pictures come on top."""
_MAX_PICTURE_BYTES = 1 << 26


def read(source: Source, options: ReadOptions) -> Iterator[ParsedNote | Fault]:
    """Yield the file as one note, and a fault for each object that is embedded in it."""
    max_bytes = options.max_note_chars * _BYTES_PER_CHAR + _MAX_PICTURE_BYTES
    blob = read_bytes(source, max_bytes=max_bytes, note_id=source.note_id)
    if isinstance(blob, Fault):
        yield blob
        return
    try:
        document = RtfText(blob)
        body, hidden = document.text(with_properties=options.of(Documents).properties)
    except RecordError as error:
        yield source.fault(error.kind, error.reason, note_id=source.note_id)
        return
    text = "\n".join([body, *hidden])
    if not text.strip() and (document.pictures or not text):
        yield report_no_text(source, pictures=document.pictures)
    else:
        yield ParsedNote(source.name, source.note_id, text, body_chars=len(body))
    yield from attachment_faults(source, document.objects, options)


def write(path: Path, notes: Iterable[Annotated], options: WriteOptions) -> None:
    """Write one file per note: text without a font or property; neither date nor author is in it.

    Raises:
        InputError: A note has spans, which RTF cannot hold, or no text.
    """
    del options
    write_documents(path, notes, ".rtf", _document, kind="RTF")


_ESCAPES = {"\\": "\\\\", "{": "\\{", "}": "\\}", "\n": "\\par\n", "\t": "\\tab "}


def _document(note: Note) -> str:
    head = "{\\rtf1\\ansi\\ansicpg1252\\uc1\\deff0{\\fonttbl{\\f0\\fswiss Arial;}}\\f0 "
    return head + "".join(_escape(char) for char in note.text) + "}\n"


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if " " <= char <= "~":
        return char
    units = char.encode("utf-16-le")
    codes = (
        int.from_bytes(units[at : at + 2], "little", signed=True) for at in range(0, len(units), 2)
    )
    return "".join(f"\\u{code}?" for code in codes)
