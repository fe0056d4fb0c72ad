"""The whole pipeline over one batch: detect, resolve, spread, redact, verify.

One outcome per note.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field

from deid_assets.core.detector import Failed
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.redact import Policy, Redacted
from deid_assets.core.resolve import Ensemble
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.pipeline.redacting import STAGE, Batch, Done, redact_batch
from deid_assets.pipeline.resolving import LEAVABLE, Predictions, merge, resolve_all
from deid_assets.pipeline.searching import Draw, Hits, Search, hits_in, verify

Predict = Callable[[Sequence[Note]], Predictions]
"""Runs every detector of the ensemble on notes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The pipeline: options and detectors of a de-identification.

    Args:
        predict: The ensemble's detectors.
        sources: Names of the ensemble's detectors, the most trusted first.
        policy: What stands for each category.
        key: For surrogates, and for the draw.
        resolve_by: Overlap policy.
        draw: Which redacted notes are searched once more; by default a thousand, drawn with
            ``key``.
    """

    predict: Predict
    sources: tuple[str, ...]
    policy: Policy
    key: Key = field(repr=False)
    resolve_by: str = "union"
    draw: Draw | None = None

    def deidentify(self, notes: Sequence[Note]) -> Deidentified:
        """Return one outcome per note, in order.

        The text that may leave with its edits, or why there is none.

        Args:
            notes: A batch, all notes of each patient together: what is found in one is covered in
                the others. No surrogate is a value of the batch.
        """
        ensemble = Ensemble(self.sources, yielding=LEAVABLE | self.policy.may_leave)
        found = merge(notes, self.predict(notes), resolve_by=self.resolve_by, ensemble=ensemble)
        failed = {one.note_id: one for one in found if isinstance(one, Failed)}
        spans = {one.note_id: one for one in found if isinstance(one, DisjointSpans)}
        run = _Run(self, Batch([note for note in notes if note.note_id in spans], spans))
        draw = self.draw or Draw(self.key)
        search = verify(list(run.redacted), search=run.search, redo=run.redo, draw=draw)
        redacted = {note_id: one for note_id, (_, one) in run.redacted.items()}
        withheld = {**failed, **run.withheld, **search.withheld(STAGE)}
        outcomes = [withheld.get(note.note_id) or redacted[note.note_id] for note in notes]
        return Deidentified(outcomes, search, run.spans)


@dataclass(frozen=True, slots=True)
class Deidentified:
    """Outcome of a batch.

    Args:
        outcomes: One per note, in order.
        search: What was found in the redacted text.
        spans: What was replaced, by note id, what the search found among it.
    """

    outcomes: Sequence[Redacted | Failed]
    search: Search
    spans: Mapping[str, DisjointSpans] = field(default_factory=dict)


class _Run:
    """One batch on its way through redaction and verification."""

    def __init__(self, pipeline: Pipeline, batch: Batch) -> None:
        self._pipeline, self._batch = pipeline, batch
        self._originals: Container[str] | None = None
        self.spans = dict(batch.spans)
        self.redacted: dict[str, tuple[Note, Redacted]] = {}
        self.withheld: dict[str, Failed] = {}
        self._redact(batch)

    def search(self, note_ids: Collection[str]) -> Hits:
        return hits_in(
            [self.redacted[note_id] for note_id in note_ids], self._resolved, self._pipeline.policy
        )

    def redo(self, hits: Mapping[str, Sequence[Span]]) -> Collection[str]:
        again = self._batch.with_hits(hits)
        self.spans |= again.spans
        for note in again.notes:
            self.redacted.pop(note.note_id, None)
            self.withheld.pop(note.note_id, None)
        return [note.note_id for note, _ in self._redact(again).redacted]

    def _redact(self, batch: Batch) -> Done:
        pipeline = self._pipeline
        done = redact_batch(batch, pipeline.policy, key=pipeline.key, originals=self._originals)
        self._originals = done.originals
        self.redacted |= {note.note_id: (note, one) for note, one in done.redacted}
        self.withheld |= {failed.note_id: failed for failed in done.withheld}
        return done

    def _resolved(self, notes: Sequence[Note]) -> list[DisjointSpans | Failed]:
        pipeline = self._pipeline
        ensemble = Ensemble(pipeline.sources, yielding=pipeline.policy.keep)
        return resolve_all(
            notes, pipeline.predict(notes), resolve_by=pipeline.resolve_by, ensemble=ensemble
        )
