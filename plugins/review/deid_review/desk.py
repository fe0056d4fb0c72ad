"""What reviewers do on notes: one function of each key, over the file of the review."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from deid_assets import DeidError, Note, Phi
from deid_assets.extending.reviewing import BatchView, Key
from deid_review.following import FollowedReview
from deid_review.ledger import ADJUDICATION, AdjudicatedError, Ledger
from deid_review.measures import PRECISE
from deid_review.places import ValuePlace
from deid_review.queueing import is_doubtful, value_of
from deid_review.records import DecisionEntry, QueuedNote
from deid_review.states import NoteState, ReviewAction, ReviewMark, ReviewStatus, is_open
from deid_review.suggestions import is_direct

WORD = re.compile(r"\w+(?:[-./:'\u2019@]\w+)*|[^\w\s]")
_SHOWN = 3
_AROUND = 40
ALL = {
    "accept-all": ReviewAction.ACCEPT,
    "reject-all": ReviewAction.REJECT,
    "remember-all": ReviewAction.REMEMBER,
}
_ASKED = {
    ReviewAction.ACCEPT: "Accept {}",
    ReviewAction.REJECT: "Reject {}",
    ReviewAction.REMEMBER: "Reject {} here, and in every batch once the review is returned,",
}
_DONE = {
    ReviewAction.ACCEPT: "accepted",
    ReviewAction.REJECT: "rejected",
    ReviewAction.REMEMBER: "rejected for good; u takes it back",
}


class ReviewRefusedError(DeidError):
    """A key that does nothing here; the message says why."""


@dataclass(frozen=True, slots=True)
class KeyPress:
    """What a reviewer asks for.

    Args:
        action: ``accept``, ``reject``, ``leave``, ``relabel``, ``move``, ``add``, ``confirm``,
            ``undo``, ``accept-rest``, ``accept-all``, ``reject-all`` or ``remember-all``.
        mark: On which mark; 0 where on the note.
        start: First code point, of ``add``.
        end: One past the last.
        label: Category, of ``relabel`` and ``add``.
        edge: ``start`` or ``end``, of ``move`` by a word; ``start-character`` or
            ``end-character``, by a character.
        by: 1 to make the mark longer, -1 to make it shorter.
        sure: Whether the warning or the count was shown before.
        seen: What the page says the note's last event was.
    """

    action: str
    mark: int = 0
    start: int = 0
    end: int = 0
    label: str = ""
    edge: str = ""
    by: int = 0
    sure: bool = False
    seen: int = 0


@dataclass(frozen=True, slots=True)
class ReviewOutcome:
    """What a key press did.

    Args:
        said: A line for the reviewer.
        asks: Whether the same must be asked again, ``sure``; nothing was done.
        focus: The mark to stand on, or 0 for the next pending one.
        is_done: Whether the note is confirmed, and the next one comes.
    """

    said: str = ""
    asks: bool = False
    focus: int = 0
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class NamedElsewhere:
    """A place where a value stands in another note of the patient.

    Args:
        place: Of the note in the queue; 0 where it is not in it.
        before: Text before it.
        value: As it stands there.
        after: Text after it.
    """

    place: int
    before: str = field(repr=False)
    value: str = field(repr=False)
    after: str = field(repr=False)


class ReviewDesk(FollowedReview):
    """The review of one batch, with the keys of its page.

    Args:
        view: The batch.
        ledger: The file of its review.
        key: Of the installation.
        least: Lower end of the measured precision from which suggestions are pre-marked.
    """

    def __init__(
        self, view: BatchView, ledger: Ledger, key: Key, *, least: float = PRECISE
    ) -> None:
        super().__init__(view, ledger, least=least)
        self._key = key

    def approve(self, reviewer: str) -> None:
        """Record that a reviewer approves the batch as it is decided now.

        Raises:
            RefusedError: There is no queue, or a note of it is not settled yet.
        """
        with self.ledger.writing():  # so that nothing is decided between the look and the approval
            notes = self.queue()
            if not notes:
                raise ReviewRefusedError("there is no queue; make one with `deid review queue`")
            left = sum(one.marks is None for one in self.finals().values())
            if left:
                raise ReviewRefusedError(
                    f"{left:,} notes of the queue are not settled; confirm them, or decide between"
                    " two reviewers"
                )
            self.ledger.approve(reviewer, len(notes))

    def mentions(self, note: Note, mark: ReviewMark) -> tuple[int, list[NamedElsewhere]]:
        """Return in how many other places of the patient's notes a value stands, and some."""
        if note.patient_id is None:
            return 0, []
        found = self.words.places(note.text[mark.start : mark.end], patient=note.patient_id)
        others = [one for one in found if (one.note_id, one.start) != (note.note_id, mark.start)]
        return len(others), [self._mention(one) for one in others[:_SHOWN]]

    def _mention(self, found: ValuePlace) -> NamedElsewhere:
        text, start, end = self.view.notes[found.note_id].text, found.start, found.end
        before = text[max(0, start - _AROUND) : start]
        place = self._place_of.get(found.note_id, 0)
        return NamedElsewhere(place, before, text[start:end], text[end : end + _AROUND])

    def press(self, note: QueuedNote, stream: str, reviewer: str, press: KeyPress) -> ReviewOutcome:
        """Do what a reviewer asks for.

        Raises:
            RefusedError: It cannot be done here.
            StaleNoteError: The note was changed in another window since it was shown.
            InputError: It could not be stored.
        """
        if stream == ADJUDICATION and not self.is_adjudicable(note):
            raise ReviewRefusedError("no two reviewers differ on this note")
        if stream != ADJUDICATION and ADJUDICATION in self.ledger.streams(note.note_id):
            raise ReviewRefusedError("this note was adjudicated; undo that first")
        if press.action == "undo":
            return self._undo(note, stream, press)
        state = self.state(note, stream)
        if press.action == ReviewAction.CONFIRM:
            return self._confirm(note, state, stream, reviewer, press)
        if press.action == "accept-rest":
            return self._rest(note, state, stream, reviewer, press)
        if press.action in ALL:
            return self._all(note, state, stream, reviewer, press)
        entry, outcome = self._entry(note, state, stream, press)
        if not outcome.asks:
            self.ledger.record([entry], stream=stream, reviewer=reviewer, seen=press.seen)
        return outcome

    def _entry(
        self, note: QueuedNote, state: NoteState, stream: str, press: KeyPress
    ) -> tuple[DecisionEntry, ReviewOutcome]:
        if press.action == ReviewAction.ADD:
            start, end = self._check_range(note, state, press.start, press.end)
            entry = DecisionEntry(
                note.note_id, ReviewAction.ADD, 0, start, end, _label(press.label)
            )
            return entry, ReviewOutcome(f"added as {press.label}")
        mark = state.marks.get(press.mark)
        if mark is None:
            raise ReviewRefusedError("no mark is chosen; press Tab")
        if press.action == ReviewAction.MOVE:
            start, end = self._move(note, mark, press)
            self._check_range(note, state, start, end, but=mark.mark)
            entry = DecisionEntry(note.note_id, ReviewAction.MOVE, mark.mark, start, end)
            return entry, ReviewOutcome(focus=mark.mark)
        if press.action == ReviewAction.RELABEL:
            entry = DecisionEntry(
                note.note_id, ReviewAction.RELABEL, mark.mark, label=_label(press.label)
            )
            return entry, ReviewOutcome(f"accepted as {press.label}")
        if press.action not in {ReviewAction.ACCEPT, ReviewAction.REJECT, ReviewAction.LEAVE}:
            raise ReviewRefusedError("this key does nothing here; ? shows the keys")
        entry = DecisionEntry(note.note_id, ReviewAction(press.action), mark.mark)
        risks = [] if press.action == ReviewAction.ACCEPT else self.risks(note, mark, stream)
        if risks and not press.sure:
            said = f"Keeping this could leak: {'; '.join(risks)}. The same key again keeps it."
            return entry, ReviewOutcome(said, asks=True, focus=mark.mark)
        return entry, ReviewOutcome()

    def risks(self, note: QueuedNote, mark: ReviewMark, stream: str) -> list[str]:
        """Return why a value that is kept could identify somebody."""
        said = {
            one.detector
            for queued in self.ledger.marks(note.note_id)
            if queued.start < mark.end and mark.start < queued.end
            for one in queued.said
            if one.label
        }
        found = []
        if len(said) > 1:
            found.append(f"{len(said)} detectors marked it")
        if (
            mark.mark > 0
            and is_direct(Phi(mark.label))
            and mark.status is not ReviewStatus.REJECTED
        ):
            found.append(f"a {mark.label} names a person by itself")
        taken = self.ledger.count_accepted(self._value(note.note_id, mark.start, mark.end), stream)
        if taken:
            found.append(f"the same value was accepted in {taken:,} notes")
        return found

    def _confirm(
        self, note: QueuedNote, state: NoteState, stream: str, reviewer: str, press: KeyPress
    ) -> ReviewOutcome:
        if state.pending:
            raise ReviewRefusedError(
                f"{len(state.pending):,} marks are pending; Tab goes to the next of them"
            )
        # What is pre-marked is measured anew all the time: what the page showed is kept.
        shown = [
            DecisionEntry(note.note_id, ReviewAction.PREMARK, one.mark)
            for one in state.in_order
            if one.status is ReviewStatus.PREMARKED
        ]
        entries = [*shown, DecisionEntry(note.note_id, ReviewAction.CONFIRM)]
        self.ledger.record(entries, stream=stream, reviewer=reviewer, seen=press.seen)
        return ReviewOutcome(is_done=True)

    def _rest(
        self, note: QueuedNote, state: NoteState, stream: str, reviewer: str, press: KeyPress
    ) -> ReviewOutcome:
        """Accept every pending mark of a note that is redacted anyway, so that nothing can leak."""
        if stream == ADJUDICATION:
            raise ReviewRefusedError("decide on each mark on which reviewers differ")
        queued = {one.mark: one for one in self.ledger.marks(note.note_id) if one.is_merged}
        rest = [one.mark for one in state.pending if one.mark in queued]
        if not rest:
            raise ReviewRefusedError("nothing that is redacted is pending in this note")
        entries = [DecisionEntry(note.note_id, ReviewAction.ACCEPT_REST, one) for one in rest]
        self.ledger.record(entries, stream=stream, reviewer=reviewer, seen=press.seen)
        doubtful = sum(is_doubtful(queued[one]) for one in rest)
        said = f"{len(rest):,} marks accepted at once, {doubtful:,} of them doubtful"
        missed = len(state.pending) - len(rest)
        left = f"; {missed:,} that nobody redacts are pending" if missed else ""
        return ReviewOutcome(f"{said}{left}; u takes it back")

    def _undo(self, note: QueuedNote, stream: str, press: KeyPress) -> ReviewOutcome:
        try:
            undone = self.ledger.undo(note.note_id, stream=stream, seen=press.seen)
        except AdjudicatedError as error:
            raise ReviewRefusedError(str(error)) from None
        if not undone:
            raise ReviewRefusedError("nothing was done on this note that could be undone")
        others = f", in {undone:,} notes at once" if undone > 1 else ""
        return ReviewOutcome(f"undone{others}")

    def _all(
        self, note: QueuedNote, state: NoteState, stream: str, reviewer: str, press: KeyPress
    ) -> ReviewOutcome:
        if stream == ADJUDICATION:  # whose marks have numbers of their own
            raise ReviewRefusedError("decide on each mark on which reviewers differ")
        mark = state.marks.get(press.mark)
        if mark is None:
            raise ReviewRefusedError("no mark is chosen; press Tab")
        action = ALL[press.action]
        entries = list(self._occurrences(note, mark, stream, action))
        notes = {entry.note_id for entry in entries}
        what = f"{len(entries):,} occurrences in {len(notes):,} notes"
        if not entries:
            raise ReviewRefusedError(
                "no occurrence of this value is pending, in any note of the queue"
            )
        if not press.sure:
            risks = [] if action is ReviewAction.ACCEPT else self.risks(note, mark, stream)
            said = f"{_ASKED[action].format(what)} at once?"
            said += f" Keeping them could leak: {'; '.join(risks)}." if risks else ""
            return ReviewOutcome(
                f"{said} Enter does it, Esc leaves it.", asks=True, focus=mark.mark
            )
        self.ledger.record(
            entries, stream=stream, reviewer=reviewer, seen=press.seen, shown=note.note_id
        )
        return ReviewOutcome(f"{what} {_DONE[action]}")

    def _occurrences(
        self, note: QueuedNote, mark: ReviewMark, stream: str, action: ReviewAction
    ) -> Iterator[DecisionEntry]:
        queue = {one.note_id: one for one in self.queue() if not one.is_blind}
        if mark.mark < 0 and action is ReviewAction.ACCEPT:
            yield from self._find_unmarked(note, mark, stream, queue)
            return
        if mark.status is ReviewStatus.REJECTED and action is ReviewAction.REMEMBER:
            yield DecisionEntry(note.note_id, action, mark.mark)
        value = self._value(note.note_id, mark.start, mark.end)
        states: dict[str, NoteState] = {}
        for one in self.ledger.marks_of_value(value):
            if one.note_id not in queue or one.label != mark.label:
                continue
            state = states.setdefault(one.note_id, self.state(queue[one.note_id], stream))
            if not state.is_confirmed and is_open(state.marks[one.mark]):
                yield DecisionEntry(one.note_id, action, one.mark)

    def _find_unmarked(
        self, note: QueuedNote, mark: ReviewMark, stream: str, queue: Mapping[str, QueuedNote]
    ) -> Iterator[DecisionEntry]:
        text = self.view.notes[note.note_id].text
        states: dict[str, NoteState] = {}
        for found in self.words.places(text[mark.start : mark.end]):
            if found.note_id not in queue:
                continue
            if found.note_id not in states:
                states[found.note_id] = self.state(queue[found.note_id], stream)
            state, ends = states[found.note_id], (found.start, found.end)
            if not state.is_confirmed and not state.overlapping(*ends):
                yield DecisionEntry(found.note_id, ReviewAction.ADD, 0, *ends, mark.label)

    def _value(self, note_id: str, start: int, end: int) -> str:
        value = value_of(self.view.notes[note_id], start, end)
        return self._key.derive("review value", value).hex()[:32]

    def _check_range(
        self, note: QueuedNote, state: NoteState, start: int, end: int, *, but: int = 0
    ) -> tuple[int, int]:
        text = self.view.notes[note.note_id].text
        if not 0 <= start < end <= len(text) or not text[start:end].strip():
            raise ReviewRefusedError("that is no place in the note")
        if state.overlapping(start, end, but=but):
            raise ReviewRefusedError("another mark is in the way; reject or shorten it first")
        return start, end

    def _move(self, note: QueuedNote, mark: ReviewMark, press: KeyPress) -> tuple[int, int]:
        """Return a mark longer or shorter by a word or character at one end."""
        if press.edge == "start-character":
            return mark.start - press.by, mark.end
        if press.edge == "end-character":
            return mark.start, mark.end + press.by
        words = [one.span() for one in WORD.finditer(self.view.notes[note.note_id].text)]
        if press.edge == "start":
            starts = [start for start, _ in words]
            wanted = (
                [one for one in reversed(starts) if one < mark.start]
                if press.by > 0
                else [one for one in starts if mark.start < one < mark.end]
            )
            return (wanted[0] if wanted else mark.start), mark.end
        ends = [end for _, end in words]
        wanted = (
            [one for one in ends if one > mark.end]
            if press.by > 0
            else [one for one in reversed(ends) if mark.start < one < mark.end]
        )
        return mark.start, (wanted[0] if wanted else mark.end)


def _label(name: str) -> str:
    if name not in Phi.__members__:
        raise ReviewRefusedError("that is no category")
    return name
