"""Archives: zip, tar and gzip, unpacked into a private folder.

Nothing in an archive is trusted: neither the sizes that it claims nor its names. Unpacked text lies
in a folder that only its owner may open; who asks for it removes it.
"""

from __future__ import annotations

import stat
import struct
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from gzip import BadGzipFile, GzipFile
from pathlib import Path, PurePosixPath
from tarfile import EOFHeaderError, HeaderError, ReadError  # type: ignore[attr-defined]  # the first is not in typeshed
from typing import IO, Self, cast

from deid_assets.formats.unpacking import (
    CHUNK_BYTES,
    ArchiveError,
    Budget,
    Readable,
    Refuse,
    SpentError,
    Target,
)

SUFFIXES = (".tar.gz", ".tgz", ".tar", ".zip", ".gz")
"""Suffixes of the archives that are read; the first that fits counts."""
_ENCRYPTED = 0x1
"""General purpose bit 0 (PKWARE APPNOTE 6.3.10, 4.4.4)."""
_DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    struct.error,
    EOFError,
    ValueError,
    RuntimeError,
    LookupError,
    OverflowError,
)
"""Exceptions that the libraries raise for damaged archives, documented or not."""
_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_LONGEST_HEADER_BYTES = 1 << 14
"""Most bytes of a name or pax header.

Four times the longest path of Linux, and short enough for what parses it.
"""


def suffix_of(name: str) -> str:
    """Return the suffix that makes a file an archive, in lower case, or nothing."""
    return next((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), "")


def unpack(
    archive: Path, folder: Path, *, wanted: Callable[[str], bool], budget: Budget, refuse: Refuse
) -> None:
    """Unpack the wanted members into an empty folder, under their own names.

    ``refuse`` is called with what is refused, and the other members are unpacked. Of a damaged tar
    or gzip nothing is kept: a wrong checksum is that of the whole.

    Args:
        archive: With one of the ``SUFFIXES``.
        folder: Empty; only its owner may open it.
        wanted: Whether a member is unpacked, by its name.
        budget: What may be unpacked.
        refuse: Called with each that is not.

    Raises:
        InputError: There is no room to unpack.
    """
    target = Target(folder, wanted, budget, refuse)
    suffix = suffix_of(archive.name)
    try:
        if suffix == ".zip":
            _unzip(archive, target)
        elif suffix == ".gz":
            _gunzip(archive, target)
        else:
            _untar(archive, target, is_packed=suffix != ".tar")
    except ArchiveError as error:
        refuse("", error.kind, f"{error.reason}; what follows in the archive is not read")
    except (*_DAMAGED, OSError) as error:
        if isinstance(error, OSError) and not isinstance(error, BadGzipFile):
            refuse("", "unreadable", "cannot be opened or read to its end; check its permissions")
        else:
            refuse(
                "",
                "malformed",
                f"is cut short, damaged or no {suffix[1:]}, so it is not read; make it again",
            )
        target.drop_all()


def _unzip(archive: Path, target: Target) -> None:
    with zipfile.ZipFile(archive) as opened:
        found = opened.infolist()
        target.budget.expect_members(len(found))
        times = Counter(PurePosixPath(info.orig_filename).as_posix() for info in found)
        for info in found:
            target.budget.count_member()
            path = _zip_place(info, times, target)
            if path is None:
                continue
            try:
                target.budget.check_ratio(info.file_size, info.compress_size)
                with opened.open(info) as stream:
                    target.fill(info.orig_filename, path, stream, info.file_size)
            except SpentError:
                raise
            except ArchiveError as error:
                target.refuse(info.orig_filename, error.kind, error.reason)
            except _DAMAGED:
                target.refuse(
                    info.orig_filename,
                    "malformed",
                    "is damaged in the archive; make the archive again",
                )


