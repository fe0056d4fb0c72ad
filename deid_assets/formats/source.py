"""Files under a root: which to read, which to refuse, and how their bytes become text."""

from __future__ import annotations

import codecs
import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, cast

from deid_assets.core.errors import ConfigError
from deid_assets.formats.annotated import Fault
from deid_assets.formats.archives import suffix_of, unpack
from deid_assets.formats.options import IGNORED, Archives
from deid_assets.formats.temporary import private_folder
from deid_assets.formats.unpacking import Budget

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_BYTES_PER_CHAR = 4
"""UTF-8's longest code point (RFC 3629)."""
SLACK_BYTES = 1 << 20
"""Room for what surrounds the text in a record or file: its spans, fields, tags and escapes."""
_CHUNK_BYTES = 1 << 20
_LIMITS = Archives()

OnIgnored = Callable[[str, str], None]
"""Called with the name of an ignored file and the rule."""


def pass_over_silently(name: str, rule: str) -> None:
    """Take the name of an ignored file and do nothing with it."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Sorts the files of a folder or archive.

    Args:
        suffixes: Of files that are read, in lower case.
        ignore: Rules: patterns as of a shell for a file's name or that of a folder around it, in
            any case.
        on_ignored: Called for each file that is ignored.
    """

    suffixes: tuple[str, ...]
    ignore: tuple[str, ...] = IGNORED
    on_ignored: OnIgnored = pass_over_silently

    def takes(self, name: str) -> bool:
        """Whether a file has one of the suffixes, in any case."""
        return PurePosixPath(name).suffix.lower() in self.suffixes

    def rule(self, name: str) -> str:
        """Return the rule by which a file is ignored, or nothing.

        Args:
            name: Path relative to what is read.
        """
        steps = [step.lower() for step in PurePosixPath(name).parts if step not in ("..", ".", "/")]
        return next(
            (
                rule
                for rule in self.ignore
                if any(fnmatchcase(step, rule.lower()) for step in steps)
            ),
            "",
        )

    @property
    def reason(self) -> str:
        """Reason why a file without such a suffix is not read."""
        kinds = " or ".join(self.suffixes)
        return (
            f"is no {kinds} file, so it is not read; convert it, take it out, or pass it over with"
            " --read ignore=NAME"
        )


@dataclass(frozen=True, slots=True)
class Source:
    """One file under the root that is read.

    Args:
        path: Where its bytes are.
        root: What its name is relative to.
        shown: What goes before its name: of a member the archive, as in ``batch.zip!/``.
        id_prefix: What goes before its note id: of a member where the archive lies, as in
            ``batch/``.
    """

    path: Path
    root: Path
    shown: str = ""
    id_prefix: str = ""

    @property
    def name(self) -> str:
        """Path relative to the root, fit to print on one line."""
        return printable(self.shown + self._relative)

    @property
    def note_id(self) -> str:
        """Path relative to the root without its suffix; the id of a note that is a file."""
        relative = self._relative
        return self.id_prefix + (
            relative[: -len(self.path.suffix)] if self.path.suffix else relative
        )

    @property
    def _relative(self) -> str:
        return self.path.relative_to(self.root).as_posix()

    def sibling(self, suffix: str) -> Source | None:
        """The file of the same name with another suffix, in lower or upper case."""
        for variant in (suffix, suffix.upper()):
            path = self.path.with_suffix(variant)
            if os.path.lexists(path):
                return replace(self, path=path)
        return None

    def place_of_members(self, suffix: str, *, is_root: bool) -> str:
        """Prefix of the ids of the notes in an archive: they are those of the folder that it holds.

        Args:
            suffix: Of the archive.
            is_root: It is what was named, so its members have no folder around them.
        """
        if is_root:
            return ""
        place = self.id_prefix + self._relative[: -len(suffix)]
        return place + "/" if suffix != ".gz" else place[: place.rfind("/") + 1]

    def fault(
        self, kind: str, reason: str, *, line: int | None = None, note_id: str | None = None
    ) -> Fault:
        """Return a fault placed in this file."""
        return Fault.at(self.name, kind, reason, line=line, note_id=note_id)

    def refusal(self) -> Fault | None:
        """Reason why the file is not opened, or ``None``.

        It leaves the root by a link, or is not a regular file.
        """
        try:
            target = self.path.resolve(strict=True)
            if self.path.is_symlink() and not target.is_relative_to(self.root.resolve()):
                return self.fault(
                    "unsafe-path", "links to a place outside the folder; copy the file into it"
                )
            if not target.is_file():
                return self.fault("unreadable", "is not a regular file; remove it")
        except (OSError, RuntimeError):
            return self.fault("unreadable", "cannot be resolved; fix or remove the link")
        return None


