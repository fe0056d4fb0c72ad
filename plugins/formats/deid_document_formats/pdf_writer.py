"""Write notes as PDF: a new file from the text alone, in one font of one width.

Nothing is taken from the file that the note was read from, neither a picture of its pages nor the
places of its words, whose widths tell covered names (Bland et al., 2023). Each row of a page has
its text twice: as glyphs, and exactly, with its line break, as ``/ActualText`` (ISO 32000-1,
14.9.4).
"""

from __future__ import annotations

import io
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from deid_assets.extending import ConfigError, InputError, Note
from deid_assets.extending.formats import Annotated, WriteOptions
from deid_document_formats.pdf_check import check_written
from deid_document_formats.pdf_rows import PRODUCER
from deid_document_formats.writing import write_documents

_SIZE, _LEADING, _MARGIN = 9, 12, 50
_A4 = (595, 842)
"""Points, 1/72 inch."""
_ADVANCE = 602
"""Width of each glyph of the font, in thousandths of its size."""
_TAB_CHAR, _TAB = "\t", 4
"""A tab and its columns."""
_OTHERS = "\u20ac\u2018\u2019\u201a\u201c\u201d\u201e\u2013\u2014\u2026\u2022"
_ALWAYS = frozenset(map(chr, [*range(0x20, 0x7F), *range(0xA0, 0x180)])) | frozenset(_OTHERS)
"""In every file, so that most notes share one font."""


