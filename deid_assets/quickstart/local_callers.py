"""Whose program is at the other end of a connection, as the kernel of Linux tells it."""

from __future__ import annotations

import ipaddress
import os
import sys
from dataclasses import dataclass, field
from hmac import compare_digest
from pathlib import Path

from starlette.datastructures import Headers
from starlette.types import Scope

from deid_assets.config import Settings
from deid_assets.config.secret import secret_of_file
from deid_assets.defs.coordinator import PROXY_HEADER

Address = tuple[str, int]
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOOKS = 3
"""A table that changes while it is read may lack a line of it."""
_MAPPED = b"\0" * 10 + b"\xff\xff"
"""What stands before an address of IPv4 among those of IPv6."""
_LOCAL, _REMOTE, _USER, _INODE = 1, 2, 7, 9


@dataclass(frozen=True, slots=True)
class LocalCallers:
    """Who may ask: this user's programs, and a proxy that shows its secret.

    Args:
        secret: In hexadecimal, that a login proxy sends; nothing where there is none.
        lets_others: Whether other users of this machine may ask too.
    """

    secret: str = field(default="", repr=False)
    lets_others: bool = False

    def may_ask(self, scope: Scope) -> bool:
        """Return whether a connection is of somebody who may ask."""
        shown = Headers(scope=scope).getlist(PROXY_HEADER)
        if self.secret and len(shown) == 1:
            return compare_digest(shown[0].encode(), self.secret.encode())
        client, server = scope.get("client"), scope.get("server")
        if not client or not server or server[1] is None:
            return False
        is_loopback = _is_loopback(client[0])
        if self.lets_others or not _TABLES[0].exists():
            return is_loopback
        return is_of_this_user((client[0], client[1]), (server[0], server[1]))


def callers_of(settings: Settings, *, lets_others: bool) -> LocalCallers:
    """Return who may ask, by the settings of an installation.

    Args:
        settings: Of the installation, which name the secret of a login proxy.
        lets_others: Whether other users of this machine may ask too.

    Raises:
        DeidError: The secret cannot be read.
    """
    path = settings.approvals.login_secret
    if path is None:
        return LocalCallers(lets_others=lets_others)
    wrong = "make one with `openssl rand -hex 32`"
    secret = secret_of_file(path, absent="name it in approvals.login_secret", wrong=wrong)
    return LocalCallers(secret.hex(), lets_others=lets_others)


def is_of_this_user(client: Address, server: Address) -> bool:
    """Return whether the client's end of a connection is a socket of this user's on this machine.

    One that its program closed has no owner any more, and so is nobody's.
    """
    if sys.platform == "win32":
        return False
    ends = _ends(client, server)
    for _ in range(_LOOKS):
        for table in filter(Path.exists, _TABLES):
            for line in table.read_text("ascii").splitlines()[1:]:
                parts = line.split()
                if (parts[_LOCAL], parts[_REMOTE]) in ends:
                    return parts[_INODE] != "0" and int(parts[_USER]) == os.geteuid()
    return False


def _ends(client: Address, server: Address) -> set[tuple[str, str]]:
    """Return both ends as the tables write them: an address of IPv4 may stand in that of IPv6."""
    pairs = zip(_write_address(client), _write_address(server), strict=False)
    return set(pairs)


def _write_address(address: Address) -> list[str]:
    packed = ipaddress.ip_address(address[0].partition("%")[0]).packed
    if packed[:12] == _MAPPED:
        packed = packed[12:]
    forms = [packed] if len(packed) == 16 else [packed, _MAPPED + packed]
    return [f"{_words(form)}:{address[1]:04X}" for form in forms]


def _words(packed: bytes) -> str:
    """Return an address in words of four bytes, each as a number of this machine."""
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:  # a socket of the file system, or a name
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)
