"""What a review shows: recall with its interval, precision, agreement, progress and speed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deid_assets import SpanSet
from deid_assets.extending.measuring import union, wilson
from deid_review.ledger import ADJUDICATION, Ledger
from deid_review.records import QueuedNote
from deid_review.states import Event, ReviewAction, ReviewMark, ReviewStatus
from deid_review.suggestions import Kind

PAUSE_S = 120.0
"""A longer gap between two key presses is a pause, and no time of work."""
PRECISE = 0.95
"""Least lower end of the interval of precision from which suggestions are pre-marked."""


@dataclass(frozen=True, slots=True)
class MeasuredRatio:
    """A share with its 95 % interval.

    Args:
        hits: Counted.
        of: Of so many; 0 where nothing was measured.
    """

    hits: int
    of: int

    @property
    def value(self) -> float | None:
        """The share, or ``None`` of nothing."""
        return self.hits / self.of if self.of else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Wilson's interval, or ``None`` of nothing."""
        return wilson(self.hits, self.of) if self.of else None

    def __str__(self) -> str:
        if not self.of:
            return "not measured"
        low, high = wilson(self.hits, self.of)
        return f"{self.hits / self.of:.3f} [{low:.3f}, {high:.3f}] ({self.hits:,} of {self.of:,})"


@dataclass(frozen=True, slots=True)
class Final:
    """What was decided on a note in the end.

    Args:
        marks: Its identifiers; ``None`` where nobody confirmed it, or two reviewers differ.
        by: Who confirmed it.
        differs: Whether two reviewers differ, and nobody has decided between them.
    """

    marks: tuple[ReviewMark, ...] | None
    by: tuple[str, ...] = ()
    differs: bool = False


def final_of(ledger: Ledger, note: QueuedNote) -> Final:
    """Return what was decided on a note: by adjudication, by one reviewer, or by all alike."""
    confirmed = {}
    for stream in ledger.streams(note.note_id):
        state = ledger.state(note.note_id, stream)
        if state.is_confirmed:
            confirmed[stream] = tuple(state.identifiers)
    by = tuple(sorted(confirmed))
    if ADJUDICATION in confirmed:
        return Final(confirmed[ADJUDICATION], by)
    if not confirmed or (note.is_double and len(confirmed) < 2):
        return Final(None, by)
    alike = {
        tuple((one.start, one.end, one.label) for one in marks) for marks in confirmed.values()
    }
    if len(alike) > 1:
        return Final(None, by, differs=True)
    return Final(next(iter(confirmed.values())), by)


def recall(
    notes: Sequence[QueuedNote],
    decided: Mapping[str, Final],
    merged: Mapping[str, SpanSet],
    *,
    blind: bool | None = None,
) -> MeasuredRatio:
    """Return the share of the identifiers of the sample that the ensemble covers whole.

    Of notes that were drawn by the key and confirmed, and of no others: those of the queue are
    there because something is doubtful.

    Args:
        notes: Of the queue.
        decided: What was decided on each.
        merged: What the ensemble found.
        blind: Count notes that were shown without suggestions alone, or with them alone.
    """
    hits = trials = 0
    for note in notes:
        marks = decided[note.note_id].marks
        if not note.is_sampled or marks is None or blind not in {None, note.is_blind}:
            continue
        covered = union((span.start, span.end) for span in merged[note.note_id])
        for mark in marks:
            trials += 1
            hits += _covers(covered, mark)
    return MeasuredRatio(hits, trials)


def precisions(ledger: Ledger) -> dict[tuple[str, Kind], MeasuredRatio]:
    """Return the share of suggestions that reviewers took as they are, by category and reason.

    Of those that a reviewer pressed a key on: what was pre-marked, or accepted with the rest of its
    note, measures nothing, nor does what was imported, of which nobody knows whether it was looked
    at; what was decided between reviewers has numbers of its own.
    """
    reasons = ledger.reasons()
    taken: dict[tuple[str, int], bool] = {}
    events = ledger.all_events()
    imported = {event.group for _, event in events if event.action is ReviewAction.IMPORT}
    for note_id, event in events:
        if event.group in imported:
            continue
        if event.mark > 0 and event.action in _JUDGED and event.stream != ADJUDICATION:
            before = taken.get((note_id, event.mark), True)
            taken[note_id, event.mark] = before and event.action is ReviewAction.ACCEPT
    found: dict[tuple[str, Kind], list[bool]] = defaultdict(list)
    for one, is_taken in taken.items():
        label, kinds = reasons.get(one, ("", ()))
        for kind in kinds:
            found[label, kind].append(is_taken)
    return {name: MeasuredRatio(sum(each), len(each)) for name, each in found.items()}


