"""Which settings an installation is run under.

Two processes under different ones would undo each other's work.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError
from deid_assets.system.atomic import atomic_file

RECORD = "settings.json"
_DEFAULTS = "the defaults"
_APART = {"home", "workers", "database_url"}
"""Settings that say where and how fast, not how notes are de-identified."""


@dataclass(frozen=True, slots=True)
class SettingsRecord:
    """What an installation was last run under.

    Args:
        source: Path of the settings' file, or words for none.
        database: URL of the text-free store without its password; empty where it is in the home.
        digest: Of the settings, keyed, since options may hold a secret.
    """

    source: str
    database: str
    digest: str

    @property
    def shown(self) -> str:
        """Words for people."""
        return self.source + (f" and the database {self.database}" if self.database else "")


@dataclass(frozen=True, slots=True)
class SettingsSource:
    """Where settings come from that are neither in ``DEID_CONFIG`` nor the defaults.

    Args:
        name: Words for it; the installation is its alone.
        where: File that messages name; ``name`` where empty.
        called: Setting to its name there, of those that have another.
    """

    name: str
    where: str = ""
    called: Mapping[str, str] = field(default_factory=dict)

    def show(self, fault: str) -> str:
        """Return a fault of the settings, by the names that they have here."""
        setting, colon, rest = fault.partition(":")
        first, dot, inner = setting.partition(".")
        here = self.called.get(first, first)
        return f"{self.where or self.name}: {here}{dot}{inner}{colon}{rest}"


def check_settings(
    settings: Settings, *, adopt: bool = False, source: SettingsSource | None = None
) -> None:
    """Check that the installation is run under the settings that it was run under before, and keep
    their digest.

    A file that was edited is the same source, and its settings are the installation's from now on.

    Args:
        settings: Of this process.
        adopt: Take these settings from now on, whichever there were.
        source: Where they come from, if from a code location.

    Raises:
        ConfigError: The settings are others, from elsewhere; one line names both.
    """
    path = settings.home / RECORD
    given, known = _record_given(settings, source), _read(path)
    if known is not None and source is not None and given.source != known.source:
        raise ConfigError(
            source.show(
                f"home: {settings.home.absolute()} is run under {known.shown}, and two"
                " installations in one folder would undo each other's work; name another folder"
            )
        )
    if known is not None and not adopt and not _is_same(given, known):
        raise ConfigError(
            f"{settings.home.absolute()} is run under {known.shown}; this process has"
            f" {given.shown}, and would undo what the other makes; {_as_before(known)}, or go on"
            " under these by `deid run --other-settings`"
        )
    if given != known:
        with atomic_file(path) as file:
            file.write(json.dumps(asdict(given), indent=1).encode())


def _is_same(given: SettingsRecord, known: SettingsRecord) -> bool:
    if given.database != known.database:
        return False
    return given.digest == known.digest or (given.source == known.source != _DEFAULTS)


def _as_before(known: SettingsRecord) -> str:
    file = "unset DEID_CONFIG" if known.source == _DEFAULTS else f"set DEID_CONFIG={known.source}"
    return file + (" and DEID_DATABASE_URL as it was" if known.database else "")


def _record_given(settings: Settings, source: SettingsSource | None) -> SettingsRecord:
    file = os.environ.get("DEID_CONFIG")
    # A setting that came later and is not used leaves the digest of earlier versions as it was.
    unused = set() if settings.studies else {"studies"}
    values = settings.model_dump(mode="json", exclude=_APART | unused)
    digest = settings.key().derive("settings", json.dumps(values, sort_keys=True)).hex()
    name = source.name if source else str(Path(file).resolve()) if file else _DEFAULTS
    return SettingsRecord(name, _hide_password(settings), digest)


def _hide_password(settings: Settings) -> str:
    if not settings.database_url:
        return ""
    try:
        return make_url(settings.database_url).render_as_string(hide_password=True)
    except ArgumentError:  # said by what opens it
        return "that cannot be read"


def _read(path: Path) -> SettingsRecord | None:
    """Return the record.

    None where there is none, or what is there is damaged: it guards from a mistake, not a person.
    """
    try:
        return SettingsRecord(**json.loads(path.read_bytes()))
    except (FileNotFoundError, ValueError, TypeError):
        return None
