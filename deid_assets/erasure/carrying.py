"""Carrying an erasure out: each step may be done again, so that a killed erasure is completed."""

from __future__ import annotations

import shutil
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.core.assets import family_of
from deid_assets.core.errors import ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.erasure.certificate import Certificate, certificates_folder, issue
from deid_assets.erasure.denying import forget
from deid_assets.erasure.holdings import parse_entries
from deid_assets.erasure.plan import (
    OLD,
    STAGED,
    WHOLE,
    ErasurePlan,
    PlannedBatch,
    PlannedWhole,
    check_no_other,
    clear,
    patient_digest,
    plans_folder,
    read_plan,
    write_plan,
)
from deid_assets.erasure.planning import (
    TRAINING_SET,
    ErasureOrder,
    holds_patient,
    make_plan,
    open_named_vault,
)
from deid_assets.formats.annotated import Fault
from deid_assets.intake.arrivals import (
    PART_FILE,
    find_arrival,
    list_files,
    sign_replacement,
)
from deid_assets.intake.reader import landing_folder, landing_store
from deid_assets.intake.reviewed import complete_returns
from deid_assets.intake.states import look
from deid_assets.intake.withdrawal import releases_of, withdraw
from deid_assets.store.atomic import lock_folder, make_folder
from deid_assets.store.files import ALL, Receipt, StoreFiles, inputs_of
from deid_assets.store.retraining import RetrainMarks
from deid_assets.store.withdrawals import ARRIVAL, WITHDRAWN, Withdrawals
from deid_assets.store.zones import Zone
from deid_assets.system.atomic import replace_folder
from deid_assets.system.digests import sha256_of
from deid_assets.vault.upkeep import count_held, erase

_RAW = "raw_notes"


def look_for(settings: Settings, order: ErasureOrder) -> ErasurePlan:
    """Return what an erasure would do; nothing stays written.

    Raises:
        InputError: As ``erase_patient``.
        ProvenanceError: As ``erase_patient``.
    """
    files = StoreFiles(settings.store, key=settings.receipt_key())
    folder = _folder_of(settings, order.patient)
    make_folder(settings.store, folder, Zone.RESTRICTED)
    with lock_folder(folder.parent):
        begun = read_plan(folder, key=settings.key())
        if begun is not None:
            return begun
        check_no_other(settings.store, folder.name)
        clear(folder, keeps_plan=True)
        try:
            return make_plan(settings, files, folder, order)
        finally:
            clear(folder, keeps_plan=False)


def erase_patient(settings: Settings, order: ErasureOrder) -> Certificate | None:
    """Erase a patient from the installation, and return the certificate.

    A killed erasure is completed by the next call. ``None`` where nothing is held.

    Raises:
        InputError: Something arrived and is in no batch, or another erasure is not completed.
        ProvenanceError: What is stored was altered; nothing was erased, or what was begun stays to
            be completed.
    """
    files = StoreFiles(settings.store, key=settings.receipt_key())
    folder, key = _folder_of(settings, order.patient), settings.key()
    make_folder(settings.store, folder.parent, Zone.RESTRICTED)
    with lock_folder(folder.parent):
        plan = read_plan(folder, key=key)
        if plan is None:
            make_folder(settings.store, folder, Zone.RESTRICTED)
            check_no_other(settings.store, folder.name)
            clear(folder, keeps_plan=True)
            complete_returns(settings, files)
            plan = make_plan(settings, files, folder, order)
            if plan.is_nothing:
                clear(folder, keeps_plan=False)
                return None
            write_plan(folder, plan, key=key)
        _Erasure(settings, files, folder, plan, order).carry_out()
        clear(folder, keeps_plan=True)
        certificate = issue(settings, plan)
        clear(folder, keeps_plan=False)
        return certificate


def next_number(settings: Settings, patient: str) -> int:
    """Return the number of the next certificate on a patient."""
    digest = patient_digest(settings.key(), patient)
    return 1 + len([*certificates_folder(settings).glob(f"{digest[:16]}-*.json")])


def _folder_of(settings: Settings, patient: str) -> Path:
    key: Key = settings.key()
    return plans_folder(settings.store) / patient_digest(key, patient)