def printable(name: str) -> str:
    """Return a file name with every character that would break a line or a terminal escaped."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in name)


def files(
    root: Path, selection: Selection, *, limits: Archives = _LIMITS
) -> Iterator[Source | Fault]:
    """Yield the file itself, or every file of a folder with one of the suffixes, in order of path.

    Every other file is a fault, or ignored by a rule. So are a folder that cannot be listed and a
    link to a folder: the notes behind them are missing. An archive is read as the folder that it
    holds; its members are there until the next one is asked for.
    """
    if root.is_dir():
        for found in _list_folder(Source(root, root), selection):
            yield from (
                [found]
                if isinstance(found, Fault)
                else _open(found, selection, Budget(limits), depth=0)
            )
        return
    yield from _open(Source(root, root.parent), selection, Budget(limits), depth=0, is_root=True)


def _list_folder(folder: Source, selection: Selection) -> Iterator[Source | Fault]:
    unlisted: list[str] = []
    for path, subfolders, names in os.walk(
        folder.path, onerror=lambda error: unlisted.append(str(error.filename))
    ):
        subfolders.sort()
        linked = [name for name in subfolders if Path(path, name).is_symlink()]
        for name in (*linked, *sorted(names)):
            source = replace(folder, path=Path(path, name))
            if rule := selection.rule(source.path.relative_to(source.root).as_posix()):
                selection.on_ignored(source.name, rule)
            elif name in linked:
                yield source.fault(
                    "unsafe-path", "links to a folder; copy the folder into its place"
                )
            elif selection.takes(name) or suffix_of(name):
                yield source.refusal() or source
            else:
                yield source.fault("other-format", selection.reason)
    for name in unlisted:
        reason = "folder cannot be listed; check its permissions"
        yield replace(folder, path=Path(name)).fault("unreadable", reason)


def _open(
    source: Source, selection: Selection, budget: Budget, *, depth: int, is_root: bool = False
) -> Iterator[Source | Fault]:
    """Yield the file, or the members of an archive; the root's own name is in no id."""
    suffix = suffix_of(source.path.name)
    if not suffix:
        yield source
        return
    if depth == budget.limits.max_depth:
        reason = f"lies in {depth} archives; unpack it by hand or raise --read archives.max_depth"
        yield source.fault("too-large", reason)
        return
    refused: list[Fault] = []
    with private_folder() as folder:
        place = source.place_of_members(suffix, is_root=is_root)
        members = Source(folder, folder, f"{source.name}!/", place)

        def show(name: str) -> str:
            return (
                source.name if not name else f"{source.name}!/{printable(name.removeprefix('./'))}"
            )

        def refuse(name: str, kind: str, reason: str) -> None:
            refused.append(Fault.at(show(name), kind, reason))

        def is_wanted(name: str) -> bool:
            if rule := selection.rule(name):
                selection.on_ignored(show(name), rule)
                return False
            if suffix_of(name) or selection.takes(name):
                return True
            refuse(name, "other-format", selection.reason)
            return False

        unpack(source.path, folder, wanted=is_wanted, budget=budget, refuse=refuse)
        for found in _list_folder(members, selection):
            yield from (
                [found]
                if isinstance(found, Fault)
                else _open(found, selection, budget, depth=depth + 1)
            )
    yield from refused


