"""What is decided on the notes of a batch, followed as any process records it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from deid_assets.extending import InputError
from deid_assets.extending.reviewing import BatchView
from deid_review.ledger import ADJUDICATION, Ledger
from deid_review.measures import (
    PRECISE,
    Final,
    PaceTally,
    Speed,
    choose_premarked,
    final_of,
    precisions,
)
from deid_review.places import WordIndex
from deid_review.records import QueuedNote
from deid_review.states import Event, NoteState
from deid_review.suggestions import Kind

_MEASURED_EVERY_S = 30.0


class FollowedReview:
    """The notes of a batch's queue, and what is decided on them by now.

    Args:
        view: The batch.
        ledger: The file of its review.
        least: Lower end of the measured precision from which suggestions are pre-marked.
    """

    def __init__(self, view: BatchView, ledger: Ledger, *, least: float = PRECISE) -> None:
        self.view = view
        self.ledger = ledger
        self._least = least
        self._measured_at = -_MEASURED_EVERY_S
        self._premarked: frozenset[tuple[str, Kind]] = frozenset()
        self._made = ""
        self._queue: list[QueuedNote] = []
        self._all_notes: list[QueuedNote] = []
        self._place_of: dict[str, int] = {}
        self._finals: dict[str, Final] = {}
        self._events: list[tuple[str, Event]] = []
        self._seen = (-1, -1)
        self._undone: frozenset[int] = frozenset()
        self._paces: dict[str, PaceTally] = {}
        self._words: WordIndex | None = None

    @property
    def words(self) -> WordIndex:
        """The words of all notes; the first call reads them."""
        if self._words is None:
            self._words = WordIndex(self.view.notes)
        return self._words

    def queue(self) -> list[QueuedNote]:
        """Return the notes of the queue whose text is what it was when the queue was made.

        Raises:
            InputError: The batch was withdrawn or erased, with its review.
        """
        if not self.ledger.path.exists():
            raise InputError(
                f"batch {self.view.batch} was withdrawn or erased, and its review with it; stop"
                " deid review"
            )
        made = self.ledger.about("made")
        if made != self._made:
            notes = self.view.notes
            self._all_notes = self.ledger.notes()
            self._queue = [
                one
                for one in self._all_notes
                if one.note_id in notes and notes[one.note_id].digest == one.digest
            ]
            self._place_of = {one.note_id: one.place for one in self._queue}
            self._made, self._seen = made, (-1, -1)
        return self._queue

    def _follow(self) -> None:
        """Take in what was recorded since the last call, by whichever process."""
        self.queue()
        seen = self.ledger.version()
        if seen == self._seen:
            return
        if self._seen == (-1, -1):
            self._events, self._paces, self._finals, self._undone = [], {}, {}, frozenset()
        if seen[1] != self._seen[1]:
            self._leave_out(self.ledger.list_undone())
        last = self._events[-1][1].number if self._events else 0
        new = self.ledger.all_events(after=last)
        for note_id, event in new:
            self._finals.pop(note_id, None)
            self._paces.setdefault(event.reviewer, PaceTally()).count(event)
        self._events += new
        self._seen = seen

    def _leave_out(self, undone: frozenset[int]) -> None:
        """Take in what was undone."""
        gone = undone - self._undone
        self._undone = undone
        for note_id, event in self._events:
            if event.number in gone:
                self._finals.pop(note_id, None)
        self._events = [one for one in self._events if one[1].number not in gone]
        self._paces = {}
        for _, event in self._events:
            self._paces.setdefault(event.reviewer, PaceTally()).count(event)

    def events(self) -> Sequence[tuple[str, Event]]:
        """Return every event that was not undone, with its note's id, in order."""
        self._follow()
        return self._events

    def pace(self, reviewer: str) -> Speed:
        """Return how fast a reviewer works."""
        self._follow()
        return self._paces.get(reviewer, PaceTally()).speed

    def finals(self) -> dict[str, Final]:
        """Return what was decided on each note of the queue, by id."""
        self._follow()
        touched = {note_id for note_id, _ in self._events} if not self._finals else None
        for note in self.queue():
            if note.note_id in self._finals:
                continue
            is_new = touched is not None and note.note_id not in touched
            self._finals[note.note_id] = Final(None) if is_new else final_of(self.ledger, note)
        return {one.note_id: self._finals[one.note_id] for one in self.queue()}

    def count_changed(self) -> int:
        """Return how many notes of the queue have another text now, or are gone."""
        left = len(self.queue())
        return len(self._all_notes) - left

    def note_at(self, place: int) -> QueuedNote:
        """Return a note of the queue.

        Raises:
            InputError: There is none, or its text has changed.
        """
        for one in self.queue():
            if one.place == place:
                return one
        raise InputError(
            "this note is not in the queue, or its text has changed since; run `deid review queue`"
            " again"
        )

    def next_note(self, reviewer: str, after: int = 0) -> QueuedNote | None:
        """Return the next note for a reviewer, or ``None`` where all are done.

        Not those that another reviewer has open, and not those that enough reviewers confirmed.
        """
        leases = self.ledger.leases()
        notes, finals = self.queue(), self.finals()
        for note in [*(one for one in notes if one.place > after), *notes]:
            by = finals[note.note_id].by
            if reviewer in by or ADJUDICATION in by or len(by) >= (2 if note.is_double else 1):
                continue
            if note.is_double or leases.get(note.note_id, reviewer) == reviewer:
                return note
        return None

    def differing(self) -> list[QueuedNote]:
        """Return the notes on which reviewers differ, and nobody has decided between them."""
        finals = self.finals()
        return [one for one in self.queue() if finals[one.note_id].differs]

    def is_adjudicable(self, note: QueuedNote) -> bool:
        """Whether reviewers differ on a note, or somebody has begun to decide between them."""
        is_begun = ADJUDICATION in self.ledger.streams(note.note_id)
        return is_begun or self.finals()[note.note_id].differs

    def list_premarked(self) -> frozenset[tuple[str, Kind]]:
        """Return what is taken as it is, by its measured precision; measured now and then."""
        if time.monotonic() - self._measured_at > _MEASURED_EVERY_S:
            self._premarked = choose_premarked(precisions(self.ledger), self._least)
            self._measured_at = time.monotonic()
        return self._premarked

    def state(self, note: QueuedNote, stream: str) -> NoteState:
        """Return a note as it is to a stream."""
        return self.ledger.state(note.note_id, stream, self.list_premarked())
