"""Taking a batch out.

Recorded in one step, and whatever is left of it erased then or by the next sweep.
"""

from __future__ import annotations

from deid_assets.config import Settings
from deid_assets.intake.states import BatchStatus
from deid_assets.store.files import StoreFiles
from deid_assets.store.publishing import ReleaseFolders
from deid_assets.store.signing import ReleaseSigner
from deid_assets.store.withdrawals import ARRIVAL, WITHDRAWN, Withdrawals


def releases_of(settings: Settings, files: StoreFiles) -> ReleaseFolders:
    """Return the releases of an installation."""
    return ReleaseFolders(
        settings.released,
        record=settings.release_record,
        signer=ReleaseSigner(settings.key()),
        withdrawals=Withdrawals(files),
    )


def withdraw(
    settings: Settings, files: StoreFiles, releases: ReleaseFolders, found: BatchStatus
) -> None:
    """Record that a batch is withdrawn, take its release back, and erase all that was made of it
    but its files.

    Raises:
        ProvenanceError: The list of releases was altered; the batch is withdrawn all the same.
    """
    counts: dict[str, int | float | str] = {
        "notes": found.tally.received,
        "withheld": 0,
        "sender": found.sender,
        "languages": found.languages,
    }
    releases.withdraw(record=lambda: Withdrawals(files).record(found.batch, counts))
    _erase(settings, files, [found.batch])


def enforce_withdrawals(settings: Settings, files: StoreFiles, releases: ReleaseFolders) -> None:
    """Complete what killed withdrawals left, and erase what runs made that were under way
    meanwhile.

    Raises:
        ProvenanceError: The list of releases was altered.
    """
    releases.sweep()
    _erase(settings, files, Withdrawals(files).batches())


def _erase(settings: Settings, files: StoreFiles, batches: list[str]) -> None:
    for batch in batches:
        files.erase(batch, keep=("landing", ARRIVAL, WITHDRAWN))
        for report in settings.reports.glob(f"*-{batch}.html"):
            report.unlink(missing_ok=True)
    if batches:
        _forget(settings, batches)


def _forget(settings: Settings, batches: list[str]) -> None:
    """Erase the notes, spans and decisions of batches from the text-free store."""
    from deid_assets.store.database import (  # noqa: PLC0415 - SQLModel takes 0.3 s to import
        Database,
    )
    from deid_assets.store.records import erase_batch  # noqa: PLC0415

    database = Database(settings.sql_url)
    try:
        database.upgrade()
        with database.session() as session:
            for batch in batches:
                erase_batch(session, batch)
            session.commit()
    finally:
        database.close()
