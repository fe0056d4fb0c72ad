"""Settings of releases: the conditions of one, who approves it, and the studies that have releases
of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from deid_assets.config.frozen import Frozen, Share
from deid_assets.core.errors import ConfigError

Recipient = Annotated[str, Field(pattern=r"^[\w .:@/+-]{1,100}$")]
"""Who gets a release: a person, a team or an address, on one line."""
STUDY_NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")


class ReleaseSettings(Frozen):
    """Conditions of a release.

    Args:
        require: ``gold`` keeps a batch back that was not measured, that is, with fewer than
            ``gates.min_gold_spans`` gold spans; ``none`` lets it leave as *not measured*.
        annotated_notes: With ``gold``, the annotated notes that a batch must have besides.
        lower_bound: With ``gold``, the smallest lower end of the 95 % interval of the share of gold
            spans covered.
        approval: Whether somebody must approve the page on a batch before it leaves; see ``deid
            approve``.
        shuffle: Release the notes of a batch in an order that follows from the key, not in that of
            the source. Those of a study always are.
    """

    require: Literal["gold", "none"] = "gold"
    annotated_notes: int = Field(default=0, ge=0)
    lower_bound: Share = 0.0
    approval: bool = False
    shuffle: bool = False


class ApprovalSettings(Frozen):
    """How the names of those who approve releases are proved.

    Args:
        keys: Name of an approver to the file with their public key, Ed25519 in PEM. They alone
            approve under that name.
        login_header: Header in which a reverse proxy names who is logged in, such as
            ``X-Remote-User``. The proxy must set or remove it in every request.
        login_secret: File with a secret that the proxy alone sends with it, in the header
            ``X-Deid-Proxy``, as ``openssl rand -hex 32`` gives one. Without it a login proves
            nothing, whoever the request comes from.
    """

    keys: Mapping[str, Path] = Field(default_factory=dict)
    login_header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{0,64}$")] = ""
    login_secret: Path | None = None


class StudyNotes(Frozen):
    """Which notes are in a study: those that meet everything that is named here.

    Args:
        patients: File with ids of patients, one a line; all patients where not given.
        lang: ISO 639-1 codes; all languages where none is named.
        meta: Field of the notes' ``meta`` to the values that it may have.
        since: Field of the notes' ``meta`` with a date to the first day that counts.
        until: The same to the last day that counts.
    """

    patients: Path | None = None
    lang: tuple[Annotated[str, Field(pattern=r"^[a-z]{2}$")], ...] = ()
    meta: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    since: Mapping[str, date] = Field(default_factory=dict)
    until: Mapping[str, date] = Field(default_factory=dict)


class StudySettings(Frozen):
    """A study: a release of its own from the spans that were found once.

    Args:
        policy: Its redaction policy, by name or path.
        notes: Which notes are in it; all where nothing is named.
        consent: File with the ids of the patients who agreed, one a line. Notes of others, and
            notes without patient, are in no release of the study.
        key_file: File with its own secret, as ``openssl rand -hex 32`` gives one; derived from the
            installation's and the study's name where not given.
        recipients: Who gets it, named in its manifest.
        release: Conditions of its release; those of the installation where not given.
    """

    policy: str
    notes: StudyNotes = StudyNotes()
    consent: Path | None = None
    key_file: Path | None = None
    recipients: tuple[Recipient, ...] = ()
    release: ReleaseSettings | None = None


def faults_of_study_names(values: Any) -> Iterator[str]:
    """Yield the names of studies that make no name of an asset and a folder."""
    for name in values if isinstance(values, Mapping) else ():
        if not isinstance(name, str) or not STUDY_NAME.fullmatch(name):
            yield (
                f"studies.{name!r}: no name for a study; take up to 31 small letters, digits and"
                " underscores, with a letter first, such as [studies.cardiology_2026]"
            )


def faults_of_studies(studies: Mapping[str, StudySettings]) -> Iterator[str]:
    """Yield what is wrong with the studies beyond what their model says."""
    files: dict[Path, str] = {}
    for name, study in studies.items():
        notes = study.notes
        for key, first in notes.since.items():
            if key in notes.until and notes.until[key] < first:
                yield f"studies.{name}.notes.until.{key}: lies before since; no note is between"
        for key, values in notes.meta.items():
            if not values:
                yield f"studies.{name}.notes.meta.{key}: names no value; name one, or leave it out"
        if study.key_file is None:
            continue
        path = study.key_file.absolute()
        if path in files:
            yield (
                f"studies.{name}.key_file: study {files[path]} has the same, so that their releases"
                " could be joined; give each its own"
            )
        files[path] = name


def patient_lines(path: Path, what: str, *, may_be_empty: bool = False) -> Mapping[str, int]:
    """Return the ids of a list of patients, each with the number of its first line.

    Args:
        path: Of the list.
        what: Setting that names it.
        may_be_empty: Whether it may name nobody, as where the last patient took the consent back.

    Raises:
        ConfigError: It cannot be read, is not in UTF-8, or names nobody and must not.
    """
    try:
        lines = path.read_bytes().decode("utf-8-sig").splitlines()
    except OSError as error:
        raise ConfigError(f"{what}: {path} cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{what}: {path} is not in UTF-8; write it so, an id a line") from None
    found: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip():
            found.setdefault(line.strip(), number)
    if not found and not may_be_empty:
        raise ConfigError(f"{what}: {path} names nobody; write an id a line, or leave it out")
    return found
