"""``deid migrate``: migrate the home of an earlier version."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from deid_assets.cli.app import app
from deid_assets.cli.endings import guard_command, say
from deid_assets.config import Settings
from deid_assets.core.errors import InputError
from deid_assets.intake.arrivals import is_part, whole_of
from deid_assets.intake.reader import landing_store
from deid_assets.store.generation import (
    ASIDE,
    MARKER,
    UNFINISHED,
    is_migration_unfinished,
    is_of_another_generation,
    migrating,
)
from deid_assets.system.atomic import sync_folder

_MADE = (
    "released",
    "reports",
    "dagster",
    "models",
    "deid.sqlite",
    "deid.sqlite-wal",
    "deid.sqlite-shm",
    "store",
)
"""Moved in this order, the store last: once it lies aside, everything does."""


@app.command()
@guard_command
def migrate() -> int:
    """Move what arrived back to the landing folder, and what an earlier version made of it aside.

    The next deid run makes everything again, under the names of this version. A migration that was
    killed goes on where it ended.
    """
    settings = Settings.load()
    if not is_migration_unfinished(settings.store):
        if not is_of_another_generation(settings.store):
            say(f"{settings.home}: nothing to migrate")
            return 0
        _begin(settings.home)
    # Imported late: the store loads pyarrow, which other commands do without.
    from deid_assets.cli.installation import carrying  # noqa: PLC0415

    aside = settings.home / ASIDE
    is_aside = (aside / "store").exists()
    old = aside / "store" if is_aside else settings.store
    keyless = not (old / MARKER).is_file()
    withdrawn = carrying.list_withdrawn_batches(old)
    moved = 0
    if not is_aside:
        moved = _bring_back(settings, kept={whole_of(batch) for batch in withdrawn})
        _set_aside(settings.home)
    with migrating():
        for line in carrying.carry(settings, aside, withdrawn, keyless=keyless):
            say(line)
    (aside / UNFINISHED).unlink()
    warning = (
        ", and take back releases that were handed out, since their ids confirm their originals"
        if keyless
        else ""
    )
    say(
        f"{moved} arrivals are back in {settings.landing}; what was made before lies in {aside}:"
        f" remove it when the new releases stand{warning}"
    )
    return 0


def _begin(home: Path) -> None:
    """Say on disk that a migration is under way, before anything is moved.

    Raises:
        InputError: Something of an earlier migration is in the way.
    """
    aside = home / ASIDE
    for name in _MADE:
        _check_free(aside / name)
    aside.mkdir(mode=0o700, exist_ok=True)
    (aside / UNFINISHED).touch()
    sync_folder(aside)
    sync_folder(home)


def _set_aside(home: Path) -> None:
    for name in _MADE:
        if (home / name).exists():
            _check_free(home / ASIDE / name)
            (home / name).rename(home / ASIDE / name)
    sync_folder(home / ASIDE)


def _bring_back(settings: Settings, *, kept: Collection[str]) -> int:
    """Move each arrival to the landing folder, under another name where its own is taken, and
    return how many.

    Args:
        settings: Of the installation.
        kept: Arrivals that are withdrawn, as a whole or in part.
    """
    everything = _list_arrived(landing_store(settings))
    arrived = [path for path in everything if path.parent.name.removeprefix(".") not in kept]
    settings.landing.mkdir(parents=True, exist_ok=True, mode=0o700)
    for path in arrived:
        target = settings.landing / path.name
        if target.exists():
            target = settings.landing / f"{path.stem}-{path.parent.name}{path.suffix}"
        _check_free(target)
        path.rename(target)
    return len(arrived)


def _list_arrived(landing: Path) -> Iterator[Path]:
    """Yield what arrived; of what was split or waited for it the whole, and no part."""
    for folder in (landing, landing / ".whole", landing / ".large"):
        for path in sorted(folder.glob("*/*")):
            batch = path.parent.name
            if not is_part(batch) and not batch.endswith((".whole", ".large", ".part", ".done")):
                yield path


def _check_free(target: Path) -> None:
    if target.exists():
        raise InputError(f"{target} is there already; move it away and run `deid migrate` again")
