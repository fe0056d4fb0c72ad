"""What a note looks like to one reviewer: the suggestions, and what the reviewer's events made of
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum


class ReviewStatus(StrEnum):
    """What was decided on a mark."""

    PENDING = "pending"
    PREMARKED = "pre-marked"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    LEFT = "left on purpose"


class ReviewAction(StrEnum):
    """What a reviewer did."""

    ACCEPT = "accept"
    ACCEPT_REST = "accept rest"
    REJECT = "reject"
    REMEMBER = "remember"
    LEAVE = "leave"
    RELABEL = "relabel"
    MOVE = "move"
    ADD = "add"
    PREMARK = "pre-marked"
    """A suggestion that was pre-marked when the whole note was confirmed: nobody pressed a key."""
    CONFIRM = "confirm"
    REOPEN = "reopen"
    IMPORT = "import"
    """What was recorded with it was read from a file; nobody pressed a key on it here."""


DECIDED: Mapping[ReviewAction, ReviewStatus] = {
    ReviewAction.ACCEPT: ReviewStatus.ACCEPTED,
    ReviewAction.ACCEPT_REST: ReviewStatus.ACCEPTED,
    ReviewAction.REJECT: ReviewStatus.REJECTED,
    ReviewAction.REMEMBER: ReviewStatus.REJECTED,
    ReviewAction.LEAVE: ReviewStatus.LEFT,
    ReviewAction.RELABEL: ReviewStatus.ACCEPTED,
    ReviewAction.ADD: ReviewStatus.ACCEPTED,
    ReviewAction.PREMARK: ReviewStatus.ACCEPTED,
}
_OPEN = frozenset({ReviewStatus.PENDING, ReviewStatus.PREMARKED})


@dataclass(frozen=True, slots=True)
class ReviewMark:
    """A place in a note.

    Args:
        mark: Number in the note; below 0 for one that a reviewer added.
        start: First code point.
        end: One past the last.
        label: Category.
        status: What was decided.
        is_remembered: Whether it was rejected for good, in every batch.
    """

    mark: int
    start: int
    end: int
    label: str
    status: ReviewStatus = ReviewStatus.PENDING
    is_remembered: bool = False

    @property
    def is_identifier(self) -> bool:
        """Whether it was decided that an identifier stands here, and not to leave it."""
        return self.status is ReviewStatus.ACCEPTED


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that a reviewer did.

    Args:
        number: Of the event; grows.
        stream: Whose annotation it belongs to: a reviewer's, or the adjudication.
        reviewer: Who did it.
        at: When, seconds since 1970.
        action: What.
        mark: On which mark; 0 where on the note.
        start: First code point, where it says a place.
        end: One past the last.
        label: Category, where it says one.
        group: Common to what was done at once.
    """

    number: int
    stream: str
    reviewer: str
    at: float
    action: ReviewAction
    mark: int = 0
    start: int = 0
    end: int = 0
    label: str = ""
    group: str = ""


@dataclass(slots=True)
class NoteState:
    """A note as one stream of events left it.

    Args:
        marks: By number.
        is_confirmed: Whether the whole note was confirmed after the last edit, and no mark is
            open: one may be again, where what was decided on it was taken back.
        last: Number of the last event; 0 where there is none.
    """

    marks: dict[int, ReviewMark] = field(default_factory=dict)
    is_confirmed: bool = False
    last: int = 0

    @property
    def in_order(self) -> list[ReviewMark]:
        """The marks by their place in the text."""
        return sorted(self.marks.values(), key=lambda one: (one.start, one.end, one.mark))

    @property
    def pending(self) -> list[ReviewMark]:
        """The marks on which nothing was decided."""
        return [one for one in self.in_order if one.status is ReviewStatus.PENDING]

    @property
    def identifiers(self) -> list[ReviewMark]:
        """The marks of which it was decided that they are identifiers."""
        return [one for one in self.in_order if one.is_identifier]

    def overlapping(self, start: int, end: int, *, but: int = 0) -> list[ReviewMark]:
        """Return other marks, not rejected, that share a character with a range."""
        return [
            one
            for one in self.marks.values()
            if one.mark != but
            and one.status is not ReviewStatus.REJECTED
            and one.start < end
            and start < one.end
        ]


def fold(
    suggested: Sequence[ReviewMark], events: Iterable[Event], *, is_settling: bool = False
) -> NoteState:
    """Return the state of a note after the events of one stream, in order.

    Args:
        suggested: What is there before anything was done.
        events: Of the stream.
        is_settling: Whether a confirmation accepts what is pre-marked now. Where that is measured
            anew all the time, the events say what was pre-marked when the note was confirmed; a
            confirmation over anything else does not stand.
    """
    state = NoteState({one.mark: one for one in suggested})
    for event in events:
        if event.action is ReviewAction.CONFIRM and is_settling:
            state.marks = {number: _settle(one) for number, one in state.marks.items()}
        _apply(state, event)
        state.last = event.number
    return state


def _apply(state: NoteState, event: Event) -> None:
    if event.action is ReviewAction.CONFIRM:
        state.is_confirmed = not any(map(is_open, state.marks.values()))
        return
    state.is_confirmed = False
    if event.action is ReviewAction.ADD:
        number = -event.number
        state.marks[number] = ReviewMark(
            number, event.start, event.end, event.label, ReviewStatus.ACCEPTED
        )
        return
    mark = state.marks.get(event.mark)
    if mark is None:
        return
    if event.action is ReviewAction.MOVE:
        mark = replace(mark, start=event.start, end=event.end)
    if event.action is ReviewAction.RELABEL:
        mark = replace(mark, label=event.label)
    if event.action is ReviewAction.REJECT and event.mark < 0:
        del state.marks[event.mark]  # what the reviewer added is taken back
        return
    status = DECIDED.get(event.action, mark.status)
    remembered = event.action is ReviewAction.REMEMBER
    state.marks[event.mark] = replace(mark, status=status, is_remembered=remembered)


def _settle(mark: ReviewMark) -> ReviewMark:
    return (
        replace(mark, status=ReviewStatus.ACCEPTED)
        if mark.status is ReviewStatus.PREMARKED
        else mark
    )


def is_open(mark: ReviewMark) -> bool:
    """Whether nobody pressed a key on it."""
    return mark.status in _OPEN
