"""DOCX (ECMA-376, WordprocessingML): one file per note, read with all text that it shows or hides.

Order of the text: headers, body, footers, footnotes, endnotes, comments, building blocks, charts
and diagrams, custom XML, and then one line each for what is hidden: descriptions of pictures, field
codes, document variables and targets of links, and, where asked for, the document properties as
``name: value``. A text box follows the paragraph that holds it. Names of who made, saved, changed
or commented the document are left out.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError
from xml.sax.saxutils import escape

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from deid_assets.extending import InputError, Note
from deid_assets.extending.formats import (
    Annotated,
    ArchiveError,
    Budget,
    Fault,
    ParsedNote,
    ReadOptions,
    RecordError,
    Source,
    WriteOptions,
)
from deid_document_formats.docx_text import blocks_of, find_hidden, local_name
from deid_document_formats.options import Documents
from deid_document_formats.revisions import attachment_faults, list_hidden_lines, report_no_text
from deid_document_formats.writing import write_documents

_MAX_XML_BYTES = 1 << 26
"""Most bytes of all XML of one document, unpacked; a page of text is about 20 kB of it."""
_MAX_TAGS = 4_000_000
"""Most elements of one document.

A page of text has about 1,000, and each takes about 60 bytes of memory.
"""
_ORDER = ("hdr", "document", "ftr", "footnotes", "endnotes", "comments", "glossaryDocument")
_WITHOUT_TEXT = frozenset(
    [
        "styles",
        "settings",
        "webSettings",
        "fonts",
        "numbering",
        "theme",
        "Types",
        "Relationships",
        "people",
        "commentsEx",
        "commentsIds",
        "commentsExtensible",
        "datastoreItem",
        "styleDef",
        "colorsDef",
        "layoutDef",
        "colorStyle",
        "chartStyle",
    ]
)
_PROPERTIES = frozenset({"coreProperties", "Properties"})
_PROPERTY_NAMES = frozenset(
    [
        "title",
        "subject",
        "keywords",
        "description",
        "category",
        "contentStatus",
        "identifier",
        "Company",
        "HyperlinkBase",
    ]
)
"""Properties that people fill in.

The others are dates, counts, names of who worked on it, and that of the program.
"""
_PICTURES = frozenset(
    {".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".emf", ".wmf", ".svg", ".webp"}
)
_FONTS = frozenset({".odttf", ".fntdata"})
_OLE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED = 0x1
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0, section 2.2, does not allow."""


@dataclass(slots=True)
class _Parts:
    """The parts of one document."""

    roots: dict[str, Element] = field(default_factory=dict)
    pictures: int = 0
    attachments: int = 0
    tags: int = 0


def read(source: Source, options: ReadOptions) -> Iterator[ParsedNote | Fault]:
    """Yield the file as one note, and a fault for each document that is embedded in it."""
    try:
        parts = _parts(source.path, options)
        body, hidden = _text(parts, with_properties=options.of(Documents).properties)
    except RecordError as error:
        yield source.fault(error.kind, error.reason, note_id=source.note_id)
        return
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        ValueError,
        RuntimeError,
        LookupError,
        OverflowError,
    ):
        yield _no_docx(source)
        return
    text = "\n".join([body, *hidden])
    if not text.strip() and (parts.pictures or not text):
        yield report_no_text(source, pictures=parts.pictures)
    else:
        yield ParsedNote(source.name, source.note_id, text, body_chars=len(body))
    yield from attachment_faults(source, parts.attachments, options)


def _no_docx(source: Source) -> Fault:
    with source.path.open("rb") as file:
        is_ole = file.read(4) == _OLE
    if is_ole:
        reason = "is encrypted, or of Word 97 to 2003; save it as .docx without a password"
        return source.fault("encrypted", reason, note_id=source.note_id)
    return source.fault(
        "malformed", "is no DOCX, or damaged; save it again", note_id=source.note_id
    )


def _parts(path: Path, options: ReadOptions) -> _Parts:
    limits = replace(
        options.archives, max_total_bytes=_MAX_XML_BYTES, max_member_bytes=_MAX_XML_BYTES
    )
    budget = Budget(limits)
    parts = _Parts()
    with zipfile.ZipFile(path) as archive:
        names = set[str]()
        for info in archive.infolist():
            if info.filename in names:
                raise RecordError("malformed", "holds a part twice; save it again")
            names.add(info.filename)
            suffix = "." + info.filename.lower().rpartition(".")[2]
            if suffix in (".xml", ".rels", ".vml"):
                parts.roots[info.filename] = _parse(archive, info, budget, parts)
            elif suffix in _PICTURES:
                parts.pictures += 1
            elif (
                suffix not in _FONTS
                and not info.is_dir()
                and "printerSettings" not in info.filename
            ):
                parts.attachments += 1
    return parts


