"""Tasks of Label Studio and Prodigy: annotated notes as these tools write them, and as they read.

A task of which anything is not understood is refused whole, with a reason that holds no text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from deid_assets import Note, Phi, Span, SpanSet
from deid_assets.extending import DeidError, InputError, label_map
from deid_assets.extending.commands import Annotated, Fault
from deid_assets.extending.files import atomic_file
from deid_assets.extending.serving import strict_json

_MAX_BYTES = 1 << 30
_FIELDS = ("label", "text")
"""Names that Label Studio's configuration for named entities gives the control and the text."""
_TEXT_LABELS = frozenset({"labels", "hypertextlabels"})
"""Types of Label Studio's regions that are places in a text (``<Text>``, ``<HyperText>``)."""
_NO_PLACES = frozenset({"choices", "number", "rating", "relation", "taxonomy", "textarea"})
"""Types of its results that say something of a note, or of a region, and mark nothing."""
_MANUAL = frozenset({"blocks", "ner_manual", "relations", "spans_manual"})
"""Views of Prodigy in which spans can be added; in the others an answer is about one span alone."""
_MALFORMED = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)


class TaskError(Exception):
    """A task that cannot be taken; its message is the reason and the remedy, without text."""


def write_label_studio(path: Path, notes: Sequence[Annotated], *, are_suggestions: bool) -> int:
    """Write a list of tasks, as Label Studio imports them; how many."""
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


def write_prodigy(path: Path, notes: Sequence[Annotated], *, are_suggestions: bool) -> int:
    """Write a task a line, as Prodigy's recipes for named entities have them; how many.

    Suggestions have no answer: Prodigy adds a person's.
    """
    with atomic_file(path) as file:
        for one in notes:
            task: dict[str, Any] = {
                "text": one.note.text,
                "meta": {"note_id": one.note.note_id},
                "spans": [
                    {"start": span.start, "end": span.end, "label": span.label.value}
                    for span in one.spans or ()
                ],
            }
            if not are_suggestions:
                task["answer"] = "accept"
            file.write(json.dumps(task, ensure_ascii=False).encode() + b"\n")
    return len(notes)


def read_label_studio(path: Path) -> Iterator[Annotated | Fault]:
    """Yield the note of each task of an export in JSON, or why it cannot be taken.

    Raises:
        InputError: The file is no list of tasks.
    """
    content = _bytes_of(path)
    try:
        tasks = strict_json.loads(content)
    except ValueError:
        raise InputError(f"{path}: no JSON in UTF-8; export it again as JSON") from None
    if not isinstance(tasks, list):
        raise InputError(f"{path}: no list of tasks; export it again as JSON")
    yield from _read_tasks(path, enumerate(tasks, start=1), _of_label_studio, "data")


def read_prodigy(path: Path) -> Iterator[Annotated | Fault]:
    """Yield the note of each line of an export, or why it cannot be taken.

    Raises:
        InputError: The file cannot be read.
    """
    yield from _read_tasks(path, _json_lines(path), _of_prodigy, "meta")


def _read_tasks(
    path: Path,
    tasks: Iterator[tuple[int, Any]],
    read: Callable[[Any], Annotated],
    holder: str,
) -> Iterator[Annotated | Fault]:
    for number, task in tasks:
        try:
            yield read(task)
            continue
        except TaskError as error:
            reason = str(error)
        except DeidError as error:
            name = type(error).__name__
            reason = f"{name}: a label is no category, or an offset lies outside; correct it"
        except _MALFORMED:
            reason = "no task of that tool; export it again"
        note_id = _note_id(task, holder)
        yield Fault.at(path.name, "malformed", reason, line=number, note_id=note_id)


def _note_id(task: Any, holder: str) -> str | None:
    held = task.get(holder) if isinstance(task, dict) else None
    found = held.get("note_id") if isinstance(held, dict) else None
    return found if isinstance(found, str) else None


def _of_label_studio(task: Any) -> Annotated:
    note = Note(task["data"]["note_id"], task["data"]["text"])
    done = [one for one in task.get("annotations", ()) if not one.get("was_cancelled")]
    if not done:
        return Annotated(note, None)
    if len(done) > 1:
        raise TaskError(
            f"{len(done)} annotations in one task; export each annotator's apart, and import each"
            " with a --reviewer"
        )
    results = _check_list(done[0]["result"])
    places = [one for one in results if one.get("type") in _TEXT_LABELS]
    marked = {one["id"] for one in places if "id" in one}
    for one in results:
        if one.get("type") not in _TEXT_LABELS:
            _check_no_place(one, marked)
    return Annotated(note, SpanSet.of(note, [_span_of(note.text, one) for one in places]))


