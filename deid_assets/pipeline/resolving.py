"""Detect and resolve: the ensemble's predictions on each note become spans that do not overlap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from deid_assets.core.assets import Family
from deid_assets.core.detector import Failed
from deid_assets.core.errors import DeidError, DetectorError, class_name
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.resolve import Ensemble, resolve
from deid_assets.core.span import DisjointSpans, SpanSet
from deid_assets.pipeline.spreading import spread

MERGED_SPANS = "merged_spans"
"""Stage at which predictions become one; failures name it."""

LEAVABLE = frozenset({Phi.AGE, Phi.CITY, Phi.COUNTRY, Phi.DATE, Phi.REGION, Phi.SEX, Phi.ZIP})
"""Categories of which a built-in policy may leave values in the text.

Where spans overlap they give way to any other,
whatever the policy, so that all policies and all interfaces see the same spans."""

Outcome = SpanSet | Failed
Predictions = Mapping[str, Mapping[str, Outcome]]
"""Detector name to note id to that detector's outcome."""


def merge(
    notes: Sequence[Note], predictions: Predictions, *, resolve_by: str, ensemble: Ensemble
) -> list[DisjointSpans | Failed]:
    """Return what is covered in each note, in order.

    Predictions resolved, then spread over the patient's notes.

    Args:
        notes: A batch, all notes of each patient together.
        predictions: Of every detector of the ensemble.
        resolve_by: Overlap policy.
        ensemble: The ensemble.
    """
    resolved = resolve_all(notes, predictions, resolve_by=resolve_by, ensemble=ensemble)
    spans = spread(
        notes, {found.note_id: found for found in resolved if isinstance(found, DisjointSpans)}
    )
    return [spans.get(found.note_id, found) for found in resolved]


def resolve_all(
    notes: Iterable[Note], predictions: Predictions, *, resolve_by: str, ensemble: Ensemble
) -> list[DisjointSpans | Failed]:
    """Return one result per note, in order; the arguments are those of ``merge``.

    A note that a detector of the ensemble failed on, or has no outcome for, is ``Failed``.
    """
    return [_resolve_note(note, predictions, resolve_by, ensemble) for note in notes]


def _resolve_note(
    note: Note, predictions: Predictions, resolve_by: str, ensemble: Ensemble
) -> DisjointSpans | Failed:
    found: list[SpanSet] = []
    for source in ensemble.sources:
        outcome = predictions[source].get(note.note_id)
        if outcome is None:
            return Failed(note.note_id, Family.SPANS.of(source), "Missing")
        if isinstance(outcome, Failed):
            return outcome
        found.append(outcome)
    try:
        return resolve(note, found, policy=resolve_by, ensemble=ensemble)
    except DeidError as error:
        return Failed(note.note_id, MERGED_SPANS, class_name(error))


def by_note(outcomes: Iterable[Outcome]) -> dict[str, Outcome]:
    """Return the outcomes by note id.

    Raises:
        DetectorError: Two outcomes are for the same note.
    """
    found: dict[str, Outcome] = {}
    for outcome in outcomes:
        if outcome.note_id in found:
            raise DetectorError(f"note {outcome.note_id!r} has two outcomes; detect again")
        found[outcome.note_id] = outcome
    return found


def together(note: Note, *spans: SpanSet, yielding: frozenset[Phi] = frozenset()) -> DisjointSpans:
    """Return the union of several sets of spans of a note, none of which has priority.

    Args:
        note: The note.
        spans: What was found, by whomever.
        yielding: Categories that give way to any other; see ``Ensemble``.

    Raises:
        DigestError: Spans were made for another text.
    """
    every = [span for found in spans for span in found]
    return resolve(note, spans, ensemble=Ensemble.of_equals(every, yielding=yielding))
