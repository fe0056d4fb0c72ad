"""Planning an erasure: what is held is found, and what takes its place is staged."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.core.assets import Family, family_of
from deid_assets.core.errors import InputError
from deid_assets.erasure.holdings import (
    Holding,
    files_of_arrival,
    find_holdings,
    parse_entries,
)
from deid_assets.erasure.plan import (
    STAGED,
    WHOLE,
    ErasurePlan,
    PlannedBatch,
    PlannedWhole,
    patient_digest,
)
from deid_assets.erasure.rules import RuleHolders
from deid_assets.formats.annotated import Fault
from deid_assets.formats.parsed_notes import encode_parsed_note
from deid_assets.intake.arrivals import PART_FILE, ArrivedFile, is_part, whole_of
from deid_assets.intake.reader import source_of
from deid_assets.intake.reading import BATCH_TOML
from deid_assets.intake.states import batch_ids
from deid_assets.intake.withdrawal import list_known_studies, releases_of
from deid_assets.store.denials import Denials
from deid_assets.store.files import ALL, StoreFiles
from deid_assets.store.retraining import TO_BE_RETRAINED
from deid_assets.store.withdrawals import ARRIVAL, Withdrawals
from deid_assets.vault.log import AccessRequest
from deid_assets.vault.opening import open_vault
from deid_assets.vault.store import Vault
from deid_assets.vault.upkeep import count_held

MODELS = frozenset({Family.TAGGER, Family.ADAPTER, Family.ONNX})
TRAINING_SET = "training_corpus"
OPTIONS_FOLDER = "arrival"
"""Name of the folder that keeps a ``batch.toml``; its own may name a patient."""


@dataclass(frozen=True, slots=True)
class ErasureOrder:
    """Somebody's order to erase a patient.

    Args:
        patient: Id of the patient.
        request: Who asks, and why; the reason goes into the vault's log alone.
        deletes_models: Whether models that rest on the patient's notes are deleted at once.
        drops_unreadable: Whether entries that cannot be read may go with the files they stand in.
        number: Of the certificate.
    """

    patient: str
    request: AccessRequest
    deletes_models: bool = False
    drops_unreadable: bool = False
    number: int = 1


@contextmanager
def open_named_vault(settings: Settings) -> Iterator[Vault | None]:
    """Open the vault that the settings name, where they name one."""
    named = settings.vault
    if not named.url:
        yield None
        return
    with open_vault(named.url, named.key_file, require_patient=named.require_patient) as (vault, _):
        yield vault


def make_plan(
    settings: Settings, files: StoreFiles, folder: Path, order: ErasureOrder
) -> ErasurePlan:
    """Find what is held of a patient, stage what takes its place, and return the plan.

    Nothing is erased, and the plan is not written yet.

    Raises:
        InputError: Something arrived and is in no batch, or entries that cannot be read would go.
        ProvenanceError: What is stored was altered.
    """
    holders = RuleHolders(Denials(files).read(), order.patient)
    found = find_holdings(settings, files, order.patient, seen=holders.see)
    _check_unreadable(found.batches, order)
    named = {holding.batch for holding in found.batches}
    dependents = sorted({one for batch in named for one in files.dependents(batch)})
    outside = [one for one in dependents if one.rpartition("@")[2] not in named]
    models = [one.rpartition("@")[0] for one in outside if one.endswith(f"@{ALL}")]
    models = [asset for asset in models if family_of(asset) in MODELS]
    corpus = f"{TRAINING_SET}@{ALL}"
    ours = {corpus, *(f"{model}@{ALL}" for model in models)}
    others = [one for one in outside if one not in ours and not one.startswith(TO_BE_RETRAINED)]
    batches = tuple(_stage(settings, files, folder, one, order.patient) for one in found.batches)
    with open_named_vault(settings) as vault:
        sealed = None if vault is None else count_held(vault, order.patient)
    return ErasurePlan(
        patient=patient_digest(settings.key(), order.patient),
        number=order.number,
        by=order.request.who,
        asked_at=datetime.now(UTC).isoformat(timespec="seconds"),
        batches=batches,
        wholes=tuple(_wholes(settings, files, folder, found.batches)),
        models={asset: files.receipt(asset, ALL).digest for asset in models},
        deletes_models=order.deletes_models,
        has_corpus=corpus in outside and holds_patient(files, TRAINING_SET, ALL, order.patient),
        dependents=tuple(others),
        vault=sealed,
        read=found.read,
        unknown=found.unknown,
        rules=holders.only_theirs,
        cases=holders.cases,
        unplaced=holders.unplaced,
    )


def holds_patient(files: StoreFiles, asset: str, batch: str, patient: str) -> bool:
    """Whether a stored partition has notes of a patient.

    Raises:
        ProvenanceError: It was altered.
    """
    receipt = files.find(asset, batch)
    for table in receipt.outputs if receipt else ():
        found = files.read(asset, batch, table)
        has_patients = "patient_id" in found.column_names
        if has_patients and patient in found.column("patient_id").to_pylist():
            return True
    return False


def _check_unreadable(holdings: Sequence[Holding], order: ErasureOrder) -> None:
    """Refuse to lose entries that nobody could read, unless that was asked for."""
    lost = [one for one in holdings if one.unreadable and not is_part(one.batch)]
    if lost and not order.drops_unreadable:
        raise InputError(
            f"batch {lost[0].batch} has {lost[0].unreadable:,} entries that cannot be read, beside"
            " notes of the patient; whose they are is unknown, and they go with the files they"
            f" stand in: have them read first (`deid batches show {lost[0].batch}`), or give"
            " --drop-unreadable"
        )


def _stage(
    settings: Settings, files: StoreFiles, folder: Path, holding: Holding, patient: str
) -> PlannedBatch:
    """Write a batch without the patient's notes."""
    batch = holding.batch
    target = folder / STAGED / batch / PART_FILE
    target.parent.mkdir(mode=0o700, parents=True)
    content = hashlib.sha256()
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for entry in parse_entries(settings, files, batch):
            if not isinstance(entry, Fault) and entry.patient_id == patient:
                continue
            line = encode_parsed_note(entry)
            content.update(line)
            file.write(line)
        file.flush()
        os.fsync(file.fileno())
    return PlannedBatch(
        batch,
        content.hexdigest(),
        notes=holding.notes,
        others=holding.others,
        unreadable=holding.unreadable,
        is_withdrawn=holding.is_withdrawn,
        is_released=_is_released(settings, files, batch),
        assets=tuple(asset for asset, other in files.partitions() if other == batch),
    )