@dataclass(frozen=True, slots=True)
class _Font:
    """The part of the font that a file needs.

    Args:
        program: The file's content, TrueType.
        glyphs: Number of the glyph by character; without those that it lacks.
    """

    program: bytes
    glyphs: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a page.

    Args:
        text: What it shows.
        end: Its line break or form feed, or nothing where the line goes on in the next row.
    """

    text: str
    end: str


def write(path: Path, notes: Iterable[Annotated], options: WriteOptions) -> None:
    """Write one file per note, read it again, and give none where one is not its note alone.

    Raises:
        InputError: A note has spans, which PDF cannot hold, no text, or a letter that the font
            lacks or that runs from right to left; or the file has not the note's text.
        ConfigError: The font is missing.
    """
    del options
    write_documents(path, notes, ".pdf", _document, kind="PDF")


def _document(note: Note) -> bytes:
    font = _font(_ALWAYS | {char for char in note.text if char.isprintable()})
    _check_characters(note, font)
    blob = _file(note.text, font)
    check_written(note, blob)
    return blob


def _check_characters(note: Note, font: _Font) -> None:
    for at, char in enumerate(note.text):
        category = unicodedata.category(char)
        if unicodedata.bidirectional(char) in ("R", "AL", "RLE", "RLO", "RLI"):
            fault = "runs from right to left, which is not laid out"
        elif category in ("Cc", "Cn", "Co", "Cs") and char not in "\t\n\f\r":
            fault = "is no character of text"
        elif category.startswith(("L", "N")) and char not in font.glyphs:
            fault = "is not in the font of PDF"
        else:
            continue
        raise InputError(
            f"note {note.note_id!r}: U+{ord(char):04X} at offset {at} {fault}; write docx or txt"
        )


@lru_cache(maxsize=4)
def _font(characters: frozenset[str]) -> _Font:
    """Return DejaVu Sans Mono, which comes with matplotlib, with these characters alone."""
    from fontTools.subset import Options, Subsetter  # noqa: PLC0415 - only a writer needs it
    from fontTools.ttLib import TTFont  # noqa: PLC0415

    found = find_spec("matplotlib")
    if found is None or found.origin is None:
        raise ConfigError("the font of PDF comes with matplotlib, which is missing; install it")
    folder = Path(found.origin).parent / "mpl-data" / "fonts" / "ttf"
    options = Options(layout_features=[], name_IDs=[], hinting=False, notdef_outline=True)
    options.drop_tables += ["FFTM"]
    with TTFont(folder / "DejaVuSansMono.ttf", recalcTimestamp=False) as font:
        subsetter = Subsetter(options)
        subsetter.populate(unicodes=sorted(map(ord, characters)))
        subsetter.subset(font)
        out = io.BytesIO()
        font.save(out)
        glyphs = {chr(code): font.getGlyphID(name) for code, name in font.getBestCmap().items()}
    return _Font(out.getvalue(), glyphs)


def _file(text: str, font: _Font) -> bytes:
    """Return the file: the same text makes the same bytes."""
    lines = re.findall(r"([^\n\f]*)([\n\f]|\Z)", text)
    longest = max(_columns(line) for line, _ in lines)
    narrow, wide = (_fitting(side - 2 * _MARGIN) for side in _A4)
    is_wide = narrow < longest <= wide
    size = (_A4[1], _A4[0]) if is_wide else _A4
    rows = _rows(lines, wide if is_wide else narrow)
    codes = {char: code for code, char in enumerate(sorted(set(text) - {"\n", "\f"}), start=1)}
    contents = [
        _content(page, codes, top=size[1] - _MARGIN - _SIZE)
        for page in _pages(rows, (size[1] - 2 * _MARGIN) // _LEADING)
    ]
    objects = _font_objects(codes, font)
    pages = []
    for content in contents:
        number = len(objects) + 3
        objects.append(_stream(content))
        pages.append(number + 1)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {size[0]} {size[1]}]"
            f" /Resources << /Font << /F 3 0 R >> >> /Contents {number} 0 R >>".encode()
        )
    kids = " ".join(f"{number} 0 R" for number in pages)
    tree = f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>".encode()
    return _assemble([b"<< /Type /Catalog /Pages 2 0 R >>", tree, *objects])


def _fitting(width: int) -> int:
    """Return how many columns fit a width in points."""
    return width * 1000 // (_SIZE * _ADVANCE)


def _columns(text: str) -> int:
    return len(text) + (_TAB - 1) * text.count("\t")


def _rows(lines: Iterable[tuple[str, str]], columns: int) -> Iterator[_Row]:
    """Yield lines broken after a blank where they are too long, or anywhere without one."""
    for line, end in lines:
        rest = line
        while _columns(rest) > columns:
            fits = columns
            while _columns(rest[:fits]) > columns:
                fits -= 1
            blank = rest.rfind(" ", 0, fits) + 1
            cut = blank or fits
            yield _Row(rest[:cut], "")
            rest = rest[cut:]
        yield _Row(rest, end)


def _pages(rows: Iterable[_Row], most: int) -> Iterator[list[_Row]]:
    page: list[_Row] = []
    for row in rows:
        page.append(row)
        if len(page) == most or row.end == "\f":
            yield page
            page = []
    if page:
        yield page


def _content(rows: Iterable[_Row], codes: Mapping[str, int], *, top: int) -> bytes:
    shown = [f"BT /F {_SIZE} Tf {_LEADING} TL {_MARGIN} {top} Td"]
    for row in rows:
        glyphs = "".join(f"{codes[char]:04X}" for char in row.text)
        exact = f"FEFF{_utf16(row.text + row.end)}"
        shown.append(f"/Span << /ActualText <{exact}> >> BDC <{glyphs}> Tj EMC T*")
    shown.append("ET")
    return "\n".join(shown).encode()


def _utf16(text: str) -> str:
    return text.encode("utf-16-be").hex().upper()


def _font_objects(codes: Mapping[str, int], font: _Font) -> list[bytes]:
    """Return objects 3 to 8: the font with a code of its own for each character of the text."""
    glyphs = b"".join(_glyph(char, font).to_bytes(2, "big") for char in codes)
    tab = f" /W [{codes[_TAB_CHAR]} [{_TAB * _ADVANCE}]]" if _TAB_CHAR in codes else ""
    name = "/AAAAAA+DejaVuSansMono"
    shown = (
        f"<< /Type /Font /Subtype /Type0 /BaseFont {name} /Encoding /Identity-H"
        " /DescendantFonts [4 0 R] /ToUnicode 5 0 R >>"
    )
    descendant = (
        f"<< /Type /Font /Subtype /CIDFontType2 /BaseFont {name} /CIDSystemInfo << /Registry"
        " (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor 6 0 R"
        f" /DW {_ADVANCE}{tab} /CIDToGIDMap 7 0 R >>"
    )
    descriptor = (
        f"<< /Type /FontDescriptor /FontName {name} /Flags 5 /FontBBox [-558 -375 718 1042]"
        " /ItalicAngle 0 /Ascent 928 /Descent -236 /CapHeight 729 /StemV 80 /FontFile2 8 0 R >>"
    )
    return [
        shown.encode(),
        descendant.encode(),
        _stream(_to_unicode(codes)),
        descriptor.encode(),
        _stream(b"\0\0" + glyphs),
        _stream(font.program, f" /Length1 {len(font.program)}"),
    ]


def _glyph(char: str, font: _Font) -> int:
    """Return the glyph of a character: a blank for what shows nothing, and else a box for what the
    font lacks.
    """
    if char not in font.glyphs and unicodedata.category(char)[0] in "CZ":
        return font.glyphs[" "]
    return font.glyphs.get(char, 0)


def _to_unicode(codes: Mapping[str, int]) -> bytes:
    pairs = [f"<{code:04X}> <{_utf16(char)}>" for char, code in codes.items()]
    blocks = [pairs[start : start + 100] for start in range(0, len(pairs), 100)]
    maps = [f"{len(block)} beginbfchar\n" + "\n".join(block) + "\nendbfchar" for block in blocks]
    return "\n".join(
        [
            "/CIDInit /ProcSet findresource begin 12 dict begin begincmap",
            "/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def",
            "/CMapName /Adobe-Identity-UCS def /CMapType 2 def",
            "1 begincodespacerange <0000> <FFFF> endcodespacerange",
            *maps,
            "endcmap CMapName currentdict /CMap defineresource pop end end",
        ]
    ).encode()


def _stream(content: bytes, more: str = "") -> bytes:
    packed = zlib.compress(content, 9)
    head = f"<< /Length {len(packed)} /Filter /FlateDecode{more} >>\nstream\n"
    return head.encode() + packed + b"\nendstream"


def _assemble(objects: Iterable[bytes]) -> bytes:
    """Return the file of objects 1, 2, …, with the producer as its only property."""
    out = io.BytesIO()
    out.write(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, content in enumerate([*objects, f"<< /Producer ({PRODUCER}) >>".encode()], start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, content))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1))
    for place in places:
        out.write(b"%010d 00000 n \n" % place)
    out.write(
        b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (len(places) + 1, len(places), start)
    )
    return out.getvalue()
