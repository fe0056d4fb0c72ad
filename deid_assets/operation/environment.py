"""The environment of an installation: ``.env`` in its folder, which Dagster reads too."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from deid_assets.core.errors import ConfigError, InputError

FILE = ".env"
SETTINGS_FILE = "deid.toml"

ENVIRONMENT = {
    "DAGSTER_DISABLE_TELEMETRY": "1",
    "DAGSTER_REDACT_USER_CODE_ERRORS": "1",
    "GX_ANALYTICS_ENABLED": "false",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}
"""Environment variables that must be set wherever the graph runs.

``make``, the code location and ``.env`` set it.
"""
_PLAIN = re.compile(r"(?!.*(^|:)~)[\w./:@%+=,?~-]*")
_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)=(?P<value>.*)")


def environment_line(name: str, value: str) -> str:
    """Return a line that a shell, Docker, Compose, systemd, Kubernetes and Dagster read alike.

    A value stands without quotes: ``docker run --env-file`` and ``kubectl --from-env-file`` would
    keep them as a part of it.

    Raises:
        InputError: The value has a character that one of them would change, or end it at.
    """
    if _PLAIN.fullmatch(value):
        return f"{name}={value}\n"
    raise InputError(
        f"{name}: blanks, quotes, backslashes, $, &, #, brackets and other signs mean something in"
        f" {FILE}, and Docker keeps the quotes that a shell needs around them; choose a folder"
        " without them, and write them in a URL as their codes, such as %20, %27, %5C and %24"
    )


def environment_faults(path: Path) -> Iterator[str]:
    """Yield in one line for each variable of a file who reads another value than Dagster does.

    Raises:
        ConfigError: The file cannot be read.
    """
    known = read_environment(path)
    for line in path.read_text(encoding="utf-8").splitlines():
        found = _LINE.match(line)
        if found is None or _PLAIN.fullmatch(value := found["value"]):
            continue
        name = found["name"]
        if known.get(name) != value:
            readers = "`docker run --env-file` and `kubectl` keep its quotes, or what follows it"
        elif "&" in value:
            readers = "a shell that reads the file ends it at &"
        else:
            readers = "a shell, Compose or systemd may change it"
        yield (
            f"{name} in {path}: {readers}; write it without quotes, blanks and &, signs in a URL as"
            " codes such as %24, and parameters of a database but one as PGSSLROOTCERT and the like"
        )


def enter_folder(folder: Path | None = None) -> bool:
    """Take over the environment of the installation in the working directory, if there is one.

    What is set already stays. An installation is a folder with ``deid.toml`` and a ``.env`` that
    belongs to this user, so that nobody else's file decides where notes go.

    Args:
        folder: The working directory when not given.

    Returns:
        Whether there is one.

    Raises:
        ConfigError: Others may read or change the file, or it cannot be read.
    """
    path = (folder or Path.cwd()) / FILE
    if os.environ.get("DEID_CONFIG") or not path.is_file():
        return False
    if not path.with_name(SETTINGS_FILE).is_file() or not _is_own(path):
        return False
    check_private(path)
    for name, value in read_environment(path).items():
        os.environ.setdefault(name, value)
    return True


def read_environment(path: Path) -> Mapping[str, str]:
    """Return the variables of a file of lines ``NAME=VALUE``.

    Raises:
        ConfigError: The file cannot be read, is not UTF-8, or has what no variable can hold.
    """
    from dotenv import dotenv_values  # noqa: PLC0415 - most commands run in no such folder

    try:
        _check_bytes(path)
        found = dotenv_values(path, interpolate=False)
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: byte {error.start + 1:,} is not UTF-8; save the file in UTF-8"
        ) from None
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}); make it readable to the user that runs"
            " deid, and to no other"
        ) from None
    if any("=" in name for name in found):
        raise ConfigError(f"{path}: a variable has a name with =; write lines NAME=VALUE")
    return {name: value for name, value in found.items() if value is not None}


def _check_bytes(path: Path) -> None:
    before, nul, _ = path.read_bytes().partition(b"\0")
    if nul:
        number = len(before.splitlines()) + (not before or before.endswith((b"\n", b"\r")))
        raise ConfigError(
            f"{path}: line {number} has a NUL byte; take it out, or save the file in UTF-8"
        )


def check_private(path: Path) -> None:
    """Check that a file with secrets is its owner's alone.

    Raises:
        ConfigError: Others may read or change it.
    """
    if sys.platform != "win32" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError(
            f"{path}: others may read or change it; run chmod 600 on it, and change the secrets in"
            " it if they did"
        )


def _is_own(path: Path) -> bool:
    return sys.platform == "win32" or path.stat().st_uid == os.geteuid()
