"""Redact: spans are replaced as a policy says, and a note in which a known value is left is withheld."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from deid_assets.core.detector import Failed, is_interrupt
from deid_assets.core.errors import class_name
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.redact import Policy, Redacted, redact
from deid_assets.core.span import DisjointSpans, Span, SpanSet
from deid_assets.pipeline.resolving import together
from deid_assets.pipeline.spreading import is_found, spread
from deid_assets.pipeline.surviving import Survival, survival_by_note
from deid_assets.pipeline.values import patient_of
from deid_assets.policies.batches import originals_of

STAGE = "redact"
SURVIVES = "surviving-value"
"""Reason for which a note is withheld: a value that is known of its patient is readable in it."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Notes that can be redacted, all of each patient together, with what is known of them.

    Args:
        notes: In order.
        spans: Note id to what is replaced.
        sought: Note id to what people marked, which must not be left either.
    """

    notes: Sequence[Note]
    spans: Mapping[str, DisjointSpans]
    sought: Mapping[str, SpanSet] = field(default_factory=dict)

    def with_gold(self, policy: Policy) -> Batch:
        """Return the batch with people's spans replaced too, and spread.

        A name that people marked is one.
        """
        if not any(len(spans) for spans in self.sought.values()):
            return self
        both = {
            note.note_id: together(note, self.spans[note.note_id], gold, yielding=policy.may_leave)
            for note in self.notes
            if (gold := self.sought.get(note.note_id)) is not None
        }
        return Batch(self.notes, spread(self.notes, {**self.spans, **both}), self.sought)

    def originals(self, policy: Policy, key: Key) -> Container[str]:
        """Return the values of the batch that no surrogate may be.

        Nothing is read for a policy that writes none.
        """
        return originals_of(
            policy,
            key,
            (
                (
                    note,
                    SpanSet(
                        note.note_id, note.digest, tuple(filter(is_found, self.spans[note.note_id]))
                    ),
                )
                for note in self.notes
                if note.note_id in self.spans
            ),
        )

    def with_hits(self, hits: Mapping[str, Sequence[Span]]) -> Batch:
        """Return the notes of the patients in whose notes something more was found, with that covered and spread."""
        patients = {patient_of(note) for note in self.notes if note.note_id in hits}
        notes = [note for note in self.notes if patient_of(note) in patients]
        spans = {
            note.note_id: together(
                note, self.spans[note.note_id], SpanSet.of(note, hits.get(note.note_id, ()))
            )
            for note in notes
            if note.note_id in self.spans
        }
        return Batch(notes, spread(notes, spans), self.sought)


@dataclass(frozen=True, slots=True)
class Done:
    """Outcomes of the notes of a batch.

    Args:
        redacted: Notes in which no known value is left, as they were and as they are.
        withheld: All others.
        left: Note id to what is left, for each redacted one.
        values: Number of values that were sought.
        originals: Values that no surrogate was to be.
    """

    redacted: Sequence[tuple[Note, Redacted]]
    withheld: Sequence[Failed]
    left: Mapping[str, Survival]
    values: int
    originals: Container[str] = field(repr=False)


def redact_batch(
    batch: Batch,
    policy: Policy,
    *,
    key: Key,
    stage: str = STAGE,
    originals: Container[str] | None = None,
) -> Done:
    """Return each note redacted, or why it is withheld.

    Its replacement failed, or a known value is left in it.

    Args:
        batch: What is redacted.
        policy: What with; a category that it keeps is not sought.
        key: For keyed replacers.
        stage: Named by failures.
        originals: Values of a larger batch, which no surrogate may be; those of this one if not
            given.
    """
    if originals is None:
        originals = batch.originals(policy, key)
    outcomes = redact_all(
        batch.notes, batch.spans, policy, key=key, stage=stage, originals=originals
    )
    pairs = [
        (note, found)
        for note, found in zip(batch.notes, outcomes, strict=True)
        if isinstance(found, Redacted)
    ]
    known = [
        (note, (*batch.spans[note.note_id], *batch.sought.get(note.note_id, ())), found.edits)
        for note, found in pairs
    ]
    found, values = survival_by_note(known, keep=policy.keep)
    left = {note.note_id: one for (note, _), one in zip(pairs, found, strict=True)}
    return Done(
        redacted=[pair for pair in pairs if not left[pair[0].note_id].survivors],
        withheld=[
            *(found for found in outcomes if isinstance(found, Failed)),
            *(Failed(note_id, stage, SURVIVES) for note_id, one in left.items() if one.survivors),
        ],
        left={note_id: one for note_id, one in left.items() if not one.survivors},
        values=values,
        originals=originals,
    )


def redact_all(
    notes: Iterable[Note],
    spans: Mapping[str, DisjointSpans],
    policy: Policy,
    *,
    key: Key,
    stage: str,
    originals: Container[str] = (),
) -> list[Redacted | Failed]:
    """Return one result per note, in order.

    A note without an entry in ``spans`` is ``Failed``, never left as it is.
    """

    def redacted(note: Note) -> Redacted | Failed:
        if note.note_id not in spans:
            return Failed(note.note_id, stage, "Missing")
        try:
            return redact(note, spans[note.note_id], policy, key=key, originals=originals)
        except BaseException as error:
            # a replacer may raise anything; becomes a Failed without its message
            if is_interrupt(error):
                raise
            return Failed(note.note_id, stage, class_name(error))

    return [redacted(note) for note in notes]
