"""The text of WordprocessingML: paragraphs, tables, text boxes and what is hidden in attributes."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from deid_assets.extending.formats import RecordError
from deid_document_formats.revisions import Change, Runs, versions

_CHARACTERS = {
    "tab": "\t",
    "ptab": "\t",
    "br": "\n",
    "cr": "\n",
    "noBreakHyphen": "\u2011",
}
_CHANGES: dict[str, Change] = {
    "ins": "inserted",
    "moveTo": "inserted",
    "del": "deleted",
    "moveFrom": "deleted",
    "delText": "deleted",
}
_HIDDEN_ATTRIBUTES = {
    "docPr": ("descr", "title"),
    "cNvPr": ("descr", "title"),
    "shape": ("alt",),
    "textpath": ("string",),
    "hyperlink": ("tooltip", "docLocation"),
    "fldSimple": ("instr",),
    "docVar": ("val",),
    "listEntry": ("val",),
    "default": ("val",),
    "tblCaption": ("val",),
    "tblDescription": ("val",),
}


def local_name(element: Element) -> str:
    """Return the name without its namespace.

    Transitional and strict OOXML differ in nothing else.
    """
    return element.tag.rpartition("}")[2]


def blocks_of(parent: Element) -> list[str]:
    """Return the lines of a body, cell, header, note, comment or text box.

    Paragraphs, and rows of tables.

    Cells of a row are joined by tabs; a cell of several paragraphs has their line breaks.

    Raises:
        RecordError: Another document is inserted, whose text is not read.
        RecursionError: Elements are nested too deeply.
    """
    lines: list[str] = []
    for child in parent:
        name = local_name(child)
        if name == "p":
            lines += _paragraph(child)
        elif name == "tr":
            lines.append("\t".join("\n".join(blocks_of(cell)) for cell in _cells(child)))
        elif name == "altChunk":
            raise RecordError(
                "malformed", "inserts another document that is not read; open it and save it again"
            )
        elif name == "AlternateContent":
            lines += _alternatives(child)
        elif not name.endswith("Pr"):
            lines += blocks_of(child)
    return lines


def _cells(parent: Element) -> Iterator[Element]:
    """Return the cells of a row, those in content controls and tracked changes included."""
    for child in parent:
        if local_name(child) == "tc":
            yield child
        elif not local_name(child).endswith("Pr"):
            yield from _cells(child)


def _paragraph(paragraph: Element) -> list[str]:
    runs: Runs = []
    boxes: list[str] = []
    _collect(paragraph, "none", runs, boxes)
    return versions(runs) + boxes


def _collect(element: Element, change: Change, runs: Runs, boxes: list[str]) -> None:
    """Add the runs of text below an element, and the lines of text boxes apart."""
    for child in element:
        name = local_name(child)
        if name in ("t", "delText"):
            runs.append((child.text or "", "deleted" if name == "delText" else change))
        elif name in _CHARACTERS:
            runs.append((_CHARACTERS[name], change))
        elif name == "sym":
            runs.append((_symbol(child), change))
        elif name == "txbxContent":
            boxes += blocks_of(child)
        elif name == "AlternateContent":
            _collect_alternatives(child, change, runs, boxes)
        elif not name.endswith("Pr"):
            inner = change if change == "deleted" else _CHANGES.get(name, change)
            _collect(child, inner, runs, boxes)


def _collect_alternatives(element: Element, change: Change, runs: Runs, boxes: list[str]) -> None:
    """Return the alternatives of one content.

    The first that has text, and the others only where they differ.
    """
    seen: list[str] = []
    for branch in element:
        inner: Runs = []
        lines: list[str] = []
        _collect(branch, change, inner, lines)
        shown = "".join("".join(text for text, _ in inner).split()) + "".join(
            "".join(lines).split()
        )
        if shown and shown not in seen:
            seen.append(shown)
            runs += inner
            boxes += lines


def _alternatives(element: Element) -> list[str]:
    found: list[list[str]] = []
    for branch in element:
        lines = blocks_of(branch)
        if any(map(str.strip, lines)) and lines not in found:
            found.append(lines)
    return [line for lines in found for line in lines]


def _symbol(element: Element) -> str:
    code = next((value for name, value in element.attrib.items() if name.endswith("char")), "")
    try:
        return chr(int(code, 16))
    except (ValueError, OverflowError):
        raise RecordError("malformed", "has a symbol without a number; save it again") from None


def find_hidden(root: Element) -> Iterator[str]:
    """Yield field codes, descriptions and targets of links, in the order of the part."""
    code: list[str] = []
    for element in root.iter():
        name = local_name(element)
        if name in ("instrText", "delInstrText"):
            code.append(element.text or "")
        elif name == "fldChar" and code:
            yield "".join(code)
            code = []
        for attribute, value in element.attrib.items():
            key = attribute.rpartition("}")[2]
            if key in _HIDDEN_ATTRIBUTES.get(name, ()):
                yield value
        if name == "Relationship" and element.get("TargetMode") == "External":
            yield element.get("Target", "")
    if code:
        yield "".join(code)
