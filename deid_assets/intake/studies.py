"""What became of each study: its releases, what it waits for, and faults of its lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.config.releases import StudySettings, patient_lines
from deid_assets.core.assets import OF_A_RELEASE, ReleaseAssets
from deid_assets.core.errors import DeidError
from deid_assets.intake.consent import consent_of
from deid_assets.intake.states import open_batches
from deid_assets.intake.stops import find_stop
from deid_assets.intake.withdrawal import list_known_studies, releases_of
from deid_assets.store.files import Receipt, StoreFiles
from deid_assets.store.manifests import MANIFEST
from deid_assets.store.withdrawals import StudyWithdrawals

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """State of a study.

    Args:
        study: Its name.
        policy: Its redaction policy; empty where the settings name the study no longer.
        batches: That are worked on.
        released: Of these, with a release of the study.
        notes: In these releases.
        withheld: Notes that they withhold.
        revoked: Released notes of patients who agree no more; ``None`` where that cannot be told,
            since the list cannot be read or the study left the settings.
        reasons: Why batches have no release, one line each.
        faults: What somebody has to look at, one line each.
    """

    study: str
    policy: str
    batches: int
    released: int
    notes: int
    withheld: int
    revoked: int | None = 0
    reasons: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """Word for it; nothing that was not released reads as if it was."""
        if not self.policy:
            return "not in the settings"
        if self.released:
            return "released" if self.released == self.batches else "released in part"
        return "nothing released"


def study_states(settings: Settings, files: StoreFiles) -> list[StudyStatus]:
    """Return the state of every study, sorted by name.

    Raises:
        ProvenanceError: A receipt was altered.
    """
    patients: set[str] | None = None
    found = []
    for study in list_known_studies(settings):
        given = settings.studies.get(study)
        if patients is None and given and (given.consent or given.notes.patients):
            patients = _patients(settings, files)
        found.append(_state(settings, files, study, patients or set()))
    return found


def list_released_batches(settings: Settings, files: StoreFiles, study: str) -> list[str]:
    """Return the batches of which a study has a release, sorted."""
    return [batch for batch in open_batches(settings, files) if _has(settings, files, study, batch)]


def _state(settings: Settings, files: StoreFiles, study: str, patients: set[str]) -> StudyStatus:
    batches = open_batches(settings, files)
    given = settings.studies.get(study)
    withdrawn = set(StudyWithdrawals(files, study).list_own_batches())
    out = [batch for batch in batches if _has(settings, files, study, batch)]
    receipts = [_receipt(files, study, batch) for batch in out]
    reasons = [
        f"batch {batch}: {reason}"
        for batch in batches
        if batch not in out
        for reason in (
            [f"withdrawn; `deid studies retry {study} {batch}` brings it back"]
            if batch in withdrawn
            else _reasons(files, study, batch)
        )
    ]
    notes = sum(int(one.counts["notes"]) for one in receipts if one)
    faults = list(_faults_of_lists(study, given, patients)) if given else []
    revoked = _count_revoked(settings, files, study, out)
    faults += _faults_of_consent(study, given, notes, revoked)
    if given and set(batches) - withdrawn and not out:
        why = reasons[0] if reasons else "no batch was made for it yet: `deid run`"
        faults.append(f"study {study}: nothing is released, {why}")
    return StudyStatus(
        study,
        given.policy if given else "",
        len(batches),
        len(out),
        notes=notes,
        withheld=sum(int(one.counts["quarantined"]) for one in receipts if one),
        revoked=None if revoked is None else sum(revoked.values()),
        reasons=tuple(reasons),
        faults=tuple(faults),
    )


def _count_revoked(
    settings: Settings, files: StoreFiles, study: str, batches: Sequence[str]
) -> dict[str, int] | None:
    """Return batch to its released notes of patients who agree no more; ``None`` where that cannot
    be told.
    """
    if study not in settings.studies:
        return None if batches else {}
    try:
        consent = consent_of(settings, study)
    except DeidError:
        return None
    if consent is None:
        return {}
    found = {batch: consent.count_revoked(files, batch) for batch in batches}
    return {batch: count for batch, count in found.items() if count}


def _faults_of_consent(
    study: str, given: StudySettings | None, notes: int, revoked: Mapping[str, int] | None
) -> Iterator[str]:
    """Yield what is out that may not be, with what takes it back."""
    if given is None and revoked is None:
        yield (
            f"study {study}: left the settings with {notes:,} notes released, and no list of who"
            f" agreed is compared with them; `deid studies withdraw {study}` takes them back"
        )
    elif revoked is None and notes:
        yield (
            f"study {study}: whether the patients of its {notes:,} released notes still agree"
            f" cannot be told; put the list back; `deid studies withdraw {study}` takes them back"
        )
    elif revoked:
        batches = " ".join(revoked)
        yield (
            f"study {study}: {sum(revoked.values()):,} of {notes:,} released notes are of patients"
            " who agree no more; the next `deid run` takes these releases back and makes them"
            f" without, `deid studies withdraw {study} {batches}` takes them back now"
        )


def _receipt(files: StoreFiles, study: str, batch: str) -> Receipt | None:
    return files.find(ReleaseAssets(study).released, batch)


def _has(settings: Settings, files: StoreFiles, study: str, batch: str) -> bool:
    releases = releases_of(settings, files, study)
    folder = releases.root / releases.name_of(batch)
    return (folder / MANIFEST).is_file() and _receipt(files, study, batch) is not None


def _reasons(files: StoreFiles, study: str, batch: str) -> Iterator[str]:
    for asset in OF_A_RELEASE:
        stop = find_stop(files, ReleaseAssets(study).of(asset), batch)
        yield from stop.reasons if stop else ()


def _patients(settings: Settings, files: StoreFiles) -> set[str]:
    """Return the ids of the patients of all batches."""
    found: set[str] = set()
    for batch in open_batches(settings, files):
        if files.find("raw_notes", batch) is not None:
            ids = files.read("raw_notes", batch, "notes").column("patient_id").unique()
            found |= {one for one in ids.to_pylist() if one is not None}
    return found


def _faults_of_lists(study: str, given: StudySettings, patients: set[str]) -> Iterator[str]:
    for what, path in (("consent", given.consent), ("notes.patients", given.notes.patients)):
        if path is not None:
            where = f"study {study}: {what}"
            yield from _report_unknown(where, path, patients, may_be_empty=what == "consent")


def _report_unknown(
    where: str, path: Path, patients: set[str], *, may_be_empty: bool
) -> Iterator[str]:
    try:
        lines = patient_lines(path, where, may_be_empty=may_be_empty)
    except DeidError as error:
        yield f"{error}"
        return
    if not lines:
        yield f"{where}: {path} names nobody, and nothing is released"
        return
    unknown = [number for one, number in lines.items() if one not in patients]
    if unknown:
        named = ", ".join(map(str, unknown[:_SHOWN])) + (", …" if len(unknown) > _SHOWN else "")
        yield (
            f"{where}: {len(unknown):,} of the {len(lines):,} patients of {path} are in no batch"
            f" (line {named}); correct the ids, or wait for their notes"
        )
