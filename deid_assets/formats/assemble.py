"""From a parsed note to a note with its spans, or to every fault that withholds it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from deid_assets.core.errors import NoteError, UnknownLabelError
from deid_assets.core.note import MAX_ID_CHARS, Note
from deid_assets.core.phi import LabelMap, Phi
from deid_assets.core.span import MAX_SPANS, Span, SpanSet
from deid_assets.formats.annotated import (
    Annotated,
    Annotation,
    Fault,
    ParsedNote,
    Problem,
    is_note_id,
)
from deid_assets.formats.offsets import to_code_points
from deid_assets.formats.options import ReadOptions

_LABEL = re.compile(r"\w[\w.:/-]{0,63}", re.ASCII)
BREAKS_TO_BLANKS = dict.fromkeys(map(ord, "\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"), " ")
"""Characters that brat and XML attributes cannot hold on one line, and replace by a space."""


def assemble(parsed: ParsedNote, labels: LabelMap, options: ReadOptions) -> Annotated | list[Fault]:
    """Return the note and its spans, or one fault per thing wrong with it.

    A note with a broken annotation is a fault, never a note with fewer spans.
    """
    note = _note(parsed, options)
    if isinstance(note, Fault):
        return [note]
    if parsed.annotations is None and not parsed.problems:
        return Annotated(note, body_chars=parsed.body_chars)
    if parsed.in_code_points:
        options = replace(options, offsets="codepoint")
    annotations = parsed.annotations or ()
    if (count := len(annotations) + len(parsed.problems)) > MAX_SPANS:
        reason = f"{count} spans, more than {MAX_SPANS}; cut the note into several"
        return [_fault(Problem("too-large", reason), parsed, note)]
    fragments = chain.from_iterable(annotation.fragments for annotation in annotations)
    ends = chain.from_iterable(fragments)
    points = to_code_points(note.text, ends, options.offsets)
    spans: list[Span] = []
    problems = list(parsed.problems)
    for annotation in annotations:
        for found in _check(
            annotation, note.text, points, labels, options, fold=parsed.fold_blanks
        ):
            if isinstance(found, Span):
                spans.append(found)
            else:
                problems.append(found)
    if problems:
        return [_fault(problem, parsed, note) for problem in problems]
    return Annotated(note, SpanSet.of(note, spans), parsed.body_chars)


def _fault(problem: Problem, parsed: ParsedNote, note: Note) -> Fault:
    """Return what is wrong with an annotation, with where it stands."""
    return Fault.at(
        parsed.annotation_file or parsed.file,
        problem.kind,
        problem.reason,
        line=problem.line or parsed.line,
        note_id=note.note_id,
    )


def _note(parsed: ParsedNote, options: ReadOptions) -> Note | Fault:
    if not is_note_id(parsed.note_id):
        reason = (
            f"the note id has {len(parsed.note_id)} characters; use 1 to {MAX_ID_CHARS} printable"
            " ones"
        )
        return Fault.at(parsed.file, "malformed", reason, line=parsed.line)
    if len(parsed.text) > options.max_note_chars:
        reason = (
            f"note has {len(parsed.text)} characters, more than {options.max_note_chars}; raise"
            " --read max_note_chars"
        )
        return Fault.at(parsed.file, "too-large", reason, line=parsed.line, note_id=parsed.note_id)
    try:
        # A blank patient id is none: else all notes that lack one would share a patient.
        patient_id = (
            parsed.patient_id if parsed.patient_id and not parsed.patient_id.isspace() else None
        )
        return Note(
            parsed.note_id, parsed.text, patient_id=patient_id, lang=parsed.lang, meta=parsed.meta
        )
    except NoteError:
        reason = "the text holds a lone surrogate; decode the source as UTF-8 or UTF-16"
        return Fault.at(
            parsed.file, "undecodable", reason, line=parsed.line, note_id=parsed.note_id
        )


def _check(
    annotation: Annotation,
    text: str,
    points: dict[int, int | None],
    labels: LabelMap,
    options: ReadOptions,
    *,
    fold: bool,
) -> Iterator[Span | Problem]:
    label = phi_of(annotation, labels)
    if isinstance(label, Problem):
        yield label
    ranges: list[tuple[int, int]] = []
    for start, end in annotation.fragments:
        first, last = points[start], points[end]
        if first is None or last is None or first >= last:
            yield bad_offsets(
                start, end, line=annotation.line, size=len(text), unit=options.offsets
            )
        else:
            ranges.append((first, last))
    if len(ranges) != len(annotation.fragments):
        return
    if len(ranges) > 1 and options.discontinuous == "refuse":
        reason = (
            f"span at {ranges[0][0]} has {len(ranges)} fragments; fix it, or read it with --read"
            " discontinuous=split"
        )
        yield Problem("discontinuous", reason, annotation.line)
        return
    covered = " ".join(text[start:end] for start, end in ranges)
    if annotation.covered is not None and not _same(annotation.covered, covered, fold=fold):
        reason = (
            f"span [{ranges[0][0]}, {ranges[-1][1]}) covers other text than its annotation carries;"
            " check --read offsets=codepoint, utf8 or utf16, and that the text was not altered"
        )
        yield Problem("text-mismatch", reason, annotation.line)
    elif isinstance(label, Phi):
        native = annotation.native_label or (
            annotation.label if annotation.label != label.value else ""
        )
        for start, end in ranges:
            yield Span(start, end, label, annotation.score, annotation.source, native)


def phi_of(annotation: Annotation, labels: LabelMap) -> Phi | Problem | None:
    """The category of an annotation, ``None`` where its label is ignored on purpose, or why there
    is none.
    """
    try:
        return labels[annotation.label]
    except UnknownLabelError:
        shown = (
            repr(annotation.label)
            if _LABEL.fullmatch(annotation.label)
            else "not shown, as it is no word,"
        )
        reason = (
            f"label {shown} is not in label map {labels.name!r}; name the map that has it with"
            " --labels"
        )
        return Problem("unknown-label", reason, annotation.line)


def bad_offsets(
    start: int, end: int, *, line: int | None, size: int | None = None, unit: str = "codepoint"
) -> Problem:
    """Return the problem of a range that is no span.

    ``size`` is the note's length in code points.
    """
    bounds = "" if size is None else f" of a note of {size} characters"
    reason = (
        f"[{start}, {end}) is no {unit} range{bounds}; a span starts at 0 or later, ends in the"
        " note, is not empty"
    )
    return Problem("offset", reason, line)


def _same(carried: str, covered: str, *, fold: bool) -> bool:
    if fold:
        return carried.translate(BREAKS_TO_BLANKS) == covered.translate(BREAKS_TO_BLANKS)
    return carried == covered
