"""The file of a review: the queue, and every decision as an event that is never changed.

One SQLite file in the restricted zone, its owner's alone; it holds places, ids of notes and keyed
values, and no text. Each key press is one transaction that is on disk when it is answered.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from deid_assets.extending import DeidError
from deid_review.database import VERSION, ReviewDatabase
from deid_review.records import (
    DecisionEntry,
    QueuedMark,
    QueuedNote,
    event_of,
    mark_of,
    note_of,
    row_of_mark,
)
from deid_review.states import Event, NoteState, ReviewAction, ReviewMark, ReviewStatus, fold
from deid_review.suggestions import Kind

FILE = "review.sqlite"
LEASE_S = 900.0
"""After this long a note that somebody opened is offered to others again."""
ADJUDICATION = "adjudication"
"""Stream of what is decided where two reviewers differ."""
_QUEUE_BITS = 48  # added to a count of events, exact in the numbers of a page's script


class StaleNoteError(DeidError):
    """The note was changed in another window since it was shown."""


class AdjudicatedError(DeidError):
    """What would be taken back is what somebody decided on between two reviewers."""


class Ledger(ReviewDatabase):
    """The file of one batch's review: what is read from it, and recorded in it."""

    def fill(
        self,
        notes: Sequence[QueuedNote],
        marks: Sequence[QueuedMark],
        about: Mapping[str, str],
        *,
        kept: frozenset[str] = frozenset(),
    ) -> None:
        """Put a queue in the place of the one that is there, in one transaction.

        Args:
            notes: Of the new queue.
            marks: Of its notes.
            about: What is known of it.
            kept: Notes whose marks stay as they are, because somebody decided on them.
        """
        with self.writing() as held:
            # Places are used once. The sample is that of one draw: a note of another one that was
            # decided on stays in the queue, and counts no more.
            held.execute("UPDATE notes SET place = -place, is_sampled = 0, is_double = 0")
            for row in held.execute("SELECT note_id FROM notes").fetchall():
                if row["note_id"] not in kept:
                    held.execute("DELETE FROM marks WHERE note_id = ?", (row["note_id"],))
                    held.execute("DELETE FROM notes WHERE note_id = ?", (row["note_id"],))
            for note in notes:
                held.execute(
                    "INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (note_id)"
                    " DO UPDATE SET place = excluded.place, is_sampled = excluded.is_sampled,"
                    " is_double = excluded.is_double",
                    tuple(asdict(note).values()),
                )
            held.executemany(
                "INSERT INTO marks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [row_of_mark(mark) for mark in marks if mark.note_id not in kept],
            )
            for name, value in {
                "version": str(VERSION),
                "made": str(time.time_ns()),
                **about,
            }.items():
                held.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))

    def notes(self) -> list[QueuedNote]:
        """Return the notes of the queue, in order."""
        found = self._rows("SELECT * FROM notes ORDER BY place")
        return [note_of(row) for row in found]

    def marks(self, note_id: str) -> list[QueuedMark]:
        """Return the suggestions of a note."""
        found = self._rows("SELECT * FROM marks WHERE note_id = ? ORDER BY mark", note_id)
        return [mark_of(row) for row in found]

    def marks_of_value(self, value: str) -> list[QueuedMark]:
        """Return every suggestion of one value, by note."""
        found = self._rows("SELECT * FROM marks WHERE value = ? ORDER BY note_id, mark", value)
        return [mark_of(row) for row in found]

    def events(self, note_id: str, stream: str) -> list[Event]:
        """Return what one stream did on a note's present text and was not undone, in order."""
        found = self._rows(
            "SELECT events.* FROM events JOIN notes USING (note_id, digest)"
            " WHERE note_id = ? AND stream = ? AND undone_at IS NULL ORDER BY number",
            note_id,
            stream,
        )
        return [event_of(row) for row in found]

    def all_events(self, *, after: int = 0) -> list[tuple[str, Event]]:
        """Return every event that was not undone, with its note's id, in order.

        Args:
            after: Number of the last one that is known.
        """
        found = self._rows(
            "SELECT events.* FROM events JOIN notes USING (note_id, digest)"
            " WHERE undone_at IS NULL AND number > ? ORDER BY number",
            after,
        )
        return [(row["note_id"], event_of(row)) for row in found]

    def version(self) -> tuple[int, int]:
        """Return two numbers of which every event changes the first, and every undo the second."""
        last = self._rows("SELECT coalesce(max(number), 0) AS last FROM events")
        undone = self._rows("SELECT count(*) AS undone FROM events WHERE undone_at IS NOT NULL")
        return int(last[0]["last"]), int(undone[0]["undone"])

    def list_undone(self) -> frozenset[int]:
        """Return the numbers of the events that were undone."""
        found = self._rows("SELECT number FROM events WHERE undone_at IS NOT NULL")
        return frozenset(row["number"] for row in found)

    def reasons(self) -> dict[tuple[str, int], tuple[str, tuple[Kind, ...]]]:
        """Return category and reasons of every suggestion, by note and number."""
        found = self._rows("SELECT note_id, mark, label, kinds FROM marks")
        kinds = {row["kinds"]: tuple(map(Kind, json.loads(row["kinds"]))) for row in found}
        return {(row["note_id"], row["mark"]): (row["label"], kinds[row["kinds"]]) for row in found}

    def last(self, note_id: str, stream: str) -> int:
        """Return the number of what a page shows: of a note, in one queue, to a stream.

        It changes with every event of the stream on the note, every undo and every new queue.
        """
        queue = hashlib.sha256(f"{self.about('made')} {note_id}".encode()).digest()
        found = self._rows(
            "SELECT coalesce(max(number), 0) + count(undone_at) AS seen FROM events"
            " WHERE note_id = ? AND stream = ?",
            note_id,
            stream,
        )
        return int.from_bytes(queue[: _QUEUE_BITS // 8], "big") + int(found[0]["seen"])

    def record(
        self,
        entries: Sequence[DecisionEntry],
        *,
        stream: str,
        reviewer: str,
        seen: int | None = None,
        shown: str = "",
    ) -> None:
        """Record what a reviewer did at once: all of it, or nothing.

        Args:
            entries: What.
            stream: Whose annotation.
            reviewer: Who.
            seen: What ``last`` said when the note was shown; not checked without it.
            shown: The note that was shown; that of the first entry where not given.

        Raises:
            StaleNoteError: The note was changed since, or is no more in the queue.
            InputError: There is no room.
        """
        with self.writing() as held:
            self._check_seen(shown or entries[0].note_id, stream, seen)
            top = held.execute("SELECT coalesce(max(number), 0) FROM events").fetchone()[0]
            for entry in entries:
                _insert(held, entry, stream, reviewer, group=f"{top + 1}")

    def _check_seen(self, note_id: str, stream: str, seen: int | None) -> None:
        if seen is not None and self.last(note_id, stream) != seen:
            raise StaleNoteError(
                "the note was changed in another window since it was shown, or the queue was made"
                " again; it is shown anew, press the key again"
            )

    def undo(self, note_id: str, *, stream: str, seen: int | None = None) -> int:
        """Take back what a stream did last on a note, in every note that it was done on at once.

        Other notes of it that were confirmed since are open again. Returns in how many notes
        something was taken back.

        Args:
            note_id: Of the note that is shown.
            stream: Whose annotation.
            seen: What ``last`` said when the note was shown; not checked without it.

        Raises:
            StaleNoteError: The note was changed since.
            AdjudicatedError: Another of the notes was adjudicated; what was decided there is on
                the marks of the reviewers.
            InputError: There is no room.
        """
        with self.writing() as held:
            self._check_seen(note_id, stream, seen)
            done = [
                event
                for event in self.events(note_id, stream)
                if event.action is not ReviewAction.REOPEN  # nobody's key on this note
            ]
            if not done:
                return 0
            group, now = done[-1].group, time.time()
            of_group = ("stream = ?", '"group" = ?', "undone_at IS NULL")
            where = " AND ".join(of_group)
            touched = held.execute(
                f"SELECT DISTINCT note_id FROM events WHERE {where}",  # noqa: S608 - constants
                (stream, group),
            ).fetchall()
            others = [row["note_id"] for row in touched if row["note_id"] != note_id]
            if stream != ADJUDICATION and any(ADJUDICATION in self.streams(one) for one in others):
                raise AdjudicatedError(
                    "it was done in a note that was adjudicated since; undo that first"
                )
            held.execute(
                f"UPDATE events SET undone_at = ? WHERE {where}",  # noqa: S608 - constants
                (now, stream, group),
            )
            for other in others:
                if self.state(other, stream).is_confirmed:
                    reopened = DecisionEntry(other, ReviewAction.REOPEN)
                    group = f"reopened {secrets.token_hex(8)}"  # nothing else was done with it
                    _insert(held, reopened, stream, done[-1].reviewer, group=group)
            return len(touched)

    def state(
        self, note_id: str, stream: str, premarked: frozenset[tuple[str, Kind]] = frozenset()
    ) -> NoteState:
        """Return a note as one stream left it.

        Args:
            note_id: Of the note.
            stream: Whose annotation.
            premarked: Categories and reasons whose suggestions are taken as they are.
        """
        if stream == ADJUDICATION:
            suggested = self._differing(note_id)
        else:
            suggested = [
                ReviewMark(one.mark, one.start, one.end, one.label, _status(one, premarked))
                for one in ([] if self.is_blind(note_id) else self.marks(note_id))
            ]
        is_settling = stream == ADJUDICATION  # what is alike there is measured by nothing
        return fold(suggested, self.events(note_id, stream), is_settling=is_settling)

    def _differing(self, note_id: str) -> list[ReviewMark]:
        """Return what reviewers marked in a note; taken as it is where all did alike."""
        sets = [
            {(one.start, one.end, one.label) for one in self.state(note_id, stream).identifiers}
            for stream in self.streams(note_id)
            if stream != ADJUDICATION and self.state(note_id, stream).is_confirmed
        ]
        every = sorted(set().union(*sets))
        common = set.intersection(*sets) if sets else set()
        return [
            ReviewMark(
                number, *place, ReviewStatus.PREMARKED if place in common else ReviewStatus.PENDING
            )
            for number, place in enumerate(every, start=1)
        ]

    def count_accepted(self, value: str, stream: str) -> int:
        """Return in how many notes a stream took a suggestion of a value for an identifier."""
        found = self._rows(
            "SELECT count(DISTINCT events.note_id) AS notes FROM events JOIN marks"
            " USING (note_id, mark) WHERE marks.value = ? AND stream = ? AND undone_at IS NULL"
            " AND action IN ('accept', 'accept rest', 'relabel', 'pre-marked')",
            value,
            stream,
        )
        return int(found[0]["notes"])

    def is_blind(self, note_id: str) -> bool:
        """Whether a note is shown without suggestions."""
        found = self._rows("SELECT is_blind FROM notes WHERE note_id = ?", note_id)
        return bool(found and found[0]["is_blind"])

    def streams(self, note_id: str) -> list[str]:
        """Return who did something on a note's present text."""
        found = self._rows(
            "SELECT DISTINCT stream FROM events JOIN notes USING (note_id, digest)"
            " WHERE note_id = ? AND undone_at IS NULL ORDER BY stream",
            note_id,
        )
        return [row["stream"] for row in found]

    def lease(self, note_id: str, reviewer: str) -> None:
        """Remember that a reviewer has a note open, so that others are offered other ones."""
        with self.writing() as held:
            held.execute(
                "INSERT INTO leases VALUES (?, ?, ?) ON CONFLICT (note_id) DO UPDATE SET"
                " reviewer = excluded.reviewer, until = excluded.until"
                " WHERE leases.until < ? OR leases.reviewer = excluded.reviewer",
                (note_id, reviewer, time.time() + LEASE_S, time.time()),
            )

    def leases(self) -> dict[str, str]:
        """Return the notes that somebody has open, to who."""
        found = self._rows("SELECT note_id, reviewer FROM leases WHERE until > ?", time.time())
        return {row["note_id"]: row["reviewer"] for row in found}

    def approve(self, reviewer: str, notes: int) -> None:
        """Record that a reviewer approves the batch as it is decided now."""
        with self.writing() as held:
            last, undone = self.version()
            held.execute(
                "INSERT INTO approvals (reviewer, at, last, notes, undone, made)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (reviewer, time.time(), last, notes, undone, self.about("made")),
            )

    def approvals(self) -> list[tuple[str, float]]:
        """Return who approved the batch as it is decided now, and when.

        Any event or undo after it makes an approval void, and so does a queue that is made again.
        Approvals of older files, which do not say of which queue they are, are told by their time.
        """
        last, undone = self.version()
        made = self.about("made")
        found = self._rows(
            "SELECT reviewer, at FROM approvals WHERE last = ? AND (undone = ? AND made = ?"
            " OR made IS NULL AND at >= ? AND NOT EXISTS"
            " (SELECT 1 FROM events WHERE undone_at > approvals.at)) ORDER BY at",
            last,
            undone,
            made,
            int(made or 0) / 1e9,
        )
        return [(row["reviewer"], row["at"]) for row in found]


def _insert(
    held: sqlite3.Connection, entry: DecisionEntry, stream: str, reviewer: str, *, group: str
) -> None:
    stored = held.execute(
        "INSERT INTO events (note_id, digest, stream, reviewer, at, action, mark,"
        ' start, "end", label, "group")'
        " SELECT note_id, digest, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM notes WHERE note_id = ?",
        (
            stream,
            reviewer,
            time.time(),
            str(entry.action),
            entry.mark,
            entry.start,
            entry.end,
            entry.label,
            group,
            entry.note_id,
        ),
    )
    if stored.rowcount != 1:
        raise StaleNoteError(
            "the queue was made again and a note is no more in it; nothing was stored,"
            " go on with the next note"
        )


def _status(mark: QueuedMark, premarked: frozenset[tuple[str, Kind]]) -> ReviewStatus:
    is_measured = all((mark.label, kind) in premarked for kind in mark.kinds)
    return ReviewStatus.PREMARKED if is_measured else ReviewStatus.PENDING
