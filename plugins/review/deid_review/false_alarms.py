"""What reviewers rejected for good, as signed rules that keep it away from later batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deid_assets import Phi, Span
from deid_assets.extending.reviewing import AllowedBatches, FalseAlarm, Settings, allow_values
from deid_review.desk import ReviewDesk
from deid_review.ledger import ADJUDICATION
from deid_review.measures import final_of
from deid_review.records import QueuedMark, QueuedNote
from deid_review.states import NoteState, ReviewMark, ReviewStatus

_KEPT = frozenset({ReviewStatus.ACCEPTED, ReviewStatus.LEFT})


@dataclass(frozen=True, slots=True)
class RejectedValues:
    """What a review rejects, and what it says is an identifier.

    Args:
        alarms: Rejected places.
        identifiers: Note ids to what somebody took for an identifier, whether it stays or not.
        by: Who rejected.
    """

    alarms: Sequence[FalseAlarm]
    identifiers: Mapping[str, Sequence[Span]] = field(repr=False)
    by: tuple[str, ...]


def find_rejected_values(desk: ReviewDesk, *, is_every: bool = False) -> RejectedValues:
    """Return what was rejected for good in settled notes.

    Args:
        desk: The review.
        is_every: Take what was rejected at all, whether for good or not.
    """
    alarms: list[FalseAlarm] = []
    identifiers: dict[str, list[Span]] = {}
    by: set[str] = set()
    for note in desk.queue():
        streams = desk.ledger.streams(note.note_id)
        states = {stream: desk.ledger.state(note.note_id, stream) for stream in streams}
        if kept := list(_identifiers(states)):
            identifiers[note.note_id] = kept
        final = final_of(desk.ledger, note)
        if final.marks is None:
            continue
        for queued in desk.ledger.marks(note.note_id):
            who = _rejecting(states, queued, is_every=is_every)
            if who and not any(_overlap(one, queued) for one in final.marks):
                alarms.append(_alarm(desk, note, queued))
                by |= who
    return RejectedValues(alarms, identifiers, tuple(sorted(by)))


def make_rules(
    desk: ReviewDesk,
    settings: Settings,
    *,
    is_every: bool = False,
    is_plan: bool = False,
    by: str = "",
) -> AllowedBatches:
    """Make a signed rule of what was rejected for good, and have what rests on it made again.

    Args:
        desk: The review.
        settings: Of the installation.
        is_every: Take all that was rejected, whether for good or not.
        is_plan: Count alone.
        by: Who asks; those who rejected where not given.

    Raises:
        ProvenanceError: Rules, notes or annotations were altered.
    """
    found = find_rejected_values(desk, is_every=is_every)
    if not found.alarms:
        return AllowedBatches((), (), (), 0)
    return allow_values(
        settings,
        found.alarms,
        by=by or ", ".join(found.by),
        reason=f"false alarm in the review of {desk.view.batch}",
        identifiers=found.identifiers,
        is_plan=is_plan,
    )


def _identifiers(states: Mapping[str, NoteState]) -> Iterator[Span]:
    for state in states.values():
        for mark in state.in_order:
            if mark.status in _KEPT:
                yield Span(mark.start, mark.end, Phi(mark.label))


def _rejecting(
    states: Mapping[str, NoteState], queued: QueuedMark, *, is_every: bool
) -> frozenset[str]:
    """Return who rejected a suggestion, for good unless every rejection counts; who decided between
    reviewers did not: those marks have numbers of their own.
    """
    found = set()
    for stream, state in states.items():
        mark = None if stream == ADJUDICATION else state.marks.get(queued.mark)
        if mark is None or mark.status is not ReviewStatus.REJECTED:
            continue
        if is_every or mark.is_remembered:
            found.add(stream)
    return frozenset(found)


def _overlap(mark: ReviewMark, queued: QueuedMark) -> bool:
    return mark.start < queued.end and queued.start < mark.end


def _alarm(desk: ReviewDesk, note: QueuedNote, queued: QueuedMark) -> FalseAlarm:
    said = frozenset((one.detector, Phi(one.label)) for one in queued.said if one.label)
    held = desk.view.notes[note.note_id]
    return FalseAlarm(held, queued.start, queued.end, Phi(queued.label), said)
