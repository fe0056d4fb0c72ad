"""Decisions as annotated notes, out to other tools, and back from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid_assets import Note, Phi, Span, SpanSet
from deid_assets.extending import DeidError, InputError, label_map
from deid_assets.extending.commands import Annotated, Fault, write_notes, write_options
from deid_assets.extending.files import atomic_file, owner_only
from deid_assets.extending.reviewing import read_annotated
from deid_assets.extending.serving import strict_json
from deid_review.desk import ReviewDesk
from deid_review.measures import final_of
from deid_review.records import DecisionEntry, QueuedMark, QueuedNote
from deid_review.states import ReviewAction, ReviewMark

LABEL_STUDIO, PRODIGY = "label-studio", "prodigy"
_MAX_BYTES = 1 << 30
_FIELDS = ("label", "text")
"""Names that Label Studio's configuration for named entities gives the control and the text."""


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
        are_suggestions: Write every note of the queue with what detectors suggest.

    Raises:
        InputError: The format is unclear, or nothing is settled.
    """
    chosen = list(_list_suggested(desk) if are_suggestions else _list_settled(desk))
    if not chosen:
        raise InputError("no note of the review is settled; confirm some first")
    with owner_only():
        if to == LABEL_STUDIO:
            return _write_label_studio(out, chosen, are_suggestions=are_suggestions)
        if to == PRODIGY:
            return _write_prodigy(out, chosen)
        return write_notes(out, chosen, format=to, options=write_options())


def import_notes(
    desk: ReviewDesk, file: Path, *, reviewer: str, format_name: str | None
) -> Imported:
    """Take in what was annotated elsewhere, each note as confirmed by a reviewer.

    A note that is not in the queue, or has another text, is refused and the others are taken. What
    the reviewer had decided on a note before is replaced, and stays in the file.

    Raises:
        InputError: The file cannot be read as a whole.
    """
    queue = {one.note_id: one for one in desk.queue()}
    refused: list[str] = []
    taken = 0
    for found in _read(file, format_name):
        if isinstance(found, Fault):
            refused.append(found.message)
            continue
        reason = _refusal(desk, queue, found)
        if reason:
            refused.append(f"note {found.note.note_id!r}: {reason}")
            continue
        _take(desk, queue[found.note.note_id], found, reviewer)
        taken += 1
    return Imported(taken, refused)


def _refusal(desk: ReviewDesk, queue: Mapping[str, QueuedNote], found: Annotated) -> str:
    if found.note.note_id not in queue:
        return "it is not in the queue; make the queue again, or leave the note out"
    if found.spans is None:
        return "it has no annotations; annotate it, or leave it out"
    if found.note.digest != desk.view.notes[found.note.note_id].digest:
        return "its text is another one; export the note again"
    return ""


def _take(desk: ReviewDesk, note: QueuedNote, found: Annotated, reviewer: str) -> None:
    """Record annotations as events: suggestions that they name accepted, others rejected."""
    state = desk.state(note, reviewer)
    wanted = {(span.start, span.end): span.label.value for span in found.spans or ()}
    entries = []
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
        marks = [] if note.is_blind else desk.ledger.marks(note.note_id)
        yield Annotated(desk.view.notes[note.note_id], _spans(desk.view.notes[note.note_id], marks))


def _spans(note: Note, marks: Any) -> SpanSet:
    return SpanSet.of(note, [_span(one) for one in marks])


def _span(mark: ReviewMark | QueuedMark) -> Span:
    is_queued = isinstance(mark, QueuedMark)
    score = mark.score if isinstance(mark, QueuedMark) else 1.0
    source = "suggestion" if is_queued else "gold"
    return Span(mark.start, mark.end, Phi(mark.label), score, source)


def _write_label_studio(path: Path, notes: list[Annotated], *, are_suggestions: bool) -> int:
    """Write a list of tasks, as Label Studio imports them."""
    part = "predictions" if are_suggestions else "annotations"
    tasks = [
        {
            "data": {"text": one.note.text, "note_id": one.note.note_id},
            part: [{"result": [_region(one.note, span) for span in one.spans or ()]}],
        }
        for one in notes
    ]
    with atomic_file(path) as file:
        file.write(json.dumps(tasks, ensure_ascii=False).encode())
    return len(tasks)


def _region(note: Note, span: Span) -> dict[str, Any]:
    control, text = _FIELDS
    value = {
        "start": _in_utf16(note.text, span.start),
        "end": _in_utf16(note.text, span.end),
        "text": note.text[span.start : span.end],
        "labels": [span.label.value],
    }
    return {"from_name": control, "to_name": text, "type": "labels", "value": value}


def _in_utf16(text: str, at: int) -> int:
    """Return an offset as browsers count, in which Label Studio's are."""
    return len(text[:at].encode("utf-16-le")) // 2