_JUDGED = frozenset(
    {
        ReviewAction.ACCEPT,
        ReviewAction.REJECT,
        ReviewAction.REMEMBER,
        ReviewAction.RELABEL,
        ReviewAction.MOVE,
    }
)


def choose_premarked(
    measured: Mapping[tuple[str, Kind], MeasuredRatio], least: float = PRECISE
) -> frozenset[tuple[str, Kind]]:
    """Return the categories and reasons whose suggestions may be taken as they are."""
    return frozenset(
        name for name, one in measured.items() if one.bounds and one.bounds[0] >= least
    )


def agreement(ledger: Ledger) -> MeasuredRatio:
    """Return the share of marks on which two reviewers agree exactly, of notes that both confirmed.

    Twice the common marks, of all marks of both.
    """
    common = every = 0
    for note in ledger.notes():
        sets = []
        for stream in ledger.streams(note.note_id):
            state = ledger.state(note.note_id, stream)
            if stream != ADJUDICATION and state.is_confirmed:
                sets.append({(one.start, one.end, one.label) for one in state.identifiers})
        for at, one in enumerate(sets):
            for other in sets[at + 1 :]:
                common += 2 * len(one & other)
                every += len(one) + len(other)
    return MeasuredRatio(common, every)


@dataclass(frozen=True, slots=True)
class SecondReading:
    """What a second reviewer adds to a note that another one confirmed.

    Args:
        first: Share of the identifiers, as decided in the end, that whoever confirmed first had.
        added: Identifiers that the second had on their own, and the first had not.
        missed: Identifiers that neither had, and that whoever decided between them added.
        seconds: Work of the second on these notes, without pauses.
    """

    first: MeasuredRatio
    added: int
    missed: int
    seconds: float

    def __str__(self) -> str:
        if not self.first.of:
            return "not measured"
        minutes = self.seconds / 60
        rate = f", {self.added / minutes:.2f} a minute" if minutes else ""
        second = f"the second added {self.added:,} in {minutes:.1f} min{rate}"
        return f"first {self.first}; {second}; neither had {self.missed:,}"


def second_reading(ledger: Ledger, decided: Mapping[str, Final]) -> SecondReading:
    """Return what a second reviewer added, of notes that two confirmed apart and that are settled.

    Which of two was the first is told by when each confirmed last. A gap belongs to the note that
    is decided on after it; that before a reviewer's first key press is not known, so that the time
    is somewhat short. A reviewer has an identifier whose code points all stand in their marks.
    """
    ended: dict[str, dict[str, float]] = defaultdict(dict)
    worked: dict[tuple[str, str], float] = defaultdict(float)
    before: dict[str, float] = {}
    for note_id, event in ledger.all_events():
        gap = event.at - before.get(event.reviewer, event.at)
        before[event.reviewer] = event.at
        if event.stream == ADJUDICATION:
            continue
        worked[note_id, event.stream] += gap if gap <= PAUSE_S else 0.0
        if event.action is ReviewAction.CONFIRM:
            ended[note_id][event.stream] = event.at
    hits = added = missed = 0
    seconds = 0.0
    for note_id, by in ended.items():
        final = decided.get(note_id, Final(None)).marks
        apart = [one for one in by if ledger.state(note_id, one).is_confirmed]
        if final is None or len(apart) < 2:
            continue
        first, second = sorted(apart, key=by.__getitem__)[:2]
        of_first, of_second = (_merge_marks(ledger, note_id, one) for one in (first, second))
        for mark in final:
            if _covers(of_first, mark):
                hits += 1
            elif _covers(of_second, mark):
                added += 1
            else:
                missed += 1
        seconds += worked[note_id, second]
    return SecondReading(MeasuredRatio(hits, hits + added + missed), added, missed, seconds)