def _parse(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: Budget, parts: _Parts
) -> Element:
    if info.flag_bits & _ENCRYPTED:
        raise RecordError("encrypted", "is encrypted; save it without a password")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise RecordError(
            "malformed", "is packed by a method that DOCX does not have; save it again"
        )
    try:
        budget.check_ratio(info.file_size, info.compress_size)
        budget.count(info.file_size, 0)  # the library reads no more than this
        blob = archive.read(info)
        parts.tags += blob.count(b"<")
        if parts.tags > _MAX_TAGS:
            raise _too_large()
        root: Element = fromstring(blob, forbid_dtd=True)
    except ArchiveError:
        raise _too_large() from None
    except DefusedXmlException:
        raise RecordError(
            "unsafe-xml", "declares a document type or an entity; save it again"
        ) from None
    except ParseError:
        raise RecordError(
            "malformed", "has a part that is not well-formed XML; save it again"
        ) from None
    return root


def _too_large() -> RecordError:
    reason = (
        f"has more than {_MAX_XML_BYTES} bytes or {_MAX_TAGS} tags of XML, or is packed too well to"
        " be text; convert it by hand"
    )
    return RecordError("too-large", reason)


def _text(parts: _Parts, *, with_properties: bool) -> tuple[str, list[str]]:
    """Return what a document shows, and a line for each thing that it hides."""
    ordered: list[tuple[int, int, str]] = []
    properties: list[str] = []
    hidden: list[str] = []
    for name, root in parts.roots.items():
        kind = local_name(root)
        hidden += find_hidden(root)
        if kind in _PROPERTIES:
            properties += _properties(root) if with_properties else []
        elif kind not in _WITHOUT_TEXT:
            place = _ORDER.index(kind) if kind in _ORDER else len(_ORDER)
            ordered.append((place, len(name), name))
    if [local_name(parts.roots[name]) for _, _, name in ordered].count("document") != 1:
        raise RecordError("malformed", "has not one body of text; save it again as .docx")
    lines: list[str] = []
    try:
        for place, _, name in sorted(ordered):
            found = (
                blocks_of(parts.roots[name]) if place < len(_ORDER) else _plain(parts.roots[name])
            )
            is_body = place == _ORDER.index("document")
            lines += [line for line in found if is_body or line.strip()]
    except RecursionError:
        raise RecordError("malformed", "nests tables or fields too deeply; save it again") from None
    text = "\n".join(lines)
    return text, list_hidden_lines([*hidden, *properties], text)


def _plain(root: Element) -> list[str]:
    """Return the text of a chart, diagram or custom XML, a line for each element with text."""
    return [text.strip() for text in root.itertext() if text.strip()]


def _properties(root: Element) -> list[str]:
    found = []
    for element in root:
        name = local_name(element)
        value = "".join(element.itertext()).strip()
        if value and name == "property":
            found.append(f"{element.get('name', 'property')}: {value}")
        elif value and name in _PROPERTY_NAMES:
            found.append(f"{name}: {value}")
    return found


_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_TYPES = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels"'
    ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType="'
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<Relationships'
    ' xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1"'
    ' Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"'
    ' Target="word/document.xml"/></Relationships>'
)


def write(path: Path, notes: Iterable[Annotated], options: WriteOptions) -> None:
    """Write one file per note: plain paragraphs, without any property.

    Neither date nor author is in it.

    Raises:
        InputError: A note has spans, which DOCX cannot hold, or no text, or a character that XML
            forbids.
    """
    del options
    write_documents(path, notes, ".docx", _document, kind="DOCX")


def _document(note: Note) -> bytes:
    if match := _FORBIDDEN.search(note.text):
        raise InputError(
            f"note {note.note_id!r}: U+{ord(match[0]):04X} at offset {match.start()} cannot be in"
            " XML; write jsonl, csv or parquet"
        )
    body = "".join(f"<w:p>{_runs(line)}</w:p>" for line in note.text.split("\n"))
    parts = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _RELATIONS,
        "word/document.xml": (
            '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
            f'<w:document xmlns:w="{_W}"><w:body>{body}</w:body></w:document>'
        ),
    }
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w") as archive:
        for name, content in parts.items():
            info = zipfile.ZipInfo(name)  # of 1980, so that the same text makes the same bytes
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content.encode())
    return blob.getvalue()


def _runs(line: str) -> str:
    if not line:
        return ""
    pieces = (
        f'<w:t xml:space="preserve">{escape(piece, {chr(13): "&#13;"})}</w:t>' if piece else ""
        for piece in line.split("\t")
    )
    return f"<w:r>{'<w:tab/>'.join(pieces)}</w:r>"
