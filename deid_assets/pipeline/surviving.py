"""Verify: a note in which a value that is known of the patient is still readable is withheld."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from deid_assets.core.detector import Failed
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Edit
from deid_assets.core.span import Span
from deid_assets.pipeline.batch import Batch
from deid_assets.pipeline.spreading import is_found
from deid_assets.pipeline.values import How, Survival, Values, values_by_note

SURVIVES = "surviving-value"
"""Reason for which a note is withheld: a value that is known of its patient is readable in it."""


@dataclass(frozen=True, slots=True)
class Verify:
    """A note in which a known value is left is withheld."""

    name: ClassVar[str] = "verify"

    def __str__(self) -> str:
        return "no value known of a patient is left in a note"

    def run(self, batch: Batch) -> Batch:
        """Return the batch with these notes withheld; ``Redact`` looked for the values."""
        return batch.withholding(
            {
                note_id: Failed(note_id, self.name, SURVIVES)
                for note_id, left in batch.left.items()
                if left.survivors
            }
        )


def survival_by_note(
    redacted: Sequence[tuple[Note, Iterable[Span], Sequence[Edit]]],
    *,
    keep: frozenset[Phi] = frozenset(),
) -> tuple[list[Survival], int]:
    """Return what is left in each note, in order, and how many values were sought.

    Args:
        redacted: The original of each note, its known PHI, which may overlap, and what redaction
            replaced, sorted. Notes with the same ``patient_id`` share their values. Spans that were
            spread have no value of their own.
        keep: Categories whose values are not sought.
    """
    values = values_by_note(
        ((note, spans) for note, spans, _ in redacted),
        is_value=lambda span: span.label not in keep and is_found(span),
    )
    found = [_survival(note, edits, values[note.note_id]) for note, _, edits in redacted]
    of_patients = {id(one): one for one in values.values()}
    return found, sum(map(len, of_patients.values()))


def _survival(note: Note, edits: Iterable[Edit], values: Values) -> Survival:
    covered = ((edit.start, edit.end) for edit in edits)
    left = [occurrence.how for occurrence in values.occurrences(note.text, covered)]
    return Survival(left.count(How.WHOLE), left.count(How.LOWER_CASE), left.count(How.PART))