class _Erasure:
    """One erasure, as it was planned."""

    def __init__(
        self,
        settings: Settings,
        files: StoreFiles,
        folder: Path,
        plan: ErasurePlan,
        order: ErasureOrder,
    ) -> None:
        self._settings, self._files, self._folder = settings, files, folder
        self._plan, self._order, self._patient = plan, order, order.patient
        self._withdrawals = Withdrawals(files)
        self._releases = releases_of(settings, files)

    def carry_out(self) -> None:
        """Do all steps that are not done, and check that nothing is left."""
        self._erase_training()
        if self._plan.rules or self._plan.cases:
            forget(self._files, self._plan.rules, patient=self._patient, by=self._plan.by)
        for whole in self._plan.wholes:
            self._erase_whole(whole)
        for batch in self._plan.batches:
            self._erase_batch(batch)
        planned = {batch.batch for batch in self._plan.batches}
        for whole in self._plan.wholes:
            if whole.digest:
                for part in whole.parts:
                    if part not in planned:
                        self._sign_part(whole, part)
        self._erase_vault()
        for batch in self._plan.batches:
            self._check(batch.batch)

    def _erase_training(self) -> None:
        """Mark the models, delete what trainings keep, and delete the training set."""
        home = self._settings.home
        for asset, digest in self._plan.models.items():
            RetrainMarks(self._files).mark(asset, digest)
            family = family_of(asset)
            name = family.name_in(asset) if family else asset
            shutil.rmtree(home / "training" / name, ignore_errors=True)
            found = self._files.find(asset, ALL)
            if self._plan.deletes_models and found is not None and found.digest == digest:
                self._files.discard(asset, ALL)
                shutil.rmtree(home / "models" / asset, ignore_errors=True)
        if self._plan.has_corpus and holds_patient(self._files, TRAINING_SET, ALL, self._patient):
            self._files.discard(TRAINING_SET, ALL)

    def _erase_whole(self, whole: PlannedWhole) -> None:
        """Delete the copy of an arrival but for its options, and names from its receipt."""
        staged = self._folder / WHOLE / whole.arrival
        target = landing_store(self._settings) / ".whole" / whole.arrival
        if staged.is_dir():
            self._replace(staged, target)
        elif not whole.has_options and target.is_dir():
            shutil.rmtree(target)
        known = find_arrival(self._files, whole.arrival) if whole.digest else None
        if known is not None and known.receipt.digest == whole.digest:
            listed = [known.files[at] for at in whole.keep]
            sign_replacement(self._files, whole.arrival, listed)

    def _erase_batch(self, planned: PlannedBatch) -> None:
        """Take a batch's release back, erase what was made of it, and put what stays in the place
        of its files.
        """
        batch, landing = planned.batch, landing_folder(self._settings, planned.batch)
        known = find_arrival(self._files, batch)
        whole = self._whole_of(batch)
        is_signed = (
            known is not None
            and [(file.name, file.sha256) for file in known.files] == [(PART_FILE, planned.sha256)]
            and (whole is None or known.receipt.inputs == inputs_of([whole]))
        )
        if not is_signed:
            self._withdraw(batch)
            self._put(planned, landing)
            listed = list_files([landing / PART_FILE], root=landing)
            sign_replacement(self._files, batch, listed, whole=whole)
        elif holds_patient(
            self._files, _RAW, batch, self._patient
        ):  # a run that was under way wrote it
            self._files.erase(batch, keep=("landing", ARRIVAL, WITHDRAWN))
        if planned.is_empty and not self._withdrawals.is_withdrawn(batch):
            self._withdraw(batch)
        if planned.is_withdrawn:
            self._stay_withdrawn(batch)

    def _sign_part(self, whole: PlannedWhole, part: str) -> None:
        """Have a part without the patient name the new receipt of what it was cut from."""
        known, receipt = find_arrival(self._files, part), self._whole_of(part)
        if known is None or receipt is None:
            return
        if known.receipt.inputs != inputs_of([receipt]):
            sign_replacement(self._files, part, known.files, whole=receipt)
        if part in whole.withdrawn:
            self._stay_withdrawn(part)

    def _whole_of(self, batch: str) -> Receipt | None:
        """Return the new receipt of what a batch was cut from, where that one was replaced."""
        for whole in self._plan.wholes:
            if whole.digest and batch in whole.parts:
                return self._files.receipt(ARRIVAL, whole.arrival)
        return None

    def _withdraw(self, batch: str) -> None:
        found = look(self._settings, self._files, batch)
        withdraw(self._settings, self._files, self._releases, found)

    def _stay_withdrawn(self, batch: str) -> None:
        if not self._withdrawals.is_withdrawn(batch):
            self._withdrawals.renew(batch)

    def _put(self, planned: PlannedBatch, landing: Path) -> None:
        """Put the staged batch in the place of its files, unless an earlier call did."""
        staged = self._folder / STAGED / planned.batch
        if staged.is_dir():
            self._check_file(staged / PART_FILE, planned)
            self._replace(staged, landing)
        self._check_file(landing / PART_FILE, planned)

    def _replace(self, staged: Path, target: Path) -> None:
        aside = self._folder / OLD / target.name
        if target.parent.name == ".whole":
            aside = aside.with_name(f"{target.name}.whole")
        aside.parent.mkdir(mode=0o700, exist_ok=True)
        target.parent.mkdir(mode=0o700, exist_ok=True)
        replace_folder(staged, target, aside=aside)

    def _check_file(self, path: Path, planned: PlannedBatch) -> None:
        if not path.is_file() or sha256_of(path) != planned.sha256:
            raise ProvenanceError(
                f"batch {planned.batch}: what was to take the place of its files was altered or is"
                f" gone from {path.parent}; restore it, and erase again"
            )

    def _erase_vault(self) -> None:
        with open_named_vault(self._settings) as vault:
            if vault is not None and any(count_held(vault, self._patient)):
                erase(vault, self._order.request, patient_id=self._patient)

    def _check(self, batch: str) -> None:
        """Look once more: a run that was under way may have written meanwhile.

        Raises:
            ProvenanceError: The patient is in the batch again.
        """
        entries = parse_entries(self._settings, self._files, batch)
        is_there = any(
            not isinstance(entry, Fault) and entry.patient_id == self._patient for entry in entries
        )
        if is_there or holds_patient(self._files, _RAW, batch, self._patient):
            raise ProvenanceError(
                f"batch {batch}: notes of the patient were written while they were erased; stop"
                " what runs, and erase again"
            )
