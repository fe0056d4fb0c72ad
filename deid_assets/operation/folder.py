"""A new installation: its folder with settings, secrets and zones."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.config.secret import VARIABLE as KEY
from deid_assets.core.errors import InputError
from deid_assets.operation import dagster_yaml, environment
from deid_assets.operation.databases import VARIABLE as DATABASE
from deid_assets.operation.databases import database_variables, is_postgres
from deid_assets.store.atomic import make_folder
from deid_assets.store.zones import Zone
from deid_assets.system.atomic import part_of

WORKSPACE = """\
load_from:
  - python_module:
      module_name: deid_assets.definitions
      location_name: deid_assets
"""
_SETTINGS = """\
# Settings of this installation. What is not set here has its default; the page "A day with
# deid-assets" lists all. Folders, secrets and the database stand in .env.

policies = ["safe_harbor"]
release_policy = "safe_harbor"

[release]
require = "gold"      # nothing leaves before people annotated enough of it to say what is missed
approval = true       # and before somebody approved the page on it: `deid approve`
"""
_LOGIN = """
[approvals]           # the proxy names who is logged in, and shows the secret as X-Deid-Proxy
login_header = "X-Remote-User"
login_secret = {secret}
"""
_IGNORED = "# Nothing here belongs into version control but the settings.\n*\n!deid.toml\n"
_PRIVATE, _SHARED = 0o600, 0o644
PROXY_SECRET = "proxy.secret"  # noqa: S105 - a file's name
PROXY_ENVIRONMENT = "proxy.env"


@dataclass(frozen=True, slots=True)
class Written:
    """A file or folder of a new installation.

    Args:
        path: Where it is.
        is_new: Whether it was written now; what was there before was left as it was.
        about: What it is for.
    """

    path: Path
    is_new: bool
    about: str


def write_folder(folder: Path, *, database_url: str = "", login: bool = False) -> list[Written]:
    """Write settings, secrets and zones of an installation, and return each, new or not.

    What is there stays as it is, so that a call which was killed is completed by the same call.

    Args:
        folder: Made where it is not there, for its owner alone.
        database_url: PostgreSQL database of the store and of Dagster; SQLite files when empty.
        login: Whether a proxy with a login stands before the web server.

    Raises:
        InputError: The folder is a file, its path cannot stand in ``.env``, or the URL names no
            PostgreSQL database.
    """
    home = folder.absolute()
    if home.exists() and not home.is_dir():
        raise InputError(f"{folder}: is a file; name a new folder, or one of an installation")
    if database_url and not is_postgres(database_url):
        raise InputError(f"{DATABASE}: no PostgreSQL database; give postgresql://user@host/name")
    files = [*_files(home, database_url=database_url, login=login)]
    home.mkdir(parents=True, mode=0o700, exist_ok=True)
    of_proxy = _write_files_of_proxy(home) if login else ()
    return [*_make_zones(home), *(_write(*one) for one in files), *of_proxy]


_File = tuple[Path, str, int, str]
"""Path, content, mode and what it is for."""


def _files(home: Path, *, database_url: str, login: bool) -> Iterator[_File]:
    secret = _quote(home / PROXY_SECRET)
    settings = _SETTINGS + (_LOGIN.format(secret=secret) if login else "")
    instance = dagster_yaml.dagster_yaml(is_postgres=bool(database_url))
    variables = _variables(home, database_url)
    lines = [environment.environment_line(name, value) for name, value in variables.items()]
    yield home / environment.SETTINGS_FILE, settings, _SHARED, "settings"
    yield home / "workspace.yaml", WORKSPACE, _SHARED, "what `deid ui` loads"
    yield home / "dagster" / dagster_yaml.FILE, instance, _SHARED, "settings of Dagster"
    yield home / ".gitignore", _IGNORED, _SHARED, "keeps notes and secrets out of version control"
    yield home / environment.FILE, "".join(lines), _PRIVATE, "secrets: keep a copy elsewhere"


def _write_files_of_proxy(home: Path) -> Iterator[Written]:
    """Write the secret, and the same for the proxy: read back, since another call may be first."""
    kept = home / PROXY_SECRET
    yield _write(kept, secrets.token_hex(32) + "\n", _PRIVATE, "what the proxy alone sends")
    line = environment.environment_line("DEID_PROXY_SECRET", kept.read_text("ascii").strip())
    yield _write(home / PROXY_ENVIRONMENT, line, _PRIVATE, "the same, for the proxy")


def _variables(home: Path, database_url: str) -> Mapping[str, str]:
    where = {
        "DEID_CONFIG": str(home / environment.SETTINGS_FILE),
        "DEID_HOME": str(home),
        "DAGSTER_HOME": str(home / "dagster"),
    }
    database = database_variables(database_url) if database_url else {}
    return {**where, KEY: secrets.token_hex(32), **database, **environment.ENVIRONMENT}


def _make_zones(home: Path) -> Iterator[Written]:
    """Make the folders that the settings name, those with text for their owner alone."""
    settings = Settings(home=home)
    for zone in Zone:
        path, is_new = settings.store / zone, not (settings.store / zone).exists()
        make_folder(settings.store, path, zone)
        yield Written(path, is_new, f"{zone} zone")
    zones = {
        settings.landing: (0o700, "drop notes here"),
        settings.home / "vault": (0o700, "for a vault of originals, if you declare one"),
        settings.home / "dagster": (0o700, "runs and events, no text"),
        settings.released: (0o755, "releases"),
        settings.reports: (0o755, "pages without text"),
    }
    for path, (mode, about) in zones.items():
        is_new = not path.exists()
        path.mkdir(mode=mode, exist_ok=True)
        yield Written(path, is_new, about)


def _write(path: Path, content: str, mode: int, about: str) -> Written:
    """Write a file whole and at once, unless there is one."""
    part = part_of(path)
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content)
        path.hardlink_to(part)
    except FileExistsError:
        return Written(path, is_new=False, about=about)
    finally:
        part.unlink(missing_ok=True)
    return Written(path, is_new=True, about=about)


def _quote(path: Path) -> str:
    """Return a path as TOML has it."""
    return "'" + str(path) + "'"
