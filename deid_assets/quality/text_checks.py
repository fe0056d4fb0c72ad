"""Checks on redacted notes that need the text; they give back counts, never text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from deid_assets.core.note import Note
from deid_assets.core.redact import Edit
from deid_assets.evaluation.counts import Counts
from deid_assets.quality.verdict import Verdict


def is_unchanged_outside(note: Note, edits: Sequence[Edit], redacted_text: str) -> bool:
    """Whether the redacted text is the original with exactly these edits, which must be sorted and
    disjoint.
    """
    cursor = new_cursor = 0
    for edit in edits:
        if (
            edit.start < cursor
            or edit.end < edit.start
            or edit.new_start < new_cursor
            or edit.new_end < edit.new_start
        ):
            return False
        if note.text[cursor : edit.start] != redacted_text[new_cursor : edit.new_start]:
            return False
        cursor, new_cursor = edit.end, edit.new_end
    in_bounds = cursor <= len(note.text) and new_cursor <= len(redacted_text)
    return in_bounds and note.text[cursor:] == redacted_text[new_cursor:]


def changed_verdict(notes: int, *, changed: int) -> Verdict:
    """Check that redaction changed nothing outside the spans it replaced, in notes that were
    compared before.
    """
    return Verdict(
        "unchanged_outside",
        passed=changed == 0,
        blocking=True,
        counts={"notes": notes, "changed": changed},
        description="Text outside the replaced spans is the original's, character for character.",
    ).unless(not notes, "no redacted note")


def recall_floor(counts: Mapping[str, Counts], floors: Mapping[str, float]) -> Verdict:
    """Check each label's recall against its floor.

    A label with a floor and no gold spans fails: nothing shows that its floor is reached.

    Args:
        counts: Label to counts, as ``Evaluation.counts`` gives them under one scheme.
        floors: Label to the least recall that passes, in [0, 1].

    Returns:
        Counts ``labels``, ``below``, ``not_annotated``, and ``recall_<label>`` and
        ``minimum_<label>`` where recall is defined. It is not applicable where no label has a
        floor.
    """
    recalls: dict[str, float] = {}
    for label in sorted(floors):
        count = counts.get(label, Counts())
        if count.gold:
            recalls[label] = count.tp / count.gold
    below = sum(recall < floors[label] for label, recall in recalls.items())
    without_gold = len(floors) - len(recalls)
    figures = {
        f"{name}_{label}": round(value, 4)
        for label, recall in recalls.items()
        for name, value in (("recall", recall), ("minimum", floors[label]))
    }
    return Verdict(
        "recall_floor",
        passed=below == 0 and without_gold == 0,
        blocking=True,
        counts={"labels": len(floors), "below": below, "not_annotated": without_gold, **figures},
        description="Recall reaches its minimum for every label that has one.",
    ).unless(not floors, "no label has a minimum and enough annotations")


def complete(entered: Iterable[str], left: Iterable[str], quarantined: Iterable[str]) -> Verdict:
    """Check that every note that went in came out once, either released or quarantined.

    Returns:
        Counts ``entered``, ``left``, ``quarantined``, ``lost`` (went in, did not come out),
        ``invented`` (came out, never went in) and ``duplicated`` (ids that occur twice on one side,
        or were both released and quarantined).
    """
    source, released, held = Counter(entered), Counter(left), Counter(quarantined)
    arrived = released + held
    lost, invented = len(source.keys() - arrived.keys()), len(arrived.keys() - source.keys())
    duplicated = len(
        {
            note_id
            for counter in (source, arrived)
            for note_id, times in counter.items()
            if times > 1
        }
    )
    return Verdict(
        "complete",
        passed=not (lost or invented or duplicated),
        blocking=True,
        counts={
            "entered": source.total(),
            "left": released.total(),
            "quarantined": held.total(),
            "lost": lost,
            "invented": invented,
            "duplicated": duplicated,
        },
        description="Every note that went in is released or quarantined, once.",
    ).unless(not source and not arrived, "no notes")
