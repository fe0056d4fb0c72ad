"""Released tables: where they lie, and taking them back with a batch that they rest on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.core.assets import ReleaseAssets
from deid_assets.core.errors import DeidError
from deid_assets.store.files import StoreFiles
from deid_assets.store.publishing import ReleaseFolders
from deid_assets.store.signing import ReleaseSigner
from deid_assets.store.table_withdrawals import TableWithdrawals

RESTS_ON = "rests_on"
"""What a manifest of a table calls the releases of notes that it belongs to."""


def tables_folder(settings: Settings, study: str = "") -> Path:
    """Return the folder of the released tables of an installation, or of a study."""
    return settings.release_folder(study).with_name("released_tables")


def tables_record(settings: Settings, study: str = "") -> Path:
    """Return the installation's own copy of the list of released tables."""
    record = settings.release_record_of(study)
    return record.with_name(f"tables-{record.name}")


def table_releases_of(settings: Settings, files: StoreFiles, study: str = "") -> ReleaseFolders:
    """Return the released tables of an installation, or of a study; each is named as its table."""
    return ReleaseFolders(
        tables_folder(settings, study),
        record=tables_record(settings, study),
        signer=ReleaseSigner(settings.house_key()),
        withdrawals=TableWithdrawals(files, ReleaseAssets(study)),
    )


def list_released_tables(releases: ReleaseFolders) -> list[str]:
    """Return the tables that are out, sorted.

    Raises:
        ProvenanceError: The list of them was altered.
    """
    listed = releases.releases()
    return sorted({entry.batch for entry in listed.entries} - listed.list_withdrawn())


def sweep_tables(
    settings: Settings, files: StoreFiles, notes: ReleaseFolders, study: str = ""
) -> list[str]:
    """Take every table back that rests on notes which are no longer out, and return their names.

    Args:
        settings: Of the installation.
        files: The store.
        notes: The releases of notes of the same study, or of the installation.
        study: Whose tables they are.

    Raises:
        ProvenanceError: A list of releases was altered.
    """
    if not tables_folder(settings, study).is_dir():
        return []
    tables = table_releases_of(settings, files, study)
    listed = notes.releases()
    out = {entry.batch for entry in listed.entries} - listed.list_withdrawn()
    withdrawals = TableWithdrawals(files, ReleaseAssets(study))
    gone = [name for name in list_released_tables(tables) if not _rests_on(tables, name, out)]
    for name in gone:
        tables.withdraw(record=lambda name=name: withdrawals.record_of_batch(name))  # type: ignore[misc]
    if not gone:
        tables.sweep()
    return gone


def _rests_on(tables: ReleaseFolders, name: str, out: set[str]) -> bool:
    """Whether all that a table rests on is out; never where that cannot be read."""
    try:
        return set(tables.check_folder(name)[RESTS_ON]) <= out
    except (DeidError, KeyError, TypeError):
        return False


def files_of_tables(settings: Settings, files: StoreFiles, study: str) -> Iterator[Path]:
    """Yield the file of every table that is out, checked.

    Raises:
        ProvenanceError: One was altered.
    """
    if tables_folder(settings, study).is_dir():
        releases = table_releases_of(settings, files, study)
        for name in list_released_tables(releases):
            for file in releases.check_folder(name)["files"]:
                yield releases.root / name / file
