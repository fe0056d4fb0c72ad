"""The installation's secret: from the environment, else from a file that only its owner reads."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path

from deid_assets.core.errors import ConfigError
from deid_assets.core.keys import MIN_SECRET_BYTES
from deid_assets.system.atomic import part_of

VARIABLE = "DEID_KEY"
_HOW = "set it to the output of `openssl rand -hex 32`"


def secret_of_environment() -> bytes | None:
    """Return the secret of ``DEID_KEY``, or ``None`` where it is not set.

    Raises:
        ConfigError: It is not hexadecimal, too short, or nothing but zeros.
    """
    value = os.environ.get(VARIABLE)
    return _check(value, VARIABLE, remedy=_HOW) if value else None


def secret_of_home(home: Path) -> bytes:
    """Return the secret of ``home/secret.key``, which is made when absent.

    Raises:
        ConfigError: It cannot be read or made, is no secret, or others may read it.
    """
    path = home / "secret.key"
    remedy = "set DEID_HOME to a folder of yours"
    try:
        if not path.exists():
            _make(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be made ({error.strerror}); {remedy}") from None
    return secret_of_file(
        path, absent=remedy, wrong="restore the file, since another key gives other ids"
    )


def secret_of_file(path: Path, *, absent: str, wrong: str) -> bytes:
    """Return the secret of a file that its owner alone reads.

    Args:
        path: Of the file.
        absent: What helps where it cannot be read.
        wrong: What helps where it holds no secret.

    Raises:
        ConfigError: It cannot be read, is no secret, or others may read it.
    """
    try:
        mode = path.stat().st_mode
        value = path.read_text("ascii", errors="replace")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); {absent}") from None
    if sys.platform != "win32" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError(
            f"{path}: others may read or change it; run chmod 600 on it, and change the key if"
            " they did"
        )
    return _check(value.strip(), str(path), remedy=wrong)


def _check(value: str, where: str, *, remedy: str) -> bytes:
    try:
        secret = bytes.fromhex(value)
    except ValueError:
        raise ConfigError(f"{where}: not hexadecimal; {remedy}") from None
    if len(secret) < MIN_SECRET_BYTES:
        raise ConfigError(
            f"{where}: it has {len(secret)} bytes, at least {MIN_SECRET_BYTES} are needed; {remedy}"
        )
    if not any(secret):
        raise ConfigError(f"{where}: nothing but zeros, which everybody would try first; {remedy}")
    return secret


def _make(path: Path) -> None:
    """Make the file whole and at once, unless another process is first.

    Both must end up with one secret.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = part_of(path)
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
        with suppress(FileExistsError):
            path.hardlink_to(part)
    finally:
        part.unlink(missing_ok=True)
