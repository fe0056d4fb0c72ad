"""The main job over many notes: resolve, sweep and redact, each note alone, failures set apart."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from deid_assets.core.detector import Failed
from deid_assets.core.errors import DeidError, DetectorError, class_name
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.redact import Edit, Policy, Redacted, redact
from deid_assets.core.resolve import LineUp, resolve
from deid_assets.core.span import DisjointSpans, Span, SpanSet

Outcome = SpanSet | Failed
DetectAll = Callable[[Sequence[Note]], Sequence[Outcome]]
"""Runs a line-up; one outcome per note, in order."""


def resolve_all(
    notes: Iterable[Note], opinions: Mapping[str, Mapping[str, Outcome]], *, policy: str, line_up: LineUp
) -> list[DisjointSpans | Failed]:
    """Return one result per note, in order.

    Args:
        notes: The batch.
        opinions: Detector name to note id to that detector's outcome.
        policy: Overlap policy.
        line_up: Whose opinion counts. A note that one of them failed on, or has no outcome for, is ``Failed``.
    """
    return [_resolve_note(note, opinions, policy, line_up) for note in notes]


def _resolve_note(
    note: Note, opinions: Mapping[str, Mapping[str, Outcome]], policy: str, line_up: LineUp
) -> DisjointSpans | Failed:
    found: list[SpanSet] = []
    for source in line_up.sources:
        outcome = opinions[source].get(note.note_id)
        if outcome is None:
            return Failed(note.note_id, f"spans/{source}", "Missing")
        if isinstance(outcome, Failed):
            return outcome
        found.append(outcome)
    try:
        return resolve(note, found, policy=policy, line_up=line_up)
    except DeidError as error:
        return Failed(note.note_id, "merged_spans", type(error).__name__)


def redact_all(
    notes: Iterable[Note],
    spans: Mapping[str, DisjointSpans],
    policy: Policy,
    *,
    key: Key,
    stage: str,
    originals: Container[str] = (),
) -> list[Redacted | Failed]:
    """Return one result per note, in order; a note without spans of its own is ``Failed``, never left as it is.

    Args:
        notes: The batch.
        spans: Note id to what is replaced.
        policy: What with.
        key: For keyed replacers.
        stage: Named by failures.
        originals: Values of the batch, which no surrogate may be.
    """

    def redacted(note: Note) -> Redacted | Failed:
        if note.note_id not in spans:
            return Failed(note.note_id, stage, "Missing")
        try:
            return redact(note, spans[note.note_id], policy, key=key, originals=originals)
        except Exception as error:  # noqa: BLE001 - a replacer may raise anything; becomes a Failed without its message
            return Failed(note.note_id, stage, class_name(error))

    return [redacted(note) for note in notes]


def sweep(
    notes: Sequence[Note], spans: Mapping[str, DisjointSpans], detect_all: DetectAll, policy: Policy, *, key: Key
) -> dict[str, DisjointSpans | Failed]:
    """Detect once more on the masked text and add what a first look missed.

    Masking changes what surrounds a word, and a detector may then see what it did not see before.

    Args:
        notes: Notes with an entry in ``spans``.
        spans: Note id to resolved spans.
        detect_all: The line-up.
        policy: Masks the known spans, with tags rather than surrogates, which a detector would find again.
        key: For ``policy``.

    Returns:
        Note id to its spans with the additions; ``Failed`` where a detector failed on the masked text.
    """
    masked = {note.note_id: redact(note, spans[note.note_id], policy, key=key) for note in notes}
    second_look = [Note(note.note_id, masked[note.note_id].text, note.patient_id, note.lang) for note in notes]
    swept: dict[str, DisjointSpans | Failed] = {}
    for note, outcome in zip(notes, detect_all(second_look), strict=True):
        if isinstance(outcome, Failed):
            swept[note.note_id] = Failed(note.note_id, "merged_spans", outcome.error)
        else:
            swept[note.note_id] = _added(note, spans[note.note_id], residual(outcome, masked[note.note_id].edits))
    return swept


def residual(hits: Iterable[Span], edits: Sequence[Edit]) -> list[Span]:
    """Return the parts of hits on a redacted text that lie in text kept from the original, in its offsets.

    A hit inside a replacement is a surrogate or a tag doing its work. A hit that reaches over the border of a
    replacement counts with its part outside.
    """
    kept: list[Span] = []
    for hit in hits:
        cursor, shift = hit.start, 0
        for edit in edits:
            if edit.new_end <= cursor:
                shift = edit.end - edit.new_end
            elif edit.new_start >= hit.end:
                break
            else:
                kept += _piece(hit, cursor, edit.new_start, shift)
                cursor, shift = max(cursor, edit.new_end), edit.end - edit.new_end
        kept += _piece(hit, cursor, hit.end, shift)
    return kept


def _piece(hit: Span, start: int, end: int, shift: int) -> list[Span]:
    if start >= end:
        return []
    return [Span(start + shift, end + shift, hit.label, hit.score, hit.source, hit.native_label)]


def _added(note: Note, spans: DisjointSpans, more: Sequence[Span]) -> DisjointSpans:
    if not more:
        return spans
    return resolve(note, [spans, SpanSet.of(note, more)], line_up=LineUp.of_equals((*spans, *more)))


def by_note(outcomes: Iterable[Outcome]) -> dict[str, Outcome]:
    """Return the outcomes by note id.

    Raises:
        DetectorError: Two outcomes are for the same note.
    """
    found: dict[str, Outcome] = {}
    for outcome in outcomes:
        if outcome.note_id in found:
            raise DetectorError(f"note {outcome.note_id!r} has two outcomes; detect again")
        found[outcome.note_id] = outcome
    return found
