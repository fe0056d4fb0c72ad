"""Detect and resolve: the ensemble's predictions on each note become spans that do not overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from deid_assets.core.assets import Family
from deid_assets.core.detector import Failed
from deid_assets.core.errors import DeidError, DetectorError, class_name
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.resolve import Ensemble, resolve
from deid_assets.core.span import DisjointSpans, SpanSet
from deid_assets.pipeline.batch import Batch, Outcome, Predictions

MERGED_SPANS = "merged_spans"
"""Asset of the graph that holds the resolved spans."""

LEAVABLE = frozenset({Phi.AGE, Phi.CITY, Phi.COUNTRY, Phi.DATE, Phi.REGION, Phi.SEX, Phi.ZIP})
"""Categories of which a built-in policy may leave values in the text.

Where spans overlap they give way to any other,
whatever the policy, so that all policies and all interfaces see the same spans."""

Predict = Callable[[Sequence[Note]], Predictions]
"""Runs every detector of the ensemble on notes."""


@dataclass(frozen=True, slots=True)
class Detect:
    """Every detector of an ensemble reads the notes.

    Args:
        predict: Runs the detectors, here or in worker processes.
        sources: Their names, the most trusted first.
    """

    predict: Predict = field(repr=False)
    sources: tuple[str, ...]
    name: ClassVar[str] = "detect"

    def __str__(self) -> str:
        return ", ".join(self.sources)

    def run(self, batch: Batch) -> Batch:
        """Return the batch with the predictions of each detector."""
        return replace(batch, predictions=self.predict(batch.notes))


@dataclass(frozen=True, slots=True)
class Resolve:
    """Predictions become spans that do not overlap.

    Args:
        by: Overlap policy.
        ensemble: The detectors whose predictions count.
    """

    by: str
    ensemble: Ensemble
    name: ClassVar[str] = "resolve"

    def __str__(self) -> str:
        return f"{self.by} of {', '.join(self.ensemble.sources)}"

    def run(self, batch: Batch) -> Batch:
        """Return the batch with the spans of each note; withheld is one that a detector
        failed on.
        """
        outcomes = resolve_all(
            batch.notes, batch.predictions, resolve_by=self.by, ensemble=self.ensemble
        )
        spans = {one.note_id: one for one in outcomes if isinstance(one, DisjointSpans)}
        failed = {one.note_id: one for one in outcomes if isinstance(one, Failed)}
        return replace(batch, spans=spans).withholding(failed)


def resolve_all(
    notes: Iterable[Note], predictions: Predictions, *, resolve_by: str, ensemble: Ensemble
) -> list[DisjointSpans | Failed]:
    """Return one result per note, in order: what the ensemble covers in it, or why there is none.

    A note that a detector of the ensemble failed on, or has no outcome for, is ``Failed``.

    Args:
        notes: The notes.
        predictions: Of every detector of the ensemble.
        resolve_by: Overlap policy.
        ensemble: The ensemble.
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
        return Failed(note.note_id, Resolve.name, class_name(error))


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