def _is_released(settings: Settings, files: StoreFiles, batch: str) -> bool:
    """Whether the installation, or one of its studies, has a release of a batch."""
    every = [releases_of(settings, files, study) for study in ("", *list_known_studies(settings))]
    return any((releases.root / releases.name_of(batch)).is_dir() for releases in every)


def _wholes(
    settings: Settings, files: StoreFiles, folder: Path, holdings: Sequence[Holding]
) -> Iterator[PlannedWhole]:
    """Yield the copies of arrivals that go, with their options staged to stay."""
    for arrival in sorted({whole_of(holding.batch) for holding in holdings}):
        cut = [holding for holding in holdings if whole_of(holding.batch) == arrival]
        has_options = _stage_options(settings, folder, arrival, batch=cut[0].batch)
        if not is_part(cut[0].batch):
            yield PlannedWhole(arrival, has_options)
            continue
        parts = [batch for batch in batch_ids(settings) if whole_of(batch) == arrival]
        keep = _names_to_keep(settings, files, cut, parts)
        yield PlannedWhole(
            arrival,
            has_options,
            digest="" if keep is None else files.receipt(ARRIVAL, arrival).digest,
            keep=tuple(keep or ()),
            parts=tuple(parts),
            withdrawn=tuple(batch for batch in parts if Withdrawals(files).is_withdrawn(batch)),
        )


def _stage_options(settings: Settings, folder: Path, arrival: str, *, batch: str) -> bool:
    """Stage the ``batch.toml`` of an arrival, which says how its notes are read."""
    source = source_of(settings, batch)
    options = source / BATCH_TOML if source is not None and source.is_dir() else None
    if options is None or not options.is_file():
        return False
    target = folder / WHOLE / arrival / OPTIONS_FOLDER / BATCH_TOML
    target.parent.mkdir(mode=0o700, parents=True)
    shutil.copyfile(options, target)
    return True


def _names_to_keep(
    settings: Settings, files: StoreFiles, cut: Sequence[Holding], parts: Sequence[str]
) -> list[int] | None:
    """Return which files the receipt of a larger arrival may still name; ``None`` for all.

    The name of a file in which only the patient had notes may be the patient's.
    """
    whole = files_of_arrival(files, cut[0].batch)
    theirs = set[str]().union(*(holding.only_theirs for holding in cut))
    if whole is None or not theirs or len(whole.files) < 2:
        return None
    named = {holding.batch for holding in cut}
    for part in parts:
        if part not in named:
            theirs -= {
                entry.file.partition("!/")[0] for entry in parse_entries(settings, files, part)
            }
    for holding in cut:
        theirs -= _of_others(settings, files, holding)
    keep = [at for at, file in enumerate(whole.files) if not _is_one_of(file, theirs)]
    return None if len(keep) == len(whole.files) else keep


def _of_others(settings: Settings, files: StoreFiles, holding: Holding) -> set[str]:
    """Return the files of a batch in which others have notes, too."""
    return {
        entry.file.partition("!/")[0] for entry in parse_entries(settings, files, holding.batch)
    } - holding.only_theirs


def _is_one_of(file: ArrivedFile, names: set[str]) -> bool:
    inner = file.name.partition("/")[2]
    return file.name in names or (bool(inner) and inner in names)
