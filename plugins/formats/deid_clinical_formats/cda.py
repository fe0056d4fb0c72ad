"""CDA R2: the narrative of a ``ClinicalDocument`` as one note.

For each note, a minimal document is written. The text is what a reader sees (CDA R2, section
4.3.5): titles and narrative blocks of the sections in their order. A title, a paragraph, a list
item and a table row end a line, cells are joined by a tab, ``br`` is a line break, and runs of
white space are one blank. Coded entries and the header are no part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5
from xml.etree.ElementTree import Element

from deid_assets import Note
from deid_assets.extending import InputError
from deid_assets.extending.formats import (
    Annotated,
    Fault,
    ParsedNote,
    ReadOptions,
    RecordError,
    Source,
    WriteOptions,
    atomic_folder,
    write_member,
)
from deid_clinical_formats.cda_documents import find_elements, local, parse, patient_id
from deid_clinical_formats.charsets import from_base64, to_text

_VERBATIM = "xVerbatim"
"""Style code of the writer: white space means what it says.

Codes of one's own begin with x (CDA R2, 4.3.5.11).
"""
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_LINES = frozenset(
    {
        "paragraph",
        "list",
        "item",
        "table",
        "thead",
        "tbody",
        "tfoot",
        "tr",
        "caption",
        "title",
        "text",
    }
)
"""Narrative elements that stand on lines of their own."""
_CELLS = frozenset({"td", "th"})
_ABOUT = frozenset({"realmCode", "typeId", "templateId", "confidentialityCode", "languageCode"})
_OF_SECTIONS = _ABOUT | frozenset(
    {"id", "code", "title", "text", "subject", "author", "informant", "entry", "component"}
)
"""What is in a section: of it titles, texts and components are read."""
_BLANKS = re.compile(r"[ \t\r\n]+")
_LANGUAGE = re.compile(r"([A-Za-z]{2})(?:-.*)?", re.DOTALL)
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0, section 2.2, does not allow."""
_ROOT = uuid5(NAMESPACE_URL, "urn:deid-assets:patient-id")


def read(source: Source, options: ReadOptions) -> Iterator[ParsedNote | Fault]:
    """Yield the document as one note, with the file's name as its id."""
    root = parse(source, options)
    if isinstance(root, Fault):
        yield root
        return
    try:
        text = _body(root, options)
    except RecordError as error:
        yield source.fault(error.kind, error.reason, note_id=source.note_id)
        return
    codes = (
        _LANGUAGE.fullmatch(code.get("code", "")) for code in find_elements(root, "languageCode")
    )
    lang = next((match[1].lower() for match in codes if match), None)
    yield ParsedNote(source.name, source.note_id, text, patient_id=patient_id(root), lang=lang)


def _body(root: Element, options: ReadOptions) -> str:
    bodies = list(find_elements(root, "component", "structuredBody"))
    others = list(find_elements(root, "component", "nonXMLBody", "text"))
    if len(bodies) + len(others) != 1:
        raise RecordError(
            "missing-field", "has not one structuredBody or nonXMLBody with text; export it again"
        )
    if others:
        return _read_unstructured(others[0], options)
    _check_parts(bodies[0], _ABOUT | {"id", "code", "component"})
    lines = _Lines()
    for component in find_elements(bodies[0], "component"):
        _take_section(component, lines)
    return lines.text()


def _read_unstructured(text: Element, options: ReadOptions) -> str:
    media = text.get("mediaType", "text/plain").lower()
    if media != "text/plain" or len(text):
        raise RecordError(
            "malformed", "its nonXMLBody is no text/plain inside the file; export it as narrative"
        )
    content, how = text.text or "", text.get("representation", "TXT").strip().upper()
    if how not in ("TXT", "B64") or text.get("compression"):
        raise RecordError(
            "malformed", "its nonXMLBody is neither TXT nor B64, or compressed; export it as text"
        )
    if how == "B64":
        return to_text(
            from_base64(content, what="the nonXMLBody"), options.encoding, what="the nonXMLBody"
        )
    return content


