"""What became of each note.

Notes fully redacted, names only or by category, worst notes, and patients.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest

from deid_assets.extending import DigestError, InputError, OffsetError, Profile, SpanSet
from deid_assets.extending.scoring import Share, is_inside, size, size_of_common, union, wilson


@dataclass(frozen=True, slots=True)
class NoteOutcome:
    """One note.

    Args:
        note_id: Its id.
        gold: Profile label to gold spans.
        left: Profile label to gold spans of which at least one code point is left; a label with
            none is absent.
        left_chars: Gold code points left.
        spurious_chars: Predicted code points outside all gold.
    """

    note_id: str
    gold: Mapping[str, int] = field(default_factory=dict)
    left: Mapping[str, int] = field(default_factory=dict)
    left_chars: int = 0
    spurious_chars: int = 0


def share_of(hits: int, trials: int) -> Share:
    """Return a share with its interval.

    Raises:
        InputError: There was no trial, or more hits than trials.
    """
    return Share(hits, trials, *wilson(hits, trials))


def note_outcomes(
    pairs: Iterable[tuple[SpanSet, SpanSet]], *, profile: Profile, lengths: Mapping[str, int]
) -> Iterator[NoteOutcome]:
    """Yield what became of each note, one at a time.

    A gold span is covered where predictions of any category cover all its code points, as
    ``Scheme.COVERED`` counts.

    Args:
        pairs: Gold and predictions of each note, for example from ``pair``.
        profile: Gold counts under its labels; a category that it does not count is left out of the
            gold.
        lengths: Note id to code points of the note.

    Raises:
        DigestError: A pair belongs to different notes or different versions of a text.
        OffsetError: A span ends after its note does.
        InputError: A note comes twice or has no length.
    """
    seen: set[str] = set()
    for gold, pred in pairs:
        _check(gold, pred, lengths)
        if gold.note_id in seen:
            raise InputError(f"note {gold.note_id!r} is scored twice; give each note once")
        seen.add(gold.note_id)
        yield _outcome(gold, pred, profile)


def _check(gold: SpanSet, pred: SpanSet, lengths: Mapping[str, int]) -> None:
    if (gold.note_id, gold.digest) != (pred.note_id, pred.digest):
        raise DigestError(
            f"note {gold.note_id!r}: the predictions were made for note {pred.note_id!r}, digest"
            f" {pred.digest[:12]}, the annotations for digest {gold.digest[:12]}; detect again on"
            " the text that was annotated"
        )
    if gold.note_id not in lengths:
        raise InputError(f"note {gold.note_id!r} has no length; give the code points of every note")
    last = max((span.end for spans in (gold, pred) for span in spans), default=0)
    if last > lengths[gold.note_id]:
        raise OffsetError(
            f"note {gold.note_id!r}: span ends at {last}, note has {lengths[gold.note_id]}"
            " characters"
        )


def _outcome(gold: SpanSet, pred: SpanSet, profile: Profile) -> NoteOutcome:
    golds = {
        (span.start, span.end, label)
        for span in gold.spans
        if (label := profile.label_of(span.label)) is not None
    }
    covered = union((span.start, span.end) for span in pred.spans)
    all_gold = union((start, end) for start, end, _ in golds)
    found = size_of_common(all_gold, covered)
    totals: dict[str, int] = {}
    left: dict[str, int] = {}
    for start, end, label in sorted(golds):
        totals[label] = totals.get(label, 0) + 1
        if not is_inside((start, end), covered):
            left[label] = left.get(label, 0) + 1
    return NoteOutcome(gold.note_id, totals, left, size(all_gold) - found, size(covered) - found)


def fully_redacted(
    outcomes: Iterable[NoteOutcome], *, labels: frozenset[str] | None = None
) -> Share:
    """Return the share of notes of which nothing is left, among those that have something to cover.

    Args:
        outcomes: Notes, or patients from ``by_patient``.
        labels: Labels to look at, for example ``frozenset({"NAME"})`` for names only; all where not
            given. Notes without gold of these labels are no trials.

    Raises:
        InputError: No note has gold of these labels.
    """
    hits = trials = 0
    for outcome in outcomes:
        if _some(outcome.gold, labels):
            trials += 1
            hits += not _some(outcome.left, labels)
    if not trials:
        raise InputError(
            "no note has annotations to cover under these labels; choose others, or annotate notes"
            " that have some"
        )
    return share_of(hits, trials)


def _some(spans: Mapping[str, int], labels: frozenset[str] | None) -> bool:
    return bool(spans) if labels is None else not labels.isdisjoint(spans)


def fully_redacted_by_label(outcomes: Iterable[NoteOutcome]) -> dict[str, Share]:
    """Return for every label with gold the share of its notes in which no span of it is left."""
    trials: dict[str, int] = {}
    failed: dict[str, int] = {}
    for outcome in outcomes:
        for label in outcome.gold:
            trials[label] = trials.get(label, 0) + 1
            failed[label] = failed.get(label, 0) + (label in outcome.left)
    return {
        label: share_of(trials[label] - failed[label], trials[label]) for label in sorted(trials)
    }


def worst_notes(outcomes: Iterable[NoteOutcome], *, count: int = 20) -> list[NoteOutcome]:
    """Return the notes with most left: spans first, then code points, then over-redaction.

    None without fault.

    Memory holds ``count`` notes, whatever the length of the stream.
    """
    faulty = (outcome for outcome in outcomes if outcome.left or outcome.spurious_chars)
    return nsmallest(count, faulty, key=_badness)


def _badness(outcome: NoteOutcome) -> tuple[int, int, int, str]:
    return (
        -sum(outcome.left.values()),
        -outcome.left_chars,
        -outcome.spurious_chars,
        outcome.note_id,
    )


def by_patient(outcomes: Iterable[NoteOutcome], patients: Mapping[str, str]) -> list[NoteOutcome]:
    """Return one outcome per patient, its ``note_id`` being the patient's id, sorted by it.

    Raises:
        InputError: A note has no patient.
    """
    merged: dict[str, NoteOutcome] = {}
    for outcome in outcomes:
        if outcome.note_id not in patients:
            raise InputError(
                f"note {outcome.note_id!r} has no patient; give the patient of every note"
            )
        patient = patients[outcome.note_id]
        before = merged.get(patient, NoteOutcome(patient))
        merged[patient] = NoteOutcome(
            patient,
            _sum(before.gold, outcome.gold),
            _sum(before.left, outcome.left),
            before.left_chars + outcome.left_chars,
            before.spurious_chars + outcome.spurious_chars,
        )
    return [merged[patient] for patient in sorted(merged)]


def _sum(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {label: first.get(label, 0) + second.get(label, 0) for label in {*first, *second}}
