"""HL7 v2: the text of ``ORU`` and ``MDM`` messages, and a minimal ``MDM^T02`` for each note.

A note is what the observations of one report say: OBX-5 of the types TX, FT and ST behind one OBR
or TXA segment, one line each. Observations that are no text, such as numbers and codes, are no part
of it; a document that lies in an observation (ED, RP) is a fault. Messages of other types hold no
notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

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
    atomic_file,
)
from deid_clinical_formats.hl7_messages import Message, Segment, messages

_TEXT = frozenset({"TX", "FT", "ST"})
_NOT_READ = {"ED": "a document (ED)", "RP": "a document (RP)", "CF": "a text with its code (CF)"}
_NO_TEXT = frozenset(
    re.findall(
        r"\w+",
        """
        AD CD CE CK CN CNE CP CWE CX DR DT DTM EI ID IS MA MO NA NM PN SN TM TN TS XAD XCN
        XON XPN XTN
        """,
    )
)
"""Types of observations that are passed over: the others of table 0125 of HL7 v2.7,
and CD, CE, EI and TS of other versions.
"""
_WITH_NOTES = frozenset({"ORU", "MDM"})
_WITHOUT_NOTES = frozenset(
    re.findall(
        r"\w+",
        """
        ACK ADR ADT ARD BAR BPS BRP BRT BTS CCF CCI CCM CCQ CCR CCU CNQ CQU CRM CSU DBC DBU
        DEL DEO DER DFT DOC DPR DRC DSR EAC EAN EAR EDR EHC EQQ ERP ERQ ESR ESU INR INU LSR
        LSU MCF MFD MFK MFN MFQ MFR NMD NMQ NMR OMB OMD OMG OMI OML OMN OMP OMQ OMS OPL OPR
        OPU ORA ORB ORD ORF ORG ORI ORL ORM ORN ORP ORR ORS ORX OSM OSQ OSR OSU OUL PEX PGL
        PIN PMU PPG PPP PPR PPT PPV PRR PTR QBP QCK QCN QRY QSB QSX QVR RAR RAS RCI RCL RDE
        RDR RDS RDY REF RER RGR RGV ROC ROD ROR RPA RPI RPL RPR RQA RQC RQI RQP RQQ RRA RRD
        RRE RRG RRI RSP RTB SCN SDN SDR SIU SLN SLR SMD SPQ SQM SQR SRM SRR SSR SSU STC STI
        SUR TBR TCR TCU UDM VQQ VXQ VXR VXU VXX
        """,
    )
)
"""Types of messages that are passed over: the others of table 0076, HL7 v2.8.2."""
_ESCAPED = re.compile(r"[|^~\\&\0-\x1f\x7f\x85\u2028\u2029]")
_NULL = '""'
_NEVER = "19700101"
"""Date in place of the time of writing and of the note's.

