"""Files under a root: which to read, which to refuse, and how their bytes become text."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from deid_assets.core.errors import ConfigError
from deid_assets.formats.annotated import Fault

MAX_BYTES_PER_CHAR = 4
"""UTF-8's longest code point (RFC 3629)."""
SLACK_BYTES = 1 << 20
"""Room for what surrounds the text in a record or file: its spans, fields, tags and escapes."""
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """One file under the root that is read."""

    path: Path
    root: Path

    @property
    def name(self) -> str:
        """Path relative to the root, fit to print on one line."""
        return printable(self._relative)

    @property
    def note_id(self) -> str:
        """Path relative to the root without its suffix; the id of a note that is a file."""
        return self._relative[: -len(self.path.suffix)] if self.path.suffix else self._relative

    @property
    def _relative(self) -> str:
        return self.path.relative_to(self.root).as_posix()

    def sibling(self, suffix: str) -> Source | None:
        """The file of the same name with another suffix, in lower or upper case."""
        for variant in (suffix, suffix.upper()):
            path = self.path.with_suffix(variant)
            if os.path.lexists(path):
                return Source(path, self.root)
        return None

    def fault(self, kind: str, reason: str, *, line: int | None = None, note_id: str | None = None) -> Fault:
        """Return a fault placed in this file."""
        return Fault.at(self.name, kind, reason, line=line, note_id=note_id)

    def refusal(self) -> Fault | None:
        """Why the file is not opened, or ``None``: it leaves the root by a link, or is not a regular file."""
        try:
            target = self.path.resolve(strict=True)
            if self.path.is_symlink() and not target.is_relative_to(self.root.resolve()):
                return self.fault("unsafe-path", "links to a place outside the folder; copy the file into it")
            if not target.is_file():
                return self.fault("unreadable", "is not a regular file; remove it")
        except (OSError, RuntimeError):
            return self.fault("unreadable", "cannot be resolved; mend or remove the link")
        return None


def printable(name: str) -> str:
    """Return a file name with every character that would break a line or a terminal escaped."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in name)


def files(root: Path, suffixes: tuple[str, ...]) -> Iterator[Source | Fault]:
    """Yield the file itself, or every file of a folder with one of the suffixes, in order of path.

    Suffixes match in any case. A folder that cannot be listed and a link to a folder are faults: the notes
    behind them are missing.
    """
    if not root.is_dir():
        yield Source(root, root.parent)
        return
    unlisted: list[str] = []
    for folder, subfolders, names in os.walk(root, onerror=lambda error: unlisted.append(str(error.filename))):
        subfolders.sort()
        for linked in (Path(folder, name) for name in subfolders if Path(folder, name).is_symlink()):
            yield Source(linked, root).fault("unsafe-path", "links to a folder; copy the folder into its place")
        for name in sorted(names):
            if Path(name).suffix.lower() in suffixes:
                source = Source(Path(folder, name), root)
                yield source.refusal() or source
    for path in unlisted:
        yield Source(Path(path), root).fault("unreadable", "folder cannot be listed; check its permissions")


def read_text(source: Source, *, encoding: str, max_chars: int, note_id: str | None = None) -> str | Fault:
    """Return a whole file as text, newlines and any byte order mark kept, or why it is not read.

    A file that must be too long is refused by its size, without being read.
    """
    blob = read_bytes(source, max_bytes=max_chars * MAX_BYTES_PER_CHAR, note_id=note_id)
    if isinstance(blob, Fault):
        return blob
    try:
        return blob.decode(encoding)
    except UnicodeDecodeError as error:
        return undecodable(source, encoding=encoding, byte=error.start, note_id=note_id)


def read_bytes(source: Source, *, max_bytes: int, note_id: str | None = None) -> bytes | Fault:
    """Return a whole file, or why it is not read."""
    try:
        with source.path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            blob = file.read(max_bytes + 1) if size <= max_bytes else None
    except OSError:
        return source.fault("unreadable", "cannot be opened; check its permissions", note_id=note_id)
    if blob is None or len(blob) > max_bytes:
        return source.fault("too-large", f"larger than {max_bytes} bytes; raise max_note_chars", note_id=note_id)
    return blob


def undecodable(
    source: Source, *, encoding: str, byte: int, line: int | None = None, note_id: str | None = None
) -> Fault:
    """Return the fault of bytes that are not text; ``byte`` counts from the start of the file."""
    reason = f"byte {byte} is not {encoding}; convert the file or name its encoding"
    return source.fault("undecodable", reason, line=line, note_id=note_id)


def check_by_line(encoding: str) -> None:
    """Check that a file in this encoding can be cut into lines and rows before it is decoded.

    Raises:
        ConfigError: The encoding writes quotes or line breaks other than ASCII does, as UTF-16 does.
    """
    try:
        is_like_ascii = b'",\n'.decode(encoding) == '",\n'
    except UnicodeDecodeError:
        is_like_ascii = False
    if not is_like_ascii:
        raise ConfigError(f"JSON Lines, CSV and CoNLL cannot be read as {encoding}; convert the file to utf-8")


@dataclass(frozen=True, slots=True)
class Record:
    """One line of JSON Lines or CoNLL, or one row of CSV.

    Args:
        line: Where it begins, from 1.
        byte: Where it begins, from 0.
        content: With its line break; ``None`` where it is longer than the limit and was dropped.
        closed: No quote is left open.
    """

    line: int
    byte: int
    content: bytes | None
    closed: bool = True


def records(file: BinaryIO, *, max_bytes: int, quote: bytes = b"") -> Iterator[Record]:
    """Yield the records of a stream, holding at most ``max_bytes`` and one chunk.

    Args:
        file: Opened for bytes, at its start.
        max_bytes: Longest record kept.
        quote: Line breaks between two of these belong to the record; empty when every line is a record.
    """
    parts: list[bytes] = []
    size = quotes = byte = 0
    line = first = 1
    while piece := file.readline(_CHUNK_BYTES):
        size += len(piece)
        quotes += piece.count(quote) if quote else 0
        ended = piece.endswith(b"\n")
        line += ended
        if size <= max_bytes:
            parts.append(piece)
        else:
            parts.clear()
        if ended and quotes % 2 == 0:
            yield Record(first, byte, b"".join(parts) if size <= max_bytes else None)
            parts.clear()
            byte, first, size, quotes = byte + size, line, 0, 0
    if size:
        yield Record(first, byte, b"".join(parts) if size <= max_bytes else None, closed=quotes % 2 == 0)
