"""The studies of an installation as a process executes them: policy, key and lists, read once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from hmac import compare_digest
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.config.releases import StudySettings, patient_lines
from deid_assets.core.errors import ConfigError, DeidError
from deid_assets.core.keys import Key
from deid_assets.core.redact import Policy
from deid_assets.policies import load_policy
from deid_assets.system.digests import digest_of_path


@dataclass(frozen=True, slots=True)
class Study:
    """A study, loaded.

    Args:
        name: As in the settings.
        settings: Of the study.
        policy: Its redaction policy.
        key: That its ids, surrogates and shifts follow from.
        digest: Of what its redacted notes follow from, keyed, with what its files hold.
        files: Digest of the files that its settings name, which no process reads a second time.
        patients: Ids of the patients of its filter; ``None`` where all count.
        consent: Ids of the patients who agreed; ``None`` where nobody is asked.
    """

    name: str
    settings: StudySettings
    policy: Policy
    key: Key = field(repr=False)
    digest: str
    files: str
    patients: frozenset[str] | None = field(default=None, repr=False)
    consent: frozenset[str] | None = field(default=None, repr=False)


def load_studies(settings: Settings) -> dict[str, Study]:
    """Return the studies of the settings by name.

    Raises:
        ConfigError: With a line for each that cannot be loaded, or that has the key of another.
    """
    if not settings.studies:
        return {}
    house = settings.house_key()
    studies: dict[str, Study] = {}
    faults: list[str] = []
    whose = {_fingerprint(house): "the installation"}
    for name, given in settings.studies.items():
        try:
            study = _load(settings, name, given, house)
        except DeidError as error:
            faults.append(f"studies.{name}: {error}")
            continue
        fingerprint = _fingerprint(study.key)
        other = next((who for one, who in whose.items() if compare_digest(one, fingerprint)), "")
        if other:
            faults.append(
                f"studies.{name}.key_file: holds the key of {other}, so that their releases could"
                " be joined; give it one of its own"
            )
        whose[fingerprint] = f"study {name}"
        studies[name] = study
    if faults:
        raise ConfigError("\n".join(faults))
    return studies


def faults_of_loading(settings: Settings) -> Iterator[str]:
    """Yield what keeps the studies from being loaded, a line each."""
    try:
        load_studies(settings)
    except ConfigError as error:
        yield from str(error).splitlines()


def _load(settings: Settings, name: str, given: StudySettings, house: Key) -> Study:
    policy = load_policy(given.policy)
    key = settings.of_study(name).key()
    files = files_of(given)  # first: what changes while it is read is noticed later
    lists = {
        "consent": _patients_in(given.consent, "consent", may_be_empty=True),
        "patients": _patients_in(given.notes.patients, "notes.patients"),
    }
    values = given.notes.model_dump(mode="json", exclude={"patients"})
    made_of = {
        "name": name,
        "settings": values,
        "policy": policy.digest,
        "key": _fingerprint(key),
        "lists": {what: None if ids is None else sorted(ids) for what, ids in lists.items()},
    }
    digest = house.derive("study", "digest", json.dumps(made_of, sort_keys=True)).hex()
    return Study(name, given, policy, key, digest, files, **lists)


def files_of(given: StudySettings) -> str:
    """Return a digest of what the files of a study hold: lists of patients, and its key.

    It stays in memory.

    Raises:
        ConfigError: One cannot be read.
    """
    paths = [path for path in (given.consent, given.notes.patients, given.key_file) if path]
    try:
        return hashlib.sha256(" ".join(map(digest_of_path, paths)).encode()).hexdigest()
    except OSError as error:
        raise ConfigError(f"{error.filename} cannot be read ({error.strerror})") from None


def _patients_in(
    path: Path | None, what: str, *, may_be_empty: bool = False
) -> frozenset[str] | None:
    if path is None:
        return None
    return frozenset(patient_lines(path, what, may_be_empty=may_be_empty))


def _fingerprint(key: Key) -> str:
    return hashlib.sha256(key.derive("fingerprint of a key")).hexdigest()
