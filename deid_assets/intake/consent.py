"""Studies' releases with notes of patients who agree no more, found and taken back.

A list of who agreed is read where it is, not as a process found it when it started, and what is out
is compared with it alone: neither the notes nor the installation's own release is needed, so that
nothing that stops a batch keeps a note of somebody in a release who took the consent back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from deid_assets.config import Settings
from deid_assets.config.releases import patient_lines
from deid_assets.core.assets import ReleaseAssets
from deid_assets.core.errors import DeidError
from deid_assets.core.keys import Key, derive_released_id
from deid_assets.intake.withdrawal import take_back
from deid_assets.store.files import StoreFiles

AGREED = "agreed"
"""Count of a release's receipt with the keyed digest of the list that it was made under."""


@dataclass(frozen=True)
class Consent:
    """Who agreed to a study now.

    Args:
        study: Its name.
        key: Of the study.
        patients: Their ids.
    """

    study: str
    key: Key = field(repr=False)
    patients: frozenset[str] = field(repr=False)

    @cached_property
    def digest(self) -> str:
        """Keyed digest of the list."""
        return digest_of_consent(self.key, self.patients)

    @cached_property
    def released_ids(self) -> frozenset[str]:
        """Ids of these patients, as the study's releases name them."""
        return frozenset(derive_released_id(self.key, "patient", one) for one in self.patients)

    def count_revoked(self, files: StoreFiles, batch: str) -> int:
        """Return how many released notes of a batch are of nobody who agreed.

        Raises:
            ProvenanceError: The release's receipt or table was altered.
        """
        released = ReleaseAssets(self.study).released
        receipt = files.find(released, batch)
        if receipt is None or receipt.counts.get(AGREED) == self.digest:
            return 0
        patients = files.read(released, batch, "notes").column("patient_id").to_pylist()
        return sum(patient not in self.released_ids for patient in patients)


def digest_of_consent(key: Key, patients: Iterable[str]) -> str:
    """Return a keyed digest of the patients who agreed to a study; ``key`` is the study's."""
    return key.derive("consent", *sorted(patients)).hex()[:32]


def consent_of(settings: Settings, study: str) -> Consent | None:
    """Return who agreed to a study now; ``None`` where nobody is asked.

    Raises:
        ConfigError: The list, or the study's key, cannot be read.
    """
    path = settings.studies[study].consent
    if path is None:
        return None
    patients = patient_lines(path, f"studies.{study}: consent", may_be_empty=True)
    return Consent(study, settings.of_study(study).key(), frozenset(patients))


def digest_of_lists(settings: Settings) -> str:
    """Return a digest of who agreed to the studies now.

    Raises:
        ConfigError: A list, or a study's key, cannot be read.
    """
    found = {study: consent_of(settings, study) for study in settings.studies}
    digests = {study: one.digest for study, one in found.items() if one is not None}
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def take_back_revoked(
    settings: Settings, files: StoreFiles, batches: Sequence[str] | None = None
) -> list[tuple[str, str]]:
    """Take back every study's release that has a note of nobody who agrees now.

    The batch stays open for the study, so that the next release, without these notes, needs nobody.
    What is wrong with one study or batch is said when all others were looked at.

    Args:
        settings: Of the installation.
        files: The store.
        batches: That are looked at; all of which a study has a release where not given.

    Returns:
        Study and batch of each that was taken back.

    Raises:
        ConfigError: A list, or a study's key, cannot be read.
        ProvenanceError: A release, or a list of releases, was altered.
    """
    taken: list[tuple[str, str]] = []
    faults: list[DeidError] = []
    for study in settings.studies:
        try:
            consent = consent_of(settings, study)
        except DeidError as error:
            faults.append(error)
            continue
        if consent is None:
            continue
        there = files.batches(ReleaseAssets(study).released) if batches is None else batches
        for batch in there:
            try:
                if consent.count_revoked(files, batch):
                    take_back(settings, files, study, batch)
                    taken.append((study, batch))
            except DeidError as error:
                faults.append(error)
    if faults:
        raise faults[0]
    return taken
