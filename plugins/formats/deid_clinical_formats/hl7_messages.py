"""Messages of HL7 v2: found in a stream, decoded, and cut into segments and fields, without a loss.

The libraries of the field strip blanks from segments and log what they do not understand, so none
is used here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from deid_assets.extending.formats import (
    MAX_BYTES_PER_CHAR,
    SLACK_BYTES,
    Fault,
    ReadOptions,
    RecordError,
    Source,
)
from deid_clinical_formats.charsets import to_text

_CHUNK_BYTES = 1 << 20
_START = re.compile(rb"(?<=[\r\n\x0b])MSH(?=[^\w\s])")
_LOOK_BEHIND = 4
"""Bytes before a start and of it, which may be cut by a chunk: a line end and MSH."""
_FRAME = b"\x0b\x1c"
"""Around a message in the minimal lower layer protocol."""
_BREAK = re.compile(rb"\r\n?|\n")
_SEGMENT = re.compile(r"[A-Z][A-Z0-9]{2}")
_HEADER = re.compile(rb"(?:\A|[\r\n])[FB]HS[^\w ]")
_TRAILER = re.compile(rb"[\r\n][FB]TS(?:[^\w ]|\Z)")
_BATCH = ("FHS", "BHS", "BTS", "FTS")
_CHARSETS = {
    **{f"8859/{part}": f"iso8859-{part}" for part in (*range(1, 10), 15)},
    "UNICODE": "utf-8",
    "UNICODE UTF-8": "utf-8",
    "GB 18030-2000": "gb18030",
    "KS X 1001": "euc_kr",
    "BIG-5": "big5",
}
"""Table 0211; other names are those of Python."""
_ASCII = frozenset({"", "ASCII", "ISO IR6"})


@dataclass(frozen=True, slots=True)
class Marks:
    """The separators that a message declares; ``escape`` is empty where it has none."""

    fields: str
    components: str
    repetitions: str
    escape: str
    subcomponents: str


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment, still escaped.

    Args:
        line: Where it stands in the file, from 1.
        fields: ``fields[n]`` is field n; ``fields[0]`` is the name.
    """

    line: int
    fields: tuple[str, ...] = field(repr=False)

    @property
    def name(self) -> str:
        """Name of the segment, three letters."""
        return self.fields[0]

    def field(self, number: int) -> str:
        """Return a field, empty where the segment ends before it.

        The null value ``""`` is empty.
        """
        found = self.fields[number] if number < len(self.fields) else ""
        return "" if found == '""' else found


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Args:
        line: Where it begins, from 1.
        marks: Its separators.
        charset: Python's name of its character set.
        segments: The first is ``MSH``.
    """

    line: int
    marks: Marks
    charset: str
    segments: tuple[Segment, ...] = field(repr=False)

    def component(self, value: str, number: int) -> str:
        """Return a component, from 1, of the first repetition of a field.

        Decoded, empty where there is none.
        """
        components = value.split(self.marks.repetitions, 1)[0].split(self.marks.components, number)
        return self.subcomponent(components[number - 1]) if number <= len(components) else ""

    def subcomponent(self, component: str) -> str:
        """Return the first part of a component, decoded; the null value is empty."""
        first = component.split(self.marks.subcomponents, 1)[0]
        return "" if first == '""' else self.decode(first)

    def decode(self, value: str) -> str:
        """Return a value with its escape sequences replaced by what they stand for.

        Sequences that are not in the standard (HL7 v2.9, section 2.7), and those of a site, stay as
        they are.

        Raises:
            RecordError: Bytes in hexadecimal are not in the character set.
        """
        if not self.marks.escape or self.marks.escape not in value:
            return value
        return _sequence(self.marks.escape).sub(self._decode, value)

    def _decode(self, match: re.Match[str]) -> str:
        if match["hex"]:
            return to_text(
                bytes.fromhex(re.sub("[^0-9A-Fa-f]", "", match["hex"])),
                self.charset,
                what="a hex escape",
            )
        if match["mark"]:
            return _delimiters(self.marks).get(match["mark"], "")
        count = min(abs(int(match["count"] or 1)), 99)
        return {"br": "\n", "ce": "\n", "sp": "\n" * count, "sk": " " * count}.get(
            match["command"].lower(), ""
        )


@lru_cache
def _delimiters(marks: Marks) -> dict[str, str]:
    delimiters = (
        marks.fields,
        marks.components,
        marks.subcomponents,
        marks.repetitions,
        marks.escape,
        "#",
    )
    return dict(zip("FSTREP", delimiters, strict=True))


@lru_cache
def _sequence(escape: str) -> re.Pattern[str]:
    mark = re.escape(escape)
    commands = r"\.(?P<command>(?i:br|ce|sp|sk|in|ti|fi|nf))(?P<count>[+-]?[0-9]{0,4})"
    return re.compile(
        rf"(?P<hex>(?:{mark}X(?:[0-9A-Fa-f]{{2}})++{mark})++)|{mark}(?:(?P<mark>[FSTREPHN])|{commands}){mark}"
    )


def messages(source: Source, options: ReadOptions) -> Iterator[Message | Fault]:
    """Yield every message, or why it is not read.

    Segments of files and batches, and MLLP frames, are no content.

    ``options.encoding`` is that of messages that declare none, or ASCII: what lies beyond ASCII is
    in some other.
    """
    max_bytes = options.max_note_chars * MAX_BYTES_PER_CHAR + SLACK_BYTES
    line, opened, closed, is_first = 1, 0, 0, True
    for blob, breaks in _pieces(source, max_bytes):
        if blob is None:
            yield source.fault(
                "too-large",
                f"message longer than {max_bytes} bytes; raise --read max_note_chars",
                line=line,
            )
        else:
            content = blob.removeprefix(b"\xef\xbb\xbf") if is_first else blob
            opened += _count(_HEADER, content, (b"FHS", b"BHS"))
            closed += _count(_TRAILER, content, (b"FTS", b"BTS"))
            try:
                message = _message(content.strip(_FRAME + b"\r\n"), line, options)
                if message is not None:
                    yield message
            except RecordError as error:
                yield source.fault(error.kind, error.reason, line=line)
        line += breaks
        is_first = False
    if opened != closed:
        yield source.fault(
            "malformed", f"{opened} file or batch headers but {closed} trailers; export it again"
        )


def _pieces(source: Source, max_bytes: int) -> Iterator[tuple[bytes | None, int]]:
    """Yield what stands before the first message, then each message.

    With each comes the number of its line breaks.
    """
    kept = bytearray()
    breaks = 0
    is_dropped = False
    with source.path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            searched = max(0, len(kept) - _LOOK_BEHIND)
            kept += chunk
            while start := _START.search(kept, searched):
                piece = bytes(kept[: start.start()])
                yield (
                    None if is_dropped or len(piece) > max_bytes else piece,
                    breaks + _breaks(piece),
                )
                del kept[: start.start()]
                breaks, searched, is_dropped = 0, 1, False
            if len(kept) > max_bytes:
                tail = kept[-_LOOK_BEHIND:]
                breaks += _breaks(bytes(kept[:-_LOOK_BEHIND]))
                kept, is_dropped = tail, True
    yield None if is_dropped else bytes(kept), breaks


def _breaks(piece: bytes) -> int:
    return piece.count(b"\r") + piece.count(b"\n") - piece.count(b"\r\n")


def _count(pattern: re.Pattern[bytes], content: bytes, names: tuple[bytes, ...]) -> int:
    return len(pattern.findall(content)) if any(name in content for name in names) else 0


def _message(blob: bytes, line: int, options: ReadOptions) -> Message | None:
    if not blob.startswith(b"MSH"):
        if all(_is_batch(row) for row in _BREAK.split(blob)):
            return None
        raise RecordError(
            "malformed", "text stands before the first MSH segment; export HL7 v2 messages"
        )
    marks = _marks(blob)
    header = _BREAK.split(blob, maxsplit=1)[0].split(marks.fields.encode())
    # MSH-18, as MSH-1 parts the fields
    declared = b"".join(header[17:18]).split(marks.repetitions.encode())[0]
    name = declared.decode("ascii", errors="replace").strip()
    charset = options.encoding if name.upper() in _ASCII else _CHARSETS.get(name.upper(), name)
    text = to_text(blob, charset, what="the message")
    if not text.startswith(f"MSH{marks.fields}"):
        raise RecordError(
            "undecodable",
            "the character set of MSH-18 is not that of the message; export it as UTF-8",
        )
    return Message(line, marks, charset, tuple(_segments(text, marks, line)))


def _is_batch(row: bytes) -> bool:
    return not row.strip(_FRAME + b" ") or row[:3].decode("ascii", errors="replace") in _BATCH


def _marks(blob: bytes) -> Marks:
    between = chr(blob[3]) if len(blob) > 3 else ""
    declared = blob[4:12].split(blob[3:4])[0].decode("ascii", errors="replace") if between else ""
    delimiters = (between, *declared[:2], *(declared[2:4] + "\0\0")[:2])
    known = [delimiter for delimiter in delimiters if delimiter != "\0"]
    if (
        len(delimiters) != 5
        or len(declared) > 5
        or len({*known}) != len(known)
        or not all(map(_is_delimiter, known))
    ):
        raise RecordError(
            "malformed",
            r"MSH-1 and MSH-2 are no separators such as |^~\&; export the message again",
        )
    component, repetition, escape, subcomponent = delimiters[1:]
    return Marks(between, component, repetition, escape.strip("\0"), subcomponent)


def _is_delimiter(delimiter: str) -> bool:
    return (
        delimiter.isascii()
        and delimiter.isprintable()
        and not delimiter.isalnum()
        and delimiter != " "
    )


def _segments(text: str, marks: Marks, line: int) -> Iterator[Segment]:
    """Cut at carriage returns, or at line feeds where there is no carriage return.

    A line feed alone, in a message with carriage returns, belongs to its field.
    """
    for row in text.split("\r" if "\r" in text else "\n"):
        content = row.removeprefix("\n")
        is_segment = bool(_SEGMENT.fullmatch(content.split(marks.fields, 1)[0]))
        inner = (start.partition(marks.fields) for start in content.split("\n")[1:])
        is_mixed = any(mark and _SEGMENT.fullmatch(name) for name, mark, _ in inner)
        if content.strip(" \n") and (not is_segment or is_mixed):
            reason = (
                "a line of the message is no segment; end segments, and nothing else, with a"
                " carriage return"
            )
            raise RecordError("malformed", reason)
        if is_segment and content[:3] not in _BATCH:
            fields = content.split(marks.fields)
            yield Segment(
                line,
                (fields[0], marks.fields, *fields[1:]) if fields[0] == "MSH" else tuple(fields),
            )
        line += 1 + content.count("\n")
