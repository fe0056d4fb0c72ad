"""Decisions as annotated notes, out to other tools, and back from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid_assets import Note, Phi, Span, SpanSet
from deid_assets.extending import InputError
from deid_assets.extending.commands import Annotated, Fault, write_notes, write_options
from deid_assets.extending.files import owner_only
from deid_assets.extending.reviewing import read_annotated
from deid_review.desk import ReviewDesk
from deid_review.measures import final_of
from deid_review.records import DecisionEntry, QueuedMark, QueuedNote
from deid_review.states import ReviewAction, ReviewMark
from deid_review.tasks import read_label_studio, read_prodigy, write_label_studio, write_prodigy

LABEL_STUDIO, PRODIGY = "label-studio", "prodigy"
_UNCHANGED = (
    "its annotations are what was suggested; give --unchanged where somebody read the notes, or"
    " leave it out"
)


@dataclass(frozen=True, slots=True)
class Imported:
    """What was taken in.

    Args:
        taken: Notes.
        refused: A line for each of the others.
    """

    taken: int
    refused: list[str] = field(default_factory=list)


def gold_of(desk: ReviewDesk, *, only_sampled: bool = False) -> dict[str, SpanSet]:
    """Return the settled notes' annotations, by id.

    Args:
        desk: The review.
        only_sampled: Leave out the notes that are in the queue because something is doubtful.
    """
    found = {}
    for note in desk.queue():
        if only_sampled and not note.is_sampled:
            continue
        marks = final_of(desk.ledger, note).marks
        if marks is not None:
            found[note.note_id] = _spans(desk.view.notes[note.note_id], marks)
    return found


def export_notes(desk: ReviewDesk, out: Path, *, to: str | None, are_suggestions: bool) -> int:
    """Write the settled notes, or the queue with its suggestions; how many.

    Args:
        desk: The review.
        out: What is written.
        to: ``label-studio``, ``prodigy`` or a format; by the suffix where not given.
        are_suggestions: Write every note of the queue with what detectors suggest, but for the
            notes that are reviewed without suggestions.

    Raises:
        InputError: The format is unclear, or there is nothing to write.
    """
    chosen = list(_list_suggested(desk) if are_suggestions else _list_settled(desk))
    if not chosen and are_suggestions:
        raise InputError("the queue has no note with suggestions; make it with fewer blind ones")
    if not chosen:
        raise InputError("no note of the review is settled; confirm some first")
    with owner_only():
        if to == LABEL_STUDIO:
            return write_label_studio(out, chosen, are_suggestions=are_suggestions)
        if to == PRODIGY:
            return write_prodigy(out, chosen, are_suggestions=are_suggestions)
        return write_notes(out, chosen, format=to, options=write_options())


def import_notes(
    desk: ReviewDesk,
    file: Path,
    *,
    reviewer: str,
    format_name: str | None,
    are_unchanged: bool = False,
) -> Imported:
    """Take in what was annotated elsewhere, each note as confirmed by a reviewer.

    The file is read to its end before anything is recorded. A note that is not in the queue, has
    another text, comes twice, or cannot be read is refused, and the others are taken. So is one
    whose annotations are its suggestions: of a format that does not say that a person answered,
    each; of Label Studio and Prodigy, where that is so of the whole file. What the reviewer had
    decided on a note before is replaced, and stays in the file.

    Args:
        desk: The review.
        file: What is read.
        reviewer: Whose annotations they become.
        format_name: ``label-studio``, ``prodigy`` or a format; by the suffix where not given.
        are_unchanged: Take notes too whose annotations are what was suggested.

    Raises:
        InputError: The file cannot be read as a whole, or has no note.
    """
    queue = {one.note_id: one for one in desk.queue()}
    read = list(_read(file, format_name))
    if not read:
        raise InputError(f"{file}: no note is in it; export it again")
    often = Counter(_id_of(one) for one in read)
    refused: list[str] = []
    fit: list[Annotated] = []
    for found in read:
        reason = _refusal(desk, queue, found, often)
        if reason:
            refused.append(reason)
        elif isinstance(found, Annotated):
            fit.append(found)
    untouched = set() if are_unchanged else _list_untouched(desk, fit, format_name)
    for found in fit:
        if found.note.note_id in untouched:
            refused.append(f"note {found.note.note_id!r}: {_UNCHANGED}")
            continue
        _take(desk, queue[found.note.note_id], found, reviewer)
    return Imported(len(fit) - len(untouched), refused)


def _id_of(found: Annotated | Fault) -> str | None:
    return found.note_id if isinstance(found, Fault) else found.note.note_id


def _refusal(
    desk: ReviewDesk,
    queue: Mapping[str, QueuedNote],
    found: Annotated | Fault,
    often: Mapping[str | None, int],
) -> str:
    """Return why a note is not taken, in one line that names it, or nothing."""
    if isinstance(found, Fault):
        is_known = found.note_id in queue and repr(found.note_id) not in found.message
        return f"note {found.note_id!r}: {found.message}" if is_known else found.message
    note_id = found.note.note_id
    reason = ""
    if note_id not in queue:
        reason = "it is not in the queue; make the queue again, or leave the note out"
    elif often[note_id] > 1:
        reason = "it is in the file more than once; leave one of them"
    elif found.spans is None:
        reason = "nobody annotated it; annotate it, or leave it out"
    elif found.note.digest != desk.view.notes[note_id].digest:
        reason = "its text is another one; export the note again"
    elif _has_rivals(found.spans):
        reason = "a place has two labels; leave one of them"
    return f"note {note_id!r}: {reason}" if reason else ""


def _has_rivals(spans: SpanSet) -> bool:
    """Whether a place is marked as two categories."""
    places = {(one.start, one.end, one.label) for one in spans}
    return len({(start, end) for start, end, _ in places}) < len(places)


def _list_untouched(
    desk: ReviewDesk, found: Sequence[Annotated], format_name: str | None
) -> set[str]:
    """Return the notes of which nothing shows that somebody read them."""
    alike = {one.note.note_id for one in found if _is_as_suggested(desk, one)}
    is_answered = format_name in {LABEL_STUDIO, PRODIGY}
    return set() if is_answered and len(alike) < len(found) else alike


def _is_as_suggested(desk: ReviewDesk, found: Annotated) -> bool:
    """Whether annotations are the suggestions, or none at all of a blind note."""
    note_id = found.note.note_id
    places = {(one.start, one.end, one.label.value) for one in found.spans or ()}
    suggested = {(one.start, one.end, one.label) for one in desk.ledger.marks(note_id)}
    return places == suggested or (not places and desk.ledger.is_blind(note_id))


def _take(desk: ReviewDesk, note: QueuedNote, found: Annotated, reviewer: str) -> None:
    """Record annotations as events: suggestions that they name accepted, others rejected."""
    state = desk.state(note, reviewer)
    wanted = {(span.start, span.end): span.label.value for span in found.spans or ()}
    entries = [DecisionEntry(note.note_id, ReviewAction.IMPORT)]
    for mark in state.in_order:
        label = wanted.pop((mark.start, mark.end), None)
        action = ReviewAction.REJECT if label is None else ReviewAction.RELABEL
        if label == mark.label:
            action = ReviewAction.ACCEPT
        entries.append(DecisionEntry(note.note_id, action, mark.mark, label=label or ""))
    entries += [
        DecisionEntry(note.note_id, ReviewAction.ADD, 0, start, end, label)
        for (start, end), label in wanted.items()
    ]
    entries.append(DecisionEntry(note.note_id, ReviewAction.CONFIRM))
    desk.ledger.record(entries, stream=reviewer, reviewer=reviewer)


def _list_settled(desk: ReviewDesk) -> Iterator[Annotated]:
    for note_id, spans in gold_of(desk).items():
        yield Annotated(desk.view.notes[note_id], spans)


def _list_suggested(desk: ReviewDesk) -> Iterator[Annotated]:
    for note in desk.queue():
        if note.is_blind:
            continue
        text = desk.view.notes[note.note_id]
        yield Annotated(text, _spans(text, desk.ledger.marks(note.note_id)))


def _spans(note: Note, marks: Any) -> SpanSet:
    return SpanSet.of(note, [_span(one) for one in marks])


def _span(mark: ReviewMark | QueuedMark) -> Span:
    is_queued = isinstance(mark, QueuedMark)
    score = mark.score if isinstance(mark, QueuedMark) else 1.0
    source = "suggestion" if is_queued else "gold"
    return Span(mark.start, mark.end, Phi(mark.label), score, source)


def _read(path: Path, name: str | None) -> Iterator[Annotated | Fault]:
    if name == LABEL_STUDIO:
        return read_label_studio(path)
    if name == PRODIGY:
        return read_prodigy(path)
    return read_annotated(path, name)
