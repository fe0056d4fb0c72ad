"""What is unpacked of an archive goes into a private folder.

Within limits, and under plain names only.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from deid_assets.core.errors import InputError
from deid_assets.formats.options import Archives

_FREE_BYTES = 1 << 20
"""Unpacked without regard to the ratio: short members of blanks pack better than any text."""
CHUNK_BYTES = 1 << 20
_MAX_STEPS = 100
"""Most folders in a name: they are made and removed by recursion."""

Refuse = Callable[[str, str, str], None]
"""Called with the member's name, empty for the archive itself, the kind of fault and the reason."""


class Readable(Protocol):
    """A stream that is read from its start."""

    def read(self, size: int = ..., /) -> bytes:
        """Return at most so many bytes, none at the end."""


class ArchiveError(InputError):
    """A member or archive that cannot be unpacked. Never leaves this package."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


class SpentError(ArchiveError):
    """A limit on the whole archive is reached."""


@dataclass(slots=True)
class Budget:
    """Budget left for unpacking an archive and those inside of it."""

    limits: Archives
    members: int = 0
    total_bytes: int = 0

    def count_member(self) -> None:
        """Count one member, wanted or not.

        Raises:
            ArchiveError: There are more than the limit.
        """
        self.members += 1
        self.expect_members(0)

    def expect_members(self, more: int) -> None:
        """Check that so many members may still come, where an archive says beforehand how many it
        has.

        Raises:
            ArchiveError: There are more than the limit.
        """
        if self.members + more > self.limits.max_members:
            raise SpentError(
                "too-large",
                f"has more than {self.limits.max_members} members; raise --read"
                " archives.max_members",
            )

    def count(self, size: int, done: int) -> None:
        """Count unpacked bytes; ``done`` are those of the member before them.

        Raises:
            ArchiveError: The member or the whole is larger than the limit.
        """
        self.total_bytes += size
        if self.total_bytes > self.limits.max_total_bytes:
            reason = (
                f"unpacks to more than {self.limits.max_total_bytes} bytes; raise --read"
                " archives.max_total_bytes"
            )
            raise SpentError("too-large", reason)
        if done + size > self.limits.max_member_bytes:
            raise _member_too_large(self.limits)

    def check_ratio(self, unpacked: int, packed: int) -> None:
        """Check that so many bytes may come of so few.

        Raises:
            ArchiveError: It is a bomb, or text of one letter.
        """
        if unpacked > _FREE_BYTES + self.limits.max_ratio * packed:
            reason = (
                f"unpacks to more than {self.limits.max_ratio} times its size; unpack it by hand or"
                " raise --read archives.max_ratio"
            )
            raise SpentError("too-large", reason)


def _member_too_large(limits: Archives) -> ArchiveError:
    return ArchiveError(
        "too-large",
        f"unpacks to more than {limits.max_member_bytes} bytes; raise --read"
        " archives.max_member_bytes",
    )


@dataclass(slots=True)
class Target:
    """Destination of members."""

    folder: Path
    wanted: Callable[[str], bool]
    budget: Budget
    refuse: Refuse
    written: dict[str, Path | None] = field(default_factory=dict)

    def place(self, name: str) -> Path | None:
        """Return where a wanted member goes, or ``None`` when it is not wanted or refused."""
        reason = _unsafe(name)
        if reason:
            self.refuse(name, "unsafe-path", reason)
            return None
        plain = PurePosixPath(name).as_posix()
        if not self.wanted(plain):
            return None
        if plain in self.written:
            first = self.written[plain]
            if first is not None:
                first.unlink(missing_ok=True)
                self.written[plain] = None
            self.refuse(
                name,
                "duplicate-id",
                "is twice in the archive, so neither is read; make the archive again",
            )
            return None
        self.written[plain] = None
        return self.folder.joinpath(plain)

    def fill(self, name: str, path: Path, stream: Readable, size: int | None) -> None:
        """Copy a member; ``size`` is what it has to have, where the archive says so."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("xb")
        except OSError as error:
            _check_room(error)
            self.refuse(
                name, "unreadable", "cannot be unpacked under its name; make the archive again"
            )
            return
        try:
            with file:
                self._copy(stream, file, size)
            self.written[PurePosixPath(name).as_posix()] = path
        except BaseException as error:
            path.unlink()
            _check_room(error)
            raise

    def _copy(self, stream: Readable, file: IO[bytes], size: int | None) -> None:
        done = 0
        while chunk := stream.read(CHUNK_BYTES):
            self.budget.count(len(chunk), done)
            done += len(chunk)
            file.write(chunk)
        if size is not None and done != size:
            raise EOFError

    def drop_all(self) -> None:
        """Remove what was unpacked."""
        for path in filter(None, self.written.values()):
            path.unlink(missing_ok=True)


def _check_room(error: BaseException) -> None:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        raise InputError(
            "there is no room to unpack an archive; name a larger folder in TMPDIR"
        ) from None


def _unsafe(name: str) -> str:
    """Return why a name is refused, or nothing."""
    steps = PurePosixPath(name).parts
    if len(steps) > _MAX_STEPS:
        return f"lies in more than {_MAX_STEPS} folders; make the archive again with fewer"
    if not steps or name.startswith("/") or ".." in steps or "\\" in name or ":" in steps[0]:
        return (
            "has a name that leads out of the archive; make the archive again with relative names"
        )
    if "\0" in name or any(0xD800 <= ord(char) <= 0xDFFF for char in name):
        return "has a name that no file can have; make the archive again with names in UTF-8"
    return ""