def _merge_marks(ledger: Ledger, note_id: str, stream: str) -> list[tuple[int, int]]:
    marks = ledger.state(note_id, stream).identifiers
    return union((one.start, one.end) for one in marks)


def _covers(ranges: Sequence[tuple[int, int]], mark: ReviewMark) -> bool:
    """Whether one of the ranges has a mark whole."""
    return any(start <= mark.start and mark.end <= end for start, end in ranges)


@dataclass(frozen=True, slots=True)
class Measured:
    """Recall as it was known after so much work.

    Args:
        minutes: Of all reviewers, without pauses.
        low: Lower end of the interval.
        value: Recall.
        high: Upper end.
    """

    minutes: float
    low: float
    value: float
    high: float


def recall_by_minute(
    notes: Sequence[QueuedNote],
    decided: Mapping[str, Final],
    merged: Mapping[str, SpanSet],
    events: Sequence[tuple[str, Event]],
) -> list[Measured]:
    """Return recall on the sample after each note that was settled, by the work until then."""
    order: dict[str, float] = {}
    worked, before = 0.0, dict[str, float]()
    for note_id, event in events:
        gap = event.at - before.get(event.reviewer, event.at)
        worked += gap if gap <= PAUSE_S else 0.0
        before[event.reviewer] = event.at
        if event.action is ReviewAction.CONFIRM:
            order[note_id] = worked
    by_id = {note.note_id: note for note in notes}
    hits = of = 0
    found = []
    for note_id, seconds in sorted(order.items(), key=lambda one: one[1]):
        if note_id not in by_id:
            continue
        ratio = recall([by_id[note_id]], decided, merged)
        hits, of = hits + ratio.hits, of + ratio.of
        if by_id[note_id].is_sampled and of:
            low, high = wilson(hits, of)
            found.append(Measured(seconds / 60, low, hits / of, high))
    return found


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast a reviewer works.

    Args:
        decisions: On identifiers and false alarms.
        found: Identifiers that were accepted or added.
        seconds: Of work, without pauses.
        confirmed: Notes.
    """

    decisions: int
    found: int
    seconds: float
    confirmed: int

    @property
    def a_minute(self) -> float | None:
        """Identifiers found in a minute of work."""
        return 60 * self.found / self.seconds if self.seconds else None

    def estimate_left(self, notes: int) -> float | None:
        """Return the seconds that so many more notes take at this speed."""
        return notes * self.seconds / self.confirmed if self.confirmed else None


@dataclass(slots=True)
class PaceTally:
    """How fast a reviewer works, counted event by event."""

    decisions: int = 0
    found: int = 0
    seconds: float = 0.0
    confirmed: int = 0
    before: float | None = None

    def count(self, event: Event) -> None:
        """Take the next event into account."""
        if self.before is not None and event.at - self.before <= PAUSE_S:
            self.seconds += event.at - self.before
        self.before = event.at
        self.found += event.action in _FINDING
        self.confirmed += event.action is ReviewAction.CONFIRM
        self.decisions += event.action in _DECIDING

    @property
    def speed(self) -> Speed:
        """What was counted until now."""
        return Speed(self.decisions, self.found, self.seconds, self.confirmed)


def speed(events: Sequence[Event]) -> Speed:
    """Return how fast one reviewer worked, from the times of the events."""
    tally = PaceTally()
    for event in events:
        tally.count(event)
    return tally.speed


_FINDING = frozenset(
    {ReviewAction.ACCEPT, ReviewAction.ACCEPT_REST, ReviewAction.ADD, ReviewAction.RELABEL}
)
_DECIDING = frozenset(
    {
        ReviewAction.ACCEPT,
        ReviewAction.ADD,
        ReviewAction.RELABEL,
        ReviewAction.REJECT,
        ReviewAction.REMEMBER,
        ReviewAction.LEAVE,
    }
)


def counts_by_label(marks: Sequence[ReviewMark]) -> dict[str, tuple[int, int]]:
    """Return by category how many marks are pending, and how many there are."""
    found: dict[str, tuple[int, int]] = {}
    for mark in marks:
        pending, every = found.get(mark.label, (0, 0))
        found[mark.label] = (pending + (mark.status is ReviewStatus.PENDING), every + 1)
    return dict(sorted(found.items()))
