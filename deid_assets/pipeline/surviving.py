"""Verify, first part.

Whether a value that is known of the patient is still readable in a redacted note.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Edit
from deid_assets.core.span import Span
from deid_assets.pipeline.spreading import is_found
from deid_assets.pipeline.values import How, Values, values_by_note


class Survival(NamedTuple):
    """Values that survive in one note.

    Args:
        survivors: Whole values; the note may not leave.
        lower_case: Single capitalised words that occur in lower case ("Will" and "will").
        name_parts: Words of a longer name on their own ("Lee" of "Jane Lee", but also "Prof" of
            "Prof Lee").
    """

    survivors: int = 0
    lower_case: int = 0
    name_parts: int = 0


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