def _check_no_place(result: Mapping[str, Any], marked: set[str]) -> None:
    """Check that a result that is no label of a text marks nothing and names no category.

    Raises:
        TaskError: It may be an identifier, which leaving it out would hide.
    """
    kind, value = result.get("type"), result.get("value", {})
    if kind not in _NO_PLACES:
        raise TaskError(
            "a region is no label of a text (labels, hypertextlabels); label the note with <Labels>"
            " on <Text>"
        )
    is_place = "start" in value or "end" in value
    if is_place and result.get("id") not in marked:
        raise TaskError("a region has no label; give it one, or delete it")
    if kind in {"choices", "taxonomy"} and _names_category(value[kind]):
        raise TaskError("a category is chosen, and no place is labelled with it; label the places")


def _names_category(values: Any) -> bool:
    if isinstance(values, str):
        return values in {one.value for one in Phi}
    return any(_names_category(one) for one in values)


def _span_of(text: str, region: Mapping[str, Any]) -> Span:
    value = region["value"]
    at = value.get("globalOffsets", value) if region["type"] == "hypertextlabels" else value
    start, end = _from_utf16(text, at["start"]), _from_utf16(text, at["end"])
    if region["type"] == "hypertextlabels" and value.get("text") is None:
        raise TaskError("a label in hypertext comes without its text; label it as <Text>")
    labels = value[region["type"]]
    if not isinstance(labels, list) or len(labels) != 1:
        raise TaskError("a region has no label, or several; give it one")
    return _make_span(text, start, end, labels[0], value.get("text"))


def _of_prodigy(task: Any) -> Annotated:
    note = Note(task["meta"]["note_id"], task["text"])
    answer = task.get("answer")
    if answer != "accept":
        return Annotated(note, None)
    if "spans" not in task:
        raise TaskError("it has no list of spans, not even an empty one; export it again")
    if task.get("_is_binary") or task.get("_view_id", "ner_manual") not in _MANUAL:
        raise TaskError("nobody could add a span there; annotate it with ner.manual or ner.correct")
    spans = [
        _make_span(
            note.text,
            _check_offset(one["start"]),
            _check_offset(one["end"]),
            one["label"],
            one.get("text"),
        )
        for one in _check_list(task["spans"])
    ]
    return Annotated(note, SpanSet.of(note, spans))


def _make_span(text: str, start: int, end: int, label: Any, covered: Any) -> Span:
    """Return a span of a text, checked against what the tool says that it covers.

    Raises:
        TaskError: It is none.
    """
    if not 0 <= start < end <= len(text):
        raise TaskError("an offset lies outside of the text, or ends before it starts; correct it")
    if covered is not None and covered != text[start:end]:
        raise TaskError("a region covers another text than its offsets do; export it again")
    found = label_map("phi")[label]
    if found is None:
        raise TaskError("a label is no category; correct it")
    return Span(start, end, found)


def _check_list(found: Any) -> list[Any]:
    if not isinstance(found, list):
        raise TaskError("its annotations are no list; export it again")
    return found


def _check_offset(at: Any) -> int:
    if isinstance(at, bool) or not isinstance(at, int):
        raise TaskError("an offset is no whole number; export it again")
    return at


def _from_utf16(text: str, at: Any) -> int:
    units = text.encode("utf-16-le")
    if not 0 <= 2 * _check_offset(at) <= len(units):
        raise TaskError("an offset lies outside of the text; correct it")
    return len(units[: 2 * at].decode("utf-16-le"))


def _json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(_bytes_of(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            yield number, strict_json.loads(line)
        except ValueError:
            yield number, None


def _bytes_of(path: Path) -> bytes:
    """Return what a file holds, but for a byte order mark of UTF-8."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; name the file that the tool wrote")
    if path.stat().st_size > _MAX_BYTES:
        raise InputError(f"{path}: more than {_MAX_BYTES:,} bytes; import it in parts")
    return path.read_bytes().removeprefix(b"\xef\xbb\xbf")