def read_text(
    source: Source, *, encoding: str, max_chars: int, note_id: str | None = None
) -> str | Fault:
    """Return a whole file as text, newlines and any byte order mark kept, or why it is not read.

    A file that must be too long is refused by its size, without being read. One with the mark of
    UTF-16 is read as that where UTF-8 was to be expected, and its mark is no text.
    """
    blob = read_bytes(source, max_bytes=max_chars * MAX_BYTES_PER_CHAR, note_id=note_id)
    if isinstance(blob, Fault):
        return blob
    try:
        return blob.decode("utf-16" if is_utf16(blob, encoding) else encoding)
    except UnicodeDecodeError as error:
        return undecodable(source, encoding=encoding, byte=error.start, note_id=note_id)


def is_utf16(head: bytes, encoding: str) -> bool:
    """Whether bytes begin with the mark of UTF-16 (Unicode 16.0, section 2.13), which is never
    UTF-8.

    Args:
        head: First four bytes, or more.
        encoding: That the file is read in; only where it is UTF-8 the mark decides.
    """
    is_marked = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not head.startswith(
        codecs.BOM_UTF32_LE
    )
    return is_marked and codecs.lookup(encoding).name == "utf-8"


class _Utf16AsUtf8(io.RawIOBase):
    """A stream of UTF-16 as one of UTF-8, without its mark.

    Reading raises ``UnicodeDecodeError`` where it is none.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-16")()
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer)
        is_whole = False
        while not self._left and not is_whole:
            chunk = self._file.read(_CHUNK_BYTES)
            is_whole = not chunk
            self._left = self._decoder.decode(chunk, final=is_whole).encode()
        count = min(len(target), len(self._left))
        target[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


def read_bytes(source: Source, *, max_bytes: int, note_id: str | None = None) -> bytes | Fault:
    """Return a whole file, or why it is not read."""
    try:
        with source.path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            # Python takes room for all that is asked for; a file that grows has more than its size.
            blob = file.read(size + 1) if size <= max_bytes else None
            if blob is not None and len(blob) > size:
                blob += file.read(max_bytes)
    except OSError:
        return source.fault(
            "unreadable", "cannot be opened; check its permissions", note_id=note_id
        )
    if blob is None or len(blob) > max_bytes:
        return source.fault(
            "too-large",
            f"larger than {max_bytes} bytes; raise --read max_note_chars",
            note_id=note_id,
        )
    return blob


def undecodable(
    source: Source, *, encoding: str, byte: int, line: int | None = None, note_id: str | None = None
) -> Fault:
    """Return the fault of bytes that are not text; ``byte`` counts from the start of the file."""
    reason = (
        f"byte {byte} is not {codecs.lookup(encoding).name}; convert the file, or name its encoding"
        " with --read encoding=NAME"
    )
    return source.fault("undecodable", reason, line=line, note_id=note_id)


def check_by_line(encoding: str) -> None:
    """Check that a file in this encoding can be cut into lines and rows before it is decoded.

    Raises:
        ConfigError: The encoding writes quotes or line breaks other than ASCII does, as UTF-16
            does.
    """
    try:
        is_like_ascii = b'",\n'.decode(encoding) == '",\n'
    except UnicodeDecodeError:
        is_like_ascii = False
    if not is_like_ascii:
        name = codecs.lookup(encoding).name
        raise ConfigError(
            f"JSON Lines, CSV and CoNLL cannot be read as {name}; convert the file to utf-8"
        )


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


def records(
    file: BinaryIO, *, max_bytes: int, quote: bytes = b"", encoding: str = ""
) -> Iterator[Record]:
    """Yield the records of a stream, holding at most ``max_bytes`` and one chunk.

    Args:
        file: Opened for bytes, at its start.
        max_bytes: Longest record kept.
        quote: Line breaks between two of these belong to the record; empty when every line is a
            record.
        encoding: Where it is UTF-8, a stream with the mark of UTF-16 is read as that; no stream is
            where not given.

    Raises:
        UnicodeDecodeError: A stream with that mark is no UTF-16.
    """
    if encoding:
        head = file.read(4)
        file.seek(0)
        file = (
            cast("BinaryIO", io.BufferedReader(_Utf16AsUtf8(file)))
            if is_utf16(head, encoding)
            else file
        )
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
        yield Record(
            first, byte, b"".join(parts) if size <= max_bytes else None, closed=quotes % 2 == 0
        )