The time of writing would make every run differ, and the note's identifies.
"""
_LETTERS = {"|": "F", "^": "S", "~": "R", "\\": "E", "&": "T"}


@dataclass(slots=True)
class _Report:
    """A document that an OBR or TXA segment begins."""

    line: int
    patient_id: str | None = field(repr=False)
    lines: list[str] = field(default_factory=list, repr=False)


def read(source: Source, options: ReadOptions) -> Iterator[ParsedNote | Fault]:
    """Yield a parsed note per report, or one fault for the message.

    The fault is for a message whose reports cannot all be read.
    """
    for message in messages(source, options):
        if isinstance(message, Fault):
            yield message
            continue
        header = message.segments[0]
        note_id: str | None = None
        try:
            note_id = message.decode(header.field(10))
            yield from _parse_notes(message, note_id, source)
        except RecordError as error:
            yield source.fault(error.kind, error.reason, line=message.line, note_id=note_id)


def _parse_notes(message: Message, note_id: str, source: Source) -> list[ParsedNote]:
    header = message.segments[0]
    kind = message.component(header.field(9), 1).strip().upper()
    if kind in _WITHOUT_NOTES:
        return []
    if kind not in _WITH_NOTES:
        reason = "MSH-9 names no type of message of HL7 table 0076; export reports as ORU or MDM"
        raise RecordError("malformed", reason)
    reports = [report for report in _reports(message) if report.lines]
    if reports and not note_id:
        raise RecordError("missing-field", "no control id in MSH-10; give every message one")
    language = message.component(header.field(19), 1).lower()
    lang = language if re.fullmatch("[a-z]{2}", language) else None
    ids = [note_id]
    if len(reports) != 1:
        ids = [f"{note_id}-{number}" for number in range(1, len(reports) + 1)]
    return [
        ParsedNote(
            source.name,
            each,
            "\n".join(report.lines),
            line=report.line,
            patient_id=report.patient_id,
            lang=lang,
        )
        for each, report in zip(ids, reports, strict=True)
    ]


def _reports(message: Message) -> list[_Report]:
    patient_id: str | None = None
    reports = [_Report(message.line, None)]
    for segment in message.segments:
        if segment.name == "PID":
            patient_id = message.component(segment.field(3), 1) or None
        if segment.name in ("PID", "OBR", "TXA"):
            reports.append(_Report(segment.line, patient_id))
        elif segment.name == "OBX":
            reports[-1].lines += _lines(message, segment)
    return reports


def _lines(message: Message, segment: Segment) -> list[str]:
    kind, value = message.decode(segment.field(2)).strip().upper(), segment.field(5)
    if kind in _TEXT:
        return [message.decode(part) for part in value.split(message.marks.repetitions)]
    if value and kind not in _NO_TEXT:
        unknown = "a value of an unknown type" if kind else "a value without a type"
        reason = (
            f"OBX at line {segment.line} holds {_NOT_READ.get(kind, unknown)}, which is not read;"
            " export its text as TX"
        )
        raise RecordError("malformed", reason)
    return []


def write(path: Path, notes: Iterable[Annotated], options: WriteOptions) -> None:
    """Write one ``MDM^T02`` message per note, in UTF-8.

    Id, language, patient where given, and one OBX per line.

    Raises:
        InputError: A note has spans, which HL7 v2 has no place for.
    """
    del options
    with atomic_file(path) as file:
        for annotated in notes:
            if annotated.spans is not None:
                raise InputError(
                    f"note {annotated.note.note_id!r}: HL7 v2 holds no spans; write another format,"
                    " or leave them out"
                )
            file.write("".join(f"{segment}\r" for segment in _segments(annotated.note)).encode())


def _segments(note: Note) -> Iterator[str]:
    """Yield the segments, with something harmless in every field that version 2.8 requires."""
    note_id, lang = escape_text(note.note_id), escape_text(note.lang or "")
    # table 0203
    patient_id = (
        f"{_NULL}^^^^ANON" if note.patient_id is None else f"{escape_text(note.patient_id)}^^^^PI"
    )
    yield (
        rf"MSH|^~\&|deid-assets||||{_NEVER}||MDM^T02^MDM_T02|{note_id}|P|2.8||||||UNICODE"
        rf" UTF-8|{lang}"
    )
    yield f"EVN||{_NEVER}"
    yield f"PID|1||{patient_id}||^^^^^^S"  # a name withheld for anonymity (table 0200)
    yield "PV1|1|N"  # no class of encounter applies (table 0004)
    yield f"TXA|1|^Text|TX|||||||||{note_id}|||||DO"  # text, documented (tables 0191 and 0271)
    for number, line in enumerate(note.text.split("\n"), start=1):
        yield f"OBX|{number}|TX|^Text|1|{escape_text(line)}||||||F"  # final (table 0085)


def escape_text(text: str) -> str:
    """Return text with separators, control characters and line breaks as escape sequences.

    Two quotes alone are the null value of HL7, so that the first of them is escaped, too.
    """
    if text == _NULL:
        return '\\X22\\"'
    return _ESCAPED.sub(_sequence, text)


def _sequence(match: re.Match[str]) -> str:
    letter = _LETTERS.get(match[0]) or f"X{match[0].encode().hex().upper()}"
    return f"\\{letter}\\"