def _write_prodigy(path: Path, notes: list[Annotated]) -> int:
    """Write a task a line, as Prodigy's recipes for named entities have them."""
    with atomic_file(path) as file:
        for one in notes:
            task = {
                "text": one.note.text,
                "meta": {"note_id": one.note.note_id},
                "spans": [
                    {"start": span.start, "end": span.end, "label": span.label.value}
                    for span in one.spans or ()
                ],
                "answer": "accept",
            }
            file.write(json.dumps(task, ensure_ascii=False).encode() + b"\n")
    return len(notes)


def _read(path: Path, name: str | None) -> Iterator[Annotated | Fault]:
    if name == LABEL_STUDIO:
        yield from _read_tasks(path, list(enumerate(_json_of(path), start=1)), _of_label_studio)
    elif name == PRODIGY:
        yield from _read_tasks(path, _json_lines(path), _of_prodigy)
    else:
        yield from read_annotated(path, name)


def _read_tasks(path: Path, tasks: list[tuple[int, Any]], read: Any) -> Iterator[Annotated | Fault]:
    for number, task in tasks:
        try:
            yield read(task)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            reason = "no task of that tool; export it again"
            yield Fault.at(path.name, "malformed", reason, line=number)
        except DeidError as error:
            reason = f"{type(error).__name__}: a label is no category, or an offset lies outside"
            yield Fault.at(path.name, "malformed", f"{reason}; correct it", line=number)


def _of_label_studio(task: Any) -> Annotated:
    text, note_id = task["data"]["text"], task["data"]["note_id"]
    note = Note(note_id, text)
    done = [one for one in task.get("annotations", ()) if not one.get("was_cancelled")]
    if not done:
        return Annotated(note, None)
    spans = []
    for region in done[-1]["result"]:
        if region.get("type") != "labels":
            continue
        value = region["value"]
        start, end = _from_utf16(text, value["start"]), _from_utf16(text, value["end"])
        if value.get("text") not in {None, text[start:end]}:
            raise ValueError
        spans.append(Span(start, end, _category(value["labels"][0])))
    return Annotated(note, SpanSet.of(note, spans))


def _of_prodigy(task: Any) -> Annotated:
    note = Note(task["meta"]["note_id"], task["text"])
    if task.get("answer", "accept") != "accept":
        return Annotated(note, None)
    spans = [
        Span(int(one["start"]), int(one["end"]), _category(one["label"]))
        for one in task.get("spans", ())
    ]
    return Annotated(note, SpanSet.of(note, spans))


def _category(name: str) -> Phi:
    found = label_map("phi")[name]
    if found is None:
        raise ValueError
    return found


def _from_utf16(text: str, at: int) -> int:
    before = text.encode("utf-16-le")[: 2 * int(at)].decode("utf-16-le")
    return len(before)


def _json_of(path: Path) -> list[Any]:
    try:
        found = strict_json.loads(_bytes_of(path))
    except (ValueError, UnicodeDecodeError):
        raise InputError(f"{path}: no JSON; export it again as JSON") from None
    if not isinstance(found, list):
        raise InputError(f"{path}: no list of tasks; export it again as JSON")
    return found


def _json_lines(path: Path) -> list[tuple[int, Any]]:
    found = []
    for number, line in enumerate(_bytes_of(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            found.append((number, strict_json.loads(line)))
        except (ValueError, UnicodeDecodeError):
            found.append((number, None))
    return found


def _bytes_of(path: Path) -> bytes:
    if path.stat().st_size > _MAX_BYTES:
        raise InputError(f"{path}: more than {_MAX_BYTES:,} bytes; import it in parts")
    return path.read_bytes()
