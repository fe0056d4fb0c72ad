"""The queue of a batch: what is doubtful, the riskiest first, and a sample drawn by the key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from deid_assets import Note, Span, SpanSet
from deid_assets.extending.reviewing import BatchView, Key
from deid_review.ledger import Ledger
from deid_review.records import QueuedMark, QueuedNote
from deid_review.suggestions import SpansByPlace, Suggestion, labels_of, priority, suggestions_of


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """What a queue holds.

    Args:
        sample: Notes that are drawn at random by the key.
        doubtful: Notes with something doubtful, the riskiest first; all where 0.
        blind: Share of the sample that is shown without suggestions.
        double: Share of the sample that two reviewers annotate.
    """

    sample: int = 50
    doubtful: int = 0
    blind: float = 0.25
    double: float = 0.2


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """What became of a queue.

    Args:
        notes: In it.
        sampled: Of these, drawn at random.
        blind: Of these, without suggestions.
        marks: Suggestions.
        doubtful: Of these, with something that speaks against them.
        changed: Notes with decisions whose text is another now, so that these are void.
        kept: Notes whose decisions stay.
    """

    notes: int
    sampled: int
    blind: int
    marks: int
    doubtful: int
    changed: int = 0
    kept: int = 0


def value_of(note: Note, start: int, end: int) -> str:
    """Return a value in one spelling: without case, and with single blanks."""
    return " ".join(note.text[start:end].casefold().split())


def make_queue(view: BatchView, ledger: Ledger, key: Key, options: QueueOptions) -> QueueCounts:
    """Fill the file of a batch's review, and return what it holds.

    What was decided stays for notes whose text is the same; those of a note that changed are void.
    Nobody decides while it is put in place, so that no key that was answered is lost.
    """
    suggested = _suggest(view)
    patients = _patients_by_value(view, suggested)
    marks = {
        note_id: _queue_marks(view.notes[note_id], found, patients, key)
        for note_id, found in suggested.items()
    }
    drawn = _draw(view, key, options)
    order = _order(view, marks, drawn, options)
    draft = _QueueDraft(marks, drawn, order)
    with ledger.writing():
        return _fill(view, ledger, options, draft)


@dataclass(frozen=True, slots=True)
class _QueueDraft:
    """What a queue is made of, whatever was decided.

    Args:
        marks: Suggestions by note.
        drawn: Notes of the sample, in the order of the draw.
        order: Notes in the order in which they are looked at.
    """

    marks: Mapping[str, Sequence[QueuedMark]]
    drawn: Sequence[str]
    order: Sequence[str]


def _fill(
    view: BatchView, ledger: Ledger, options: QueueOptions, draft: _QueueDraft
) -> QueueCounts:
    """Put a queue in place, in the transaction that is open, and return what it holds."""
    events = ledger.all_events()
    decided = {note_id for note_id, _ in events}
    before = {one.note_id: one for one in ledger.notes()}
    kept = frozenset(
        note_id
        for note_id in decided
        if note_id in view.notes and before[note_id].digest == view.notes[note_id].digest
    )
    order = [*draft.order, *sorted(kept - set(draft.order))]
    blind, double = _shares(draft.drawn, options)
    sampled = set(draft.drawn)
    notes = [
        QueuedNote(
            note_id,
            view.notes[note_id].digest,
            place,
            note_id in sampled,
            note_id in blind,
            note_id in double,
            len(view.notes[note_id].text),
        )
        for place, note_id in enumerate(order, start=1)
    ]
    queued = [mark for note_id in order for mark in draft.marks.get(note_id, ())]
    about = {"batch": view.batch, "merged": view.digest}
    ledger.fill(notes, queued, about, kept=kept)
    return QueueCounts(
        len(notes),
        sum(one.is_sampled for one in notes),
        sum(one.is_blind for one in ledger.notes()),  # a kept note stays as it was shown
        len(queued),
        sum(is_doubtful(one) for one in queued),
        changed=len(decided - kept),
        kept=len(kept),
    )


def is_doubtful(mark: QueuedMark) -> bool:
    """Whether something speaks against taking a suggestion as it is."""
    from deid_review.suggestions import Kind  # noqa: PLC0415

    return mark.kinds != (Kind.AGREED,)


def _suggest(view: BatchView) -> dict[str, list[Suggestion]]:
    known = labels_of(view.predictions)
    found = {}
    for note_id, merged in view.merged.items():
        said = {
            name: _not_allowed(of[note_id], view.allowed.get(note_id, ()))
            for name, of in view.predictions.items()
            if note_id in of
        }
        found[note_id] = suggestions_of(view.notes[note_id], merged, said, known)
    return found


def _not_allowed(found: SpanSet, allowed: Sequence[Span]) -> SpanSet:
    """Return what a detector marked without what people found to be a false alarm before."""
    if not allowed:
        return found
    places = SpansByPlace(allowed)
    kept = [
        one
        for one in found
        if not any(
            (place.source, place.label) == (one.source, one.label)
            and place.start <= one.start
            and one.end <= place.end
            for place in places.overlapping(one)
        )
    ]
    return SpanSet(found.note_id, found.digest, tuple(kept))


def _patients_by_value(
    view: BatchView, suggested: Mapping[str, Sequence[Suggestion]]
) -> dict[str, int]:
    owners = defaultdict(set)
    for note_id, found in suggested.items():
        note = view.notes[note_id]
        for one in found:
            owners[value_of(note, one.start, one.end)].add(note.patient_id or note_id)
    return {value: len(who) for value, who in owners.items()}


def _queue_marks(
    note: Note, found: Sequence[Suggestion], patients: Mapping[str, int], key: Key
) -> list[QueuedMark]:
    marks = []
    for number, one in enumerate(found, start=1):
        value = value_of(note, one.start, one.end)
        marks.append(
            QueuedMark(
                note.note_id,
                number,
                one.start,
                one.end,
                one.label.value,
                one.score,
                one.kinds,
                one.said,
                one.is_merged,
                priority(one, patients.get(value, 1)),
                key.derive("review value", value).hex()[:32],
            )
        )
    return marks


def _draw(view: BatchView, key: Key, options: QueueOptions) -> list[str]:
    """Return the sample, in the order of the draw; which notes follows from key and ids alone."""

    def rank(note_id: str) -> tuple[int, str]:
        return key.seed("review sample", note_id), note_id

    return sorted(view.merged, key=rank)[: options.sample]


def _order(
    view: BatchView,
    marks: Mapping[str, Sequence[QueuedMark]],
    drawn: Sequence[str],
    options: QueueOptions,
) -> list[str]:
    """Return the notes of the queue: two doubtful ones, and one of the sample, in turn.

    The notes of a patient follow one another, so that what was read of one is known in the next.
    """

    def own_risk(note_id: str) -> tuple[float, float, str]:
        weights = [one.priority for one in marks[note_id] if is_doubtful(one)]
        return -max(weights), -sum(weights), note_id

    def patient(note_id: str) -> str:
        return view.notes[note_id].patient_id or f"note {note_id}"

    def risk(note_id: str) -> tuple[Any, ...]:
        return (*riskiest[patient(note_id)], patient(note_id), *own_risk(note_id))

    sampled = set(drawn)
    doubtful = [
        note_id
        for note_id in view.merged
        if note_id not in sampled and any(map(is_doubtful, marks[note_id]))
    ]
    riskiest: dict[str, tuple[float, float, str]] = {}
    for note_id in doubtful:
        own = own_risk(note_id)
        riskiest[patient(note_id)] = min(riskiest.get(patient(note_id), own), own)
    doubtful.sort(key=risk)
    if options.doubtful:
        doubtful = doubtful[: options.doubtful]
    order: list[str] = []
    for first, second, third in zip_longest(doubtful[::2], doubtful[1::2], drawn):
        order += [note_id for note_id in (first, second, third) if note_id is not None]
    return order


def _shares(drawn: Sequence[str], options: QueueOptions) -> tuple[set[str], set[str]]:
    blind = round(options.blind * len(drawn))
    double = round(options.double * len(drawn))
    return set(drawn[:blind]), set(drawn[len(drawn) - double :])
