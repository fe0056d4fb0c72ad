"""Taking a batch out.

Recorded in one step, and whatever is left of it erased then or by the next sweep.
"""

from __future__ import annotations

from deid_assets.config import Settings
from deid_assets.config.releases import STUDY_NAME
from deid_assets.core.assets import OF_A_RELEASE, STUDY, ReleaseAssets
from deid_assets.intake.states import BatchStatus
from deid_assets.intake.stops import clear_stop
from deid_assets.intake.table_releases import sweep_tables
from deid_assets.store.files import StoreFiles
from deid_assets.store.publishing import ReleaseFolders
from deid_assets.store.signing import ReleaseSigner
from deid_assets.store.withdrawals import ARRIVAL, WITHDRAWN, StudyWithdrawals, Withdrawals


def releases_of(settings: Settings, files: StoreFiles, study: str = "") -> ReleaseFolders:
    """Return the releases of an installation, or of one of its studies."""
    key = settings.house_key()
    return ReleaseFolders(
        settings.release_folder(study),
        record=settings.release_record_of(study),
        signer=ReleaseSigner(key),
        withdrawals=StudyWithdrawals(files, study) if study else Withdrawals(files),
        study=study,
        key=key,
    )


def list_known_studies(settings: Settings) -> list[str]:
    """Return the studies of the settings, and those that have releases from earlier settings,
    sorted.
    """
    folder = settings.studies_folder
    there = [path.name for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
    return sorted({*settings.studies, *filter(STUDY_NAME.fullmatch, there)})


def withdraw(
    settings: Settings, files: StoreFiles, releases: ReleaseFolders, found: BatchStatus
) -> None:
    """Record that a batch is withdrawn, take its releases back, those of studies too, and erase all
    that was made of it but its files.

    Raises:
        ProvenanceError: A list of releases was altered; the batch is withdrawn all the same.
    """
    counts: dict[str, int | float | str] = {
        "notes": found.tally.received,
        "withheld": 0,
        "sender": found.sender,
        "languages": found.languages,
    }
    releases.withdraw(record=lambda: Withdrawals(files).record(found.batch, counts))
    sweep_tables(settings, files, releases)
    _sweep_studies(settings, files)
    _erase(settings, files, [found.batch])


def withdraw_from_study(settings: Settings, files: StoreFiles, study: str, batch: str) -> None:
    """Take the release of a batch back from a study, and erase what the study made of it.

    Raises:
        ProvenanceError: The study's list of releases was altered; the batch is withdrawn from it
            all the same.
    """
    withdrawals = StudyWithdrawals(files, study)
    releases = releases_of(settings, files, study)
    releases.withdraw(record=lambda: withdrawals.record(batch, {}))
    sweep_tables(settings, files, releases, study)
    _erase_study(settings, files, study, batch)


def take_into_study(files: StoreFiles, study: str, batch: str) -> None:
    """Bring a batch back into a study, so that the next run makes its release."""
    StudyWithdrawals(files, study).take_in(batch)
    for asset in OF_A_RELEASE:
        clear_stop(files, ReleaseAssets(study).of(asset), batch)


def take_back(settings: Settings, files: StoreFiles, study: str, batch: str) -> None:
    """Take the release of a batch back from a study, and leave the batch open for the next one.

    Raises:
        ProvenanceError: The study's list of releases was altered; the batch is withdrawn from it.
    """
    withdraw_from_study(settings, files, study, batch)
    take_into_study(files, study, batch)


def enforce_withdrawals(settings: Settings, files: StoreFiles, releases: ReleaseFolders) -> None:
    """Complete what killed withdrawals left, and erase what runs made that were under way
    meanwhile.

    Raises:
        ProvenanceError: A list of releases was altered.
    """
    releases.sweep()
    sweep_tables(settings, files, releases)
    _sweep_studies(settings, files)
    _erase(settings, files, Withdrawals(files).batches())
    for study in list_known_studies(settings):
        for batch in StudyWithdrawals(files, study).list_own_batches():
            _erase_study(settings, files, study, batch)


def _sweep_studies(settings: Settings, files: StoreFiles) -> None:
    for study in list_known_studies(settings):
        releases = releases_of(settings, files, study)
        releases.sweep()
        sweep_tables(settings, files, releases, study)


def _erase_study(settings: Settings, files: StoreFiles, study: str, batch: str) -> None:
    for asset in OF_A_RELEASE:
        files.discard(ReleaseAssets(study).of(asset), batch)
    for report in settings.reports.glob(f"*-{STUDY}_{study}-{batch}.html"):
        report.unlink(missing_ok=True)


def _erase(settings: Settings, files: StoreFiles, batches: list[str]) -> None:
    records = [ReleaseAssets(study).withdrawn for study in list_known_studies(settings)]
    for batch in batches:
        files.erase(batch, keep=("landing", ARRIVAL, WITHDRAWN, *records))
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