class _Lines:
    """Collects what is seen, line by line."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._is_open = False  # something is on the line
        self._folds = True  # a blank here would follow a blank, or begin a line or a cell
        self._is_ended = False  # the last line break ends a block

    def add(self, text: str, *, verbatim: bool) -> None:
        """Add text to the line; where it is not verbatim, its white space is folded."""
        if not verbatim:
            text = _BLANKS.sub(" ", text)
            text = text.removeprefix(" ") if self._folds else text
        if text:
            self._parts.append(text)
            self._is_open, self._folds, self._is_ended = (
                True,
                not verbatim and text.endswith(" "),
                False,
            )

    def feed(self, mark: str = "\n") -> None:
        """Add a line break, or the mark between two cells; a folded blank before it goes."""
        if self._is_open and self._folds:
            self._parts[-1] = self._parts[-1].removesuffix(" ")
        self._parts.append(mark)
        self._is_open, self._folds, self._is_ended = mark != "\n", True, False

    def end(self) -> None:
        """End the line of a block, if anything is on it."""
        if self._is_open:
            self.feed()
            self._is_ended = True

    def text(self) -> str:
        """Return all lines; no line break follows the last block."""
        self.end()
        return "".join(self._parts[:-1] if self._is_ended else self._parts)


def _check_parts(element: Element, known: frozenset[str]) -> None:
    """Refuse text between the parts of an element, and in a part that it cannot have."""
    strange = [part for part in element if local(part) not in known]
    texts = [element.text or "", *(part.tail or "" for part in element)]
    texts += [text for part in strange for text in part.itertext()]
    if any(not text.isspace() for text in texts if text):
        raise RecordError(
            "malformed", "has text in an element that CDA R2 does not have there; export it again"
        )


def _take_section(component: Element, lines: _Lines) -> None:
    _check_parts(component, _ABOUT | {"section"})
    for section in find_elements(component, "section"):
        _check_parts(section, _OF_SECTIONS)
        for part in section:
            if local(part) in ("title", "text"):
                _take(part, lines, verbatim=False)
            elif local(part) == "component":
                _take_section(part, lines)


def _take(element: Element, lines: _Lines, *, verbatim: bool) -> None:
    name = local(element)
    verbatim = (
        verbatim
        or _VERBATIM in element.get("styleCode", "").split()
        or element.get(_SPACE) == "preserve"
    )
    if name == "br":
        lines.feed()
        return
    if name in _LINES:
        lines.end()
    lines.add(element.text or "", verbatim=verbatim)
    was_cell = False
    for inner in element:
        is_cell = local(inner) in _CELLS
        if is_cell and was_cell:
            lines.feed("\t")
        _take(inner, lines, verbatim=verbatim)
        was_cell = was_cell or is_cell
        lines.add(inner.tail or "", verbatim=verbatim)
    if name in _LINES:
        lines.end()


def write(path: Path, notes: Iterable[Annotated], options: WriteOptions) -> None:
    """Write one file per note.

    A header that masks all but language and patient where given, and one section.

    Raises:
        InputError: A note has spans, which CDA has no place for, or a character that XML forbids.
    """
    del options
    with atomic_folder(path) as folder:
        for annotated in notes:
            if annotated.spans is not None:
                raise InputError(
                    f"note {annotated.note.note_id!r}: CDA holds no spans; write another format, or"
                    " leave them out"
                )
            write_member(folder, annotated.note.note_id, ".xml", _document(annotated.note))


def _document(note: Note) -> str:
    masked = 'nullFlavor="MSK"'  # known and not told, for privacy (HL7 version 3, NullFlavor)
    patient = f"<id {masked}/>"
    if note.patient_id is not None:
        patient = f'<id root="{_ROOT}" extension="{_escape(note.patient_id, note)}"/>'
    lang = f'<languageCode code="{_escape(note.lang, note)}"/>' if note.lang else ""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<ClinicalDocument xmlns="urn:hl7-org:v3">\n'
        '<typeId root="2.16.840.1.113883.1.3" extension="POCD_HD000040"/>\n'
        f"<id {masked}/>\n<code {masked}/>\n<effectiveTime {masked}/>\n<confidentialityCode"
        f" {masked}/>\n{lang}\n"
        f"<recordTarget><patientRole>{patient}</patientRole></recordTarget>\n"
        f"<author><time {masked}/><assignedAuthor><id {masked}/></assignedAuthor></author>\n"
        "<custodian><assignedCustodian><representedCustodianOrganization>"
        f"<id {masked}/></representedCustodianOrganization></assignedCustodian></custodian>\n"
        f"<component><structuredBody><component><section>\n{_narrative(note)}\n"
        "</section></component></structuredBody></component>\n</ClinicalDocument>\n"
    )


def _narrative(note: Note) -> str:
    lines = _escape(note.text, note).replace("&#10;", "<br/>")
    return f'<text><content styleCode="{_VERBATIM}">{lines}</content></text>'


def _escape(text: str, note: Note) -> str:
    if match := _FORBIDDEN.search(text):
        raise InputError(
            f"note {note.note_id!r}: U+{ord(match[0]):04X} at offset {match.start()} of a text"
            " cannot be in XML; write jsonl, csv or parquet"
        )
    return text.translate({ord(char): f"&#{ord(char)};" for char in '<>&"\t\n\r'})
