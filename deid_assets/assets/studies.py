"""Which notes of a batch a release is of: all of them, or those that a study takes."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

import pyarrow as pa

from deid_assets.assets.declarations import Check
from deid_assets.assets.ingest import RAW_NOTES
from deid_assets.core.detector import Failed
from deid_assets.quality import Verdict
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.studies import Study
from deid_assets.store.frames import failed_from_table

LEFT_OUT = "left_out"
"""Count of the notes of a batch that a study does not take."""

IN_STUDY = Check("in_study", "The batch has notes that the study takes, and was not withdrawn.")


@dataclass(frozen=True, slots=True)
class ReceivedNotes:
    """What a release has to account for.

    Args:
        notes: The notes that were read and are to be released, schema ``frames.NOTES``.
        unread: What could not be read; whose it is is not known, so a study has none of it.
        left_out: Why a study does not take others, with how many.
    """

    notes: pa.Table
    unread: tuple[Failed, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def note_ids(self) -> list[str]:
        """Ids of all of it."""
        ids: list[str] = self.notes.column("note_id").to_pylist()
        return [*ids, *(failed.note_id for failed in self.unread)]


def read_received(batch: str, installation: Installation) -> ReceivedNotes:
    """Return what the release of a batch has to account for."""
    notes = installation.files.read(RAW_NOTES, batch, "notes")
    if installation.study is not None:
        return take_notes(notes, installation.study)
    failed = installation.files.read(RAW_NOTES, batch, "failed")
    return ReceivedNotes(notes, tuple(failed_from_table(failed)))


def take_notes(notes: pa.Table, study: Study) -> ReceivedNotes:
    """Return the notes that a study takes; each other counts under the first reason."""
    given = study.settings.notes
    reasons = _Reasons(study)
    has_meta = bool(given.meta or given.since or given.until)
    columns = [notes.column(name).to_pylist() for name in ("patient_id", "lang")]
    metas = notes.column("meta").to_pylist() if has_meta else ["{}"] * notes.num_rows
    found = [reasons.of(*row) for row in zip(*columns, metas, strict=True)]
    chosen = pa.array([not reason for reason in found], pa.bool_())
    return ReceivedNotes(notes.filter(chosen), left_out=Counter(filter(None, found)))


class _Reasons:
    """Why a study does not take a note.

    Args:
        study: The study.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self._notes = study.settings.notes

    def of(self, patient: str | None, lang: str | None, meta: str) -> str:
        """Return the first reason, without a value of the note; nothing where it is taken."""
        consent, patients = self._study.consent, self._study.patients
        if consent is not None and patient not in consent:
            return "without consent"
        if patients is not None and patient not in patients:
            return "other patients"
        if self._notes.lang and lang not in self._notes.lang:
            return "other languages"
        fields = {} if meta == "{}" else json.loads(meta)
        return self._of_fields(fields)

    def _of_fields(self, fields: Mapping[str, str]) -> str:
        for name, values in self._notes.meta.items():
            if name not in fields:
                return f"without the field {name}"
            if str(fields[name]) not in values:
                return f"another {name}"
        for name in {**self._notes.since, **self._notes.until}:
            day = _day(fields.get(name))
            if day is None:
                return f"without a date in the field {name}"
            first, last = self._notes.since.get(name), self._notes.until.get(name)
            if (first is not None and day < first) or (last is not None and day > last):
                return f"{name} out of range"
        return ""


def _day(value: str | None) -> date | None:
    """Return the day of a date or time in ISO 8601; ``None`` of anything else."""
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        return None


def judge_study(found: ReceivedNotes, batch: str, installation: Installation) -> list[Verdict]:
    """Return whether a study has anything of a batch; nothing for the installation's own release.

    Nothing taken has not passed: it waits, since the next notes or lists may change it.
    """
    study = installation.study
    if study is None:
        return []
    reasons = []
    is_withdrawn = installation.withdrawals.is_withdrawn(batch)
    if is_withdrawn:
        back = installation.withdrawals.bring_back(batch)
        reasons.append(f"withdrawn from study {study.name}; `{back}` brings it back")
    elif not found.notes.num_rows:
        why = ", ".join(f"{count:,} {reason}" for reason, count in sorted(found.left_out.items()))
        reasons.append(
            f"study {study.name} takes none of the notes of this batch ({why or 'it has none'}),"
            " and nothing is released"
        )
    return [
        Verdict(
            IN_STUDY.name,
            passed=not reasons,
            blocking=True,
            counts={
                "taken": found.notes.num_rows,
                LEFT_OUT: sum(found.left_out.values()),
                "withdrawn": int(is_withdrawn),
            },
            description="Notes that the study takes; the rest of the batch stays.",
            reasons=reasons,
            waits=True,
        )
    ]
