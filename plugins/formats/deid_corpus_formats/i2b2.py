"""XML of i2b2 2014 track 1 (Stubbs and Uzuner 2015).

One file per note, ``TEXT`` and stand-off ``TAGS``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from deid_assets.extending import InputError, Span, label_map, profile
from deid_assets.extending.formats import (
    MAX_BYTES_PER_CHAR,
    SLACK_BYTES,
    Annotated,
    Annotation,
    Fault,
    ParsedNote,
    Problem,
    ReadOptions,
    RecordError,
    Source,
    WriteOptions,
    atomic_folder,
    read_bytes,
    write_member,
)

_GROUPS, _FINE = profile("i2b2"), profile("i2b2_fine")


_PATIENT = re.compile(r"(?:.*/)?([0-9]{3})-[0-9]{2}")
"""Id of a note as the corpus names its files: the patient, and the number of the record."""
_OFFSET = re.compile(r"-?[0-9]{1,15}")
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0, section 2.2, does not allow."""
_ATTRIBUTE = {ord(char): f"&#{ord(char)};" for char in '<>&"\t\n\r'}


def read(source: Source, options: ReadOptions) -> Iterator[ParsedNote | Fault]:
    """Yield the file as one note.

    The label of a tag is its ``TYPE``, or its name where it has none.

    A file that is named as in the corpus, ``PATIENT-RECORD.xml`` of three and two digits, says
    whose note it is.
    """
    note_id = source.note_id
    max_bytes = options.max_note_chars * MAX_BYTES_PER_CHAR + SLACK_BYTES
    blob = read_bytes(source, max_bytes=max_bytes, note_id=note_id)
    if isinstance(blob, Fault):
        yield blob
        return
    try:
        root = fromstring(blob, forbid_dtd=True)
        yield _parse_note(root, source, options)
    except DefusedXmlException:
        reason = "declares a document type or an entity; remove the DOCTYPE"
        yield source.fault("unsafe-xml", reason, note_id=note_id)
    except ParseError as error:
        yield _report_unparsed(blob, source, line=error.position[0])
    except (LookupError, ValueError) as error:
        reason = (
            error.reason
            if isinstance(error, RecordError)
            else "declares an unknown encoding; convert it to UTF-8"
        )
        kind = error.kind if isinstance(error, RecordError) else "undecodable"
        yield source.fault(kind, reason, note_id=note_id)


def _report_unparsed(blob: bytes, source: Source, *, line: int) -> Fault:
    try:
        blob.decode()
    except UnicodeDecodeError as error:
        reason = f"byte {error.start} is not utf-8; convert the file or declare its encoding"
        return source.fault("undecodable", reason, line=line, note_id=source.note_id)
    reason = "is not well-formed XML; export the file again"
    return source.fault("malformed", reason, line=line, note_id=source.note_id)


def _parse_note(root: Element, source: Source, options: ReadOptions) -> ParsedNote:
    texts = root.findall("TEXT")
    tags = root.findall("TAGS")
    if len(texts) != 1 or len(texts[0]) or len(tags) > 1:
        raise RecordError(
            "missing-field",
            "has not one TEXT without elements and at most one TAGS; export it again",
        )
    text = texts[0].text or ""
    named = _PATIENT.fullmatch(source.note_id)
    patient = named[1] if named else None
    if not tags or not options.annotations:
        return ParsedNote(source.name, source.note_id, text, patient_id=patient)
    annotations: list[Annotation] = []
    problems: list[Problem] = []
    for number, tag in enumerate(tags[0], start=1):
        try:
            annotations.append(_annotation(tag, number))
        except RecordError as error:
            problems.append(Problem(error.kind, error.reason))
    return ParsedNote(
        source.name,
        source.note_id,
        text,
        tuple(annotations),
        tuple(problems),
        patient_id=patient,
        fold_blanks=True,
    )


def _annotation(tag: Element, number: int) -> Annotation:
    start, end = tag.get("start"), tag.get("end")
    if start is None or end is None:
        raise RecordError("missing-field", f"tag {number}: no start or no end; every tag has both")
    if not _OFFSET.fullmatch(start) or not _OFFSET.fullmatch(end):
        raise RecordError("offset", f"tag {number}: start or end is no whole number; fix it")
    return Annotation(((int(start), int(end)),), tag.get("TYPE") or tag.tag, tag.get("text"))


def write(path: Path, notes: Iterable[Annotated], options: WriteOptions) -> None:
    """Write one file per note; neither score nor source is held.

    Raises:
        InputError: A text has a character that XML forbids, or a span a category that i2b2 2014
            lacks.
    """
    del options
    with atomic_folder(path) as folder:
        for annotated in notes:
            write_member(folder, annotated.note.note_id, ".xml", _document(annotated))


def _document(annotated: Annotated) -> str:
    note = annotated.note
    if match := _FORBIDDEN.search(note.text):
        raise InputError(
            f"note {note.note_id!r}: U+{ord(match[0]):04X} at offset {match.start()} cannot be in"
            " XML; write jsonl, csv or parquet"
        )
    lines = [
        '<?xml version="1.0" encoding="UTF-8" ?>',
        "<deIdi2b2>",
        f"<TEXT>{_character_data(note.text)}</TEXT>",
    ]
    if annotated.spans is not None:
        tags = [_tag(number, span, annotated) for number, span in enumerate(annotated.spans)]
        lines += ["<TAGS>", *tags, "</TAGS>"]
    return "\n".join([*lines, "</deIdi2b2>", ""])


def _character_data(text: str) -> str:
    # A parser turns a carriage return into a line feed unless it is a reference, which CDATA cannot
    # hold.
    pieces = (piece.replace("]]>", "]]]]><![CDATA[>") for piece in text.split("\r"))
    return "&#13;".join(f"<![CDATA[{piece}]]>" if piece else "" for piece in pieces)


def _tag(number: int, span: Span, annotated: Annotated) -> str:
    native = label_map("i2b2").labels.get(span.native_label) == span.label
    fine = span.native_label if native else _FINE.label_of(span.label)
    group = _GROUPS.label_of(span.label)
    if fine is None or group is None:
        raise InputError(
            f"note {annotated.note.note_id!r}: span [{span.start}, {span.end}) is"
            f" {span.label.value}, which i2b2 2014 has no label for; write another format, or leave"
            " the category out"
        )
    covered = annotated.note.text[span.start : span.end].translate(_ATTRIBUTE)
    return (
        f'<{group} id="P{number}" start="{span.start}" end="{span.end}" text="{covered}"'
        f' TYPE="{fine}" comment="" />'
    )
