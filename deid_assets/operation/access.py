"""Who may read what holds text or secrets, and who may reach the web server."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError
from deid_assets.operation.environment import FILE, SETTINGS_FILE, read_environment
from deid_assets.operation.findings import Condition, Finding

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_LOOPBACK = ("127.", "localhost", "::1")
_PROC = Path("/proc")
_UNSEEN = (
    "not looked at, since this system does not list its processes; see that each is started with"
    " --host 127.0.0.1"
)


def access_findings(settings: Settings) -> Iterator[Finding]:
    """Yield each place with text or secrets that others may enter, or that there is none."""
    places = [
        path
        for path in [*_list_with_text(settings), *_list_with_secrets(settings)]
        if path.exists()
    ]
    open_places = [path for path in places if sys.platform != "win32" and is_open(path)]
    for path in open_places:
        mode = "700" if path.is_dir() else "600"
        yield Finding(
            "access",
            Condition.UNSAFE,
            f"{path}: other users of the machine may read or change it; run chmod {mode} on it",
        )
    changeable = [*_changeable(settings)] if sys.platform != "win32" else []
    yield from changeable
    if not open_places and not changeable:
        yield Finding(
            "access", Condition.OK, f"{len(places)} places with text or secrets, yours alone"
        )


def is_open(path: Path) -> bool:
    """Whether a user other than its owner and the superuser can reach a file or folder.

    That takes its own mode, and a way there through every folder above it; of a link, above what
    it leads to.
    """
    return bool(path.stat().st_mode & _OTHERS) and _is_reachable(path)


def _is_reachable(path: Path) -> bool:
    return all(above.stat().st_mode & (stat.S_IXGRP | stat.S_IXOTH) for above in _ways_in(path))


def _ways_in(path: Path) -> Sequence[Path]:
    return path.resolve().parents


def _changeable(settings: Settings) -> Iterator[Finding]:
    """Yield each place without text that others may change: they could put settings of theirs, or
    a landing folder of theirs, where it is.
    """
    named = (
        settings.home,
        settings.dagster_home,
        settings.home / SETTINGS_FILE,
        _read_configured(),
    )
    places = [path for path in dict.fromkeys(named) if path and path.exists()]
    for path in places:
        mode = path.stat().st_mode
        if mode & (stat.S_IWGRP | stat.S_IWOTH) and _is_reachable(path):
            yield Finding(
                "access",
                Condition.UNSAFE if mode & stat.S_IWOTH else Condition.DOUBTFUL,
                f"{path}: other users may change what it holds; run chmod go-w on it",
            )


def _read_configured() -> Path | None:
    name = os.environ.get("DEID_CONFIG")
    return Path(name) if name else None


def _list_with_text(settings: Settings) -> Iterator[Path]:
    yield settings.landing
    yield settings.store / "restricted"
    yield settings.home / "training"
    yield settings.home / "before-migration"
    yield from filter(None, (table.file for table in settings.tables.values()))
    for study in settings.studies.values():
        yield from filter(None, (study.consent, study.notes.patients))
    try:
        vault = make_url(settings.vault.url) if settings.vault.url else None
    except ArgumentError:  # said by what opens it
        vault = None
    if vault is not None and vault.get_backend_name() == "sqlite" and vault.database:
        yield Path(vault.database)


def _list_with_secrets(settings: Settings) -> Iterator[Path]:
    yield settings.home / "secret.key"
    for name in (FILE, "proxy.secret", "proxy.env", "database.secret"):
        yield settings.home / name
    mail, webhook = settings.alerts.mail, settings.alerts.webhook
    named = [settings.vault.key_file, settings.approvals.login_secret]
    named += [study.key_file for study in settings.studies.values()]
    named += [mail.password_file if mail else None, webhook.url_file if webhook else None]
    yield from filter(None, named)


def server_findings(settings: Settings) -> Iterator[Finding]:
    """Yield each web server of this installation that listens to other machines without a login."""
    if not (_PROC / "self" / "environ").exists():
        yield Finding("web server", Condition.DOUBTFUL, _UNSEEN)
        return
    exposed = [host for host in _hosts_of_servers(settings) if not host.startswith(_LOOPBACK)]
    has_login = bool(settings.approvals.login_header and settings.approvals.login_secret)
    if not exposed:
        yield Finding("web server", Condition.OK, "none of yours listens beyond this machine")
    elif has_login:
        yield Finding(
            "web server",
            Condition.DOUBTFUL,
            f"it listens on {exposed[0]}; see that the proxy with the login alone can reach it",
        )
    else:
        yield Finding(
            "web server",
            Condition.UNSAFE,
            f"it listens on {exposed[0]} and asks for no login; start it with --host 127.0.0.1, and"
            " put a proxy with a login before it (approvals.login_header, approvals.login_secret)",
        )


def _hosts_of_servers(settings: Settings) -> Iterator[str]:
    """Yield the addresses of this user's web servers on this Dagster home; Linux only."""
    for folder in _PROC.glob("[1-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if not _is_server(command):
                continue
            home = _home_of(folder)
        except (OSError, ConfigError):  # it ended, or is somebody else's
            continue
        if home and Path(home).resolve() == settings.dagster_home.resolve():
            yield _option(command, ("--host", "-h", "--dagit-host")) or "127.0.0.1"


def _is_server(command: Sequence[str]) -> bool:
    names = {Path(part).name for part in command[:4]}
    servers = {"dagster-webserver", "dagster_webserver", "deid_assets.quickstart.web"}
    return bool(names & servers) or ("dagster" in names and "dev" in command)


def _home_of(process: Path) -> str:
    """Return the Dagster home of a process: of its environment, else of the ``.env`` in its working
    directory, which Dagster reads.
    """
    start = b"DAGSTER_HOME="
    variables = (process / "environ").read_bytes().split(b"\0")
    found = (one[len(start) :] for one in variables if one.startswith(start))
    home = os.fsdecode(next(found, b""))
    beside = process / "cwd" / FILE
    if home or not beside.is_file():
        return home
    return read_environment(beside).get("DAGSTER_HOME", "")


def _option(command: Sequence[str], names: Sequence[str]) -> str:
    """Return the last value that a command line gives an option; empty where it gives none."""
    value = ""
    for at, part in enumerate(command):
        name, _, joined = part.partition("=")
        if name in names:
            value = joined or (command[at + 1] if at + 1 < len(command) else "")
    return value