def _zip_place(info: zipfile.ZipInfo, times: Counter[str], target: Target) -> Path | None:
    mode = stat.S_IFMT(info.external_attr >> 16)
    name = info.orig_filename
    if stat.S_ISLNK(mode):
        target.refuse(name, "unsafe-path", "is a link; make the archive again with the file itself")
        return None
    if name.endswith("/"):
        return None
    path = target.place(name)
    if path is None:
        return None
    if times[PurePosixPath(name).as_posix()] > 1:
        target.refuse(
            name,
            "duplicate-id",
            "is twice in the archive, so neither is read; make the archive again",
        )
    elif mode not in (0, stat.S_IFREG):
        target.refuse(name, "unreadable", "is no regular file; make the archive again without it")
    elif info.flag_bits & _ENCRYPTED:
        target.refuse(name, "encrypted", "is encrypted; unpack it by hand")
    elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        target.refuse(
            name,
            "unreadable",
            "is packed by a method that is not read; make the archive with deflate",
        )
    else:
        return path
    return None


class _Gzip:
    """The bytes that a gzip file unpacks to, counted against a budget."""

    def __init__(self, file: IO[bytes], budget: Budget) -> None:
        self._file = file
        self._unpacked = GzipFile(fileobj=file, mode="rb")
        self._budget = budget
        self._done = 0

    def read(self, size: int = -1) -> bytes:
        chunk = self._unpacked.read(CHUNK_BYTES if size < 0 else min(size, CHUNK_BYTES))
        self._done += len(chunk)
        if self._done > 2 * self._budget.limits.max_total_bytes + CHUNK_BYTES:
            # headers and what is not wanted
            raise SpentError(
                "too-large",
                "unpacks to more than twice the limit; raise --read archives.max_total_bytes",
            )
        self._budget.check_ratio(self._done, self._file.tell())
        return chunk


def _gunzip(archive: Path, target: Target) -> None:
    name = archive.name[: -len(".gz")]
    target.budget.count_member()
    path = target.place(name)
    if path is None:
        return
    with archive.open("rb") as file:
        stream = _Gzip(file, target.budget)
        target.fill(name, path, stream, None)


class _Member(tarfile.TarInfo):
    """A member whose headers are whole.

    ``tarfile`` takes a broken one for the end of the archive.
    """

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(tarfile)
        except EOFHeaderError:
            raise
        except HeaderError:
            raise ReadError from None

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        member = super().frombuf(buf, encoding, errors)
        if (
            not 0
            <= member.size
            <= (_LONGEST_HEADER_BYTES if member.type in _HEADERS else member.size)
        ):
            raise ReadError
        return member


def _untar(archive: Path, target: Target, *, is_packed: bool) -> None:
    with archive.open("rb") as file:
        stream: Readable = _Gzip(file, target.budget) if is_packed else file
        fileobj = cast("IO[bytes]", stream)
        with tarfile.open(
            fileobj=fileobj, mode="r|", errors="surrogateescape", tarinfo=_Member
        ) as opened:
            while (member := opened.next()) is not None:
                opened.members.clear()  # type: ignore[attr-defined]  # else memory grows with their number
                target.budget.count_member()
                _untar_member(opened, member, target)
        while stream.read(CHUNK_BYTES):
            pass  # to the checksum


def _untar_member(opened: tarfile.TarFile, member: tarfile.TarInfo, target: Target) -> None:
    if member.islnk() or member.issym():
        target.refuse(
            member.name, "unsafe-path", "is a link; make the archive again with the file itself"
        )
        return
    if member.isdir():
        return
    path = target.place(member.name)
    if path is None:
        return
    stream = opened.extractfile(member) if member.isreg() and not member.issparse() else None
    if stream is None:
        target.refuse(
            member.name, "unreadable", "is no regular file; make the archive again without it"
        )
        return
    try:
        target.fill(member.name, path, stream, member.size)
    except SpentError:
        raise
    except ArchiveError as error:
        target.refuse(member.name, error.kind, error.reason)
