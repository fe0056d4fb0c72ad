"""Redact and verify: spans are replaced as a policy says, and no value known of a patient is left.

What is left is looked for where a note is redacted, so that no search reads a note that verify
withholds.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from deid_assets.core.detector import Failed, is_interrupt
from deid_assets.core.errors import class_name
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Edit, Policy, Redacted, redact
from deid_assets.core.span import DisjointSpans, Span, SpanSet
from deid_assets.pipeline.batch import Batch, Survival
from deid_assets.pipeline.resolving import together
from deid_assets.pipeline.spreading import Extent, Values, is_found, spread, values_by_note
from deid_assets.policies.needs import originals_of

Spans = Mapping[str, DisjointSpans]
Following = Callable[[Sequence[Note]], Iterable[Note]]

SURVIVES = "surviving-value"
"""Reason for which a note is withheld: a value that is known of its patient is readable in it."""


@dataclass(frozen=True, slots=True)
class Redact:
    """Spans are replaced as a policy says.

    Args:
        policy: What with; a category that it keeps is not sought afterwards.
        key: For keyed replacers.
        covers_annotated: Whether what people marked is replaced too, and spread.
        following: Gives the notes one by one as they are redacted, so that a command can tell how
            long the rest takes.
    """

    policy: Policy
    key: Key = field(repr=False)
    covers_annotated: bool = False
    following: Following = field(default=iter, repr=False, compare=False)
    name: ClassVar[str] = "redact"

    def __str__(self) -> str:
        annotated = ", annotated spans too" if self.covers_annotated else ""
        return f"policy {self.policy.name}{annotated}"

    def run(self, batch: Batch) -> Batch:
        """Return the batch with each note redacted, and what is left of known values in it.

        A note whose replacement fails is withheld.
        """
        notes = [note for note in batch.notes if note.note_id not in batch.withheld]
        spans = self._to_replace(batch)
        originals = batch.originals
        if originals is None:
            originals = self._originals(notes, spans)
        followed = self.following(notes)
        outcomes = redact_all(followed, spans, self.policy, key=self.key, originals=originals)
        redacted = {one.note_id: one for one in outcomes if isinstance(one, Redacted)}
        left, values = self._find_left(batch, spans, redacted)
        return replace(
            batch,
            replaced=spans,
            redacted=redacted,
            left=left,
            values=values,
            originals=originals,
            policy=self.policy,
            redact=self.run,
        ).withholding({one.note_id: one for one in outcomes if isinstance(one, Failed)})

    def originals(self, batch: Batch) -> Container[str]:
        """Return the values of a batch that no surrogate may be.

        Nothing is read for a policy that writes none.
        """
        return self._originals(batch.notes, self._to_replace(batch))

    def _to_replace(self, batch: Batch) -> Spans:
        """Return what is replaced: spans and hits, and what people marked; all of it spread."""
        spans = batch.spans
        if batch.hits:
            wider = {
                note.note_id: together(
                    note, spans[note.note_id], SpanSet.of(note, batch.hits.get(note.note_id, ()))
                )
                for note in batch.notes
                if note.note_id in spans
            }
            spans = spread(batch.notes, wider)
        if self.covers_annotated and any(map(len, batch.annotated.values())):
            return spread(batch.notes, {**spans, **self._add_annotated(batch, spans)})
        return spans

    def _add_annotated(self, batch: Batch, spans: Spans) -> Spans:
        return {
            note.note_id: together(
                note,
                spans[note.note_id],
                batch.annotated[note.note_id],
                yielding=self.policy.may_leave,
            )
            for note in batch.notes
            if note.note_id in spans and note.note_id in batch.annotated
        }

    def _originals(self, notes: Sequence[Note], spans: Spans) -> Container[str]:
        known = (
            (note, filter(is_found, spans[note.note_id])) for note in notes if note.note_id in spans
        )
        return originals_of(
            self.policy,
            self.key,
            ((note, SpanSet(note.note_id, note.digest, tuple(found))) for note, found in known),
        )

    def _find_left(
        self, batch: Batch, spans: Spans, redacted: Mapping[str, Redacted]
    ) -> tuple[dict[str, Survival], int]:
        """Return what is left in each redacted note, and how many values were sought."""
        notes = [note for note in batch.notes if note.note_id in redacted]
        known = [
            (
                note,
                (*spans[note.note_id], *batch.annotated.get(note.note_id, ())),
                redacted[note.note_id].edits,
            )
            for note in notes
        ]
        found, values = survival_by_note(known, keep=self.policy.keep)
        return {note.note_id: one for note, one in zip(notes, found, strict=True)}, values


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
                if left.whole
            }
        )


def redact_all(
    notes: Iterable[Note],
    spans: Spans,
    policy: Policy,
    *,
    key: Key,
    originals: Container[str] = (),
) -> list[Redacted | Failed]:
    """Return one result per note, in order.

    A note without an entry in ``spans`` is ``Failed``, never left as it is.
    """
    return [_redact_note(note, spans, policy, key, originals) for note in notes]


def _redact_note(
    note: Note, spans: Spans, policy: Policy, key: Key, originals: Container[str]
) -> Redacted | Failed:
    if note.note_id not in spans:
        return Failed(note.note_id, Redact.name, "Missing")
    try:
        return redact(note, spans[note.note_id], policy, key=key, originals=originals)
    except BaseException as error:
        # a replacer may raise anything; becomes a Failed without its message
        if is_interrupt(error):
            raise
        return Failed(note.note_id, Redact.name, class_name(error))


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
    return Survival(
        left.count(Extent.WHOLE), left.count(Extent.LOWER_CASE), left.count(Extent.PART)
    )
