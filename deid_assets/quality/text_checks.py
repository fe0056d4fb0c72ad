"""Checks on redacted notes that need the text; they give back counts, never text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from deid_assets.core.counts import Counts
from deid_assets.core.detector import Detector, Failed, detect
from deid_assets.core.intervals import wilson
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.pipeline import residual
from deid_assets.core.redact import Edit, Redacted
from deid_assets.core.span import SpanSet
from deid_assets.quality.verdict import Verdict


def is_unchanged_outside(note: Note, edits: Sequence[Edit], redacted_text: str) -> bool:
    """Whether the redacted text is the original with exactly these edits, which must be sorted and disjoint."""
    cursor = new_cursor = 0
    for edit in edits:
        if edit.start < cursor or edit.end < edit.start or edit.new_start < new_cursor or edit.new_end < edit.new_start:
            return False
        if note.text[cursor : edit.start] != redacted_text[new_cursor : edit.new_start]:
            return False
        cursor, new_cursor = edit.end, edit.new_end
    in_bounds = cursor <= len(note.text) and new_cursor <= len(redacted_text)
    return in_bounds and note.text[cursor:] == redacted_text[new_cursor:]


def unchanged_outside(pairs: Iterable[tuple[Note, Redacted]]) -> Verdict:
    """Check that redaction touched nothing but the spans it replaced.

    Returns:
        Counts ``notes`` and ``changed``.
    """
    kept = [
        note.note_id == redacted.note_id and is_unchanged_outside(note, redacted.edits, redacted.text)
        for note, redacted in pairs
    ]
    changed = kept.count(False)
    return Verdict(
        "unchanged_outside",
        passed=changed == 0,
        blocking=True,
        counts={"notes": len(kept), "changed": changed},
        description="Text outside the replaced spans is the original's, character for character",
    )


def residual_hits(
    detector: Detector,
    pairs: Iterable[tuple[Note, Redacted]],
    *,
    keep: Collection[Phi] = (),
    limit: int = 0,
    blocking: bool = True,
) -> Verdict:
    """Run a detector on the redacted notes and check that it finds nothing in what was kept of the originals.

    Hits inside a replacement are surrogates and do not count; of a hit over a border, the part outside counts if
    it holds a letter or digit. A note that the detector fails on fails the check.

    Args:
        detector: Best one that had no part in the redaction.
        pairs: Originals and their redactions.
        keep: Categories that the policy keeps.
        limit: Hits that pass.
        blocking: Whether a failure stops the run.

    Returns:
        Counts ``notes``, ``hits``, ``notes_with_hits``, ``failed`` and ``hits_<label>`` for labels with hits.
    """
    rows = list(pairs)
    outcomes = detect(detector, [replace(note, text=redacted.text) for note, redacted in rows], stage="residual")
    found = [_residual_labels(*row, outcome, keep) for row, outcome in zip(rows, outcomes, strict=True)]
    hits = Counter(label for labels in found for label in labels or ())
    counts = {
        "notes": len(rows),
        "hits": hits.total(),
        "notes_with_hits": sum(map(bool, found)),
        "failed": found.count(None),
    }
    return Verdict(
        f"residual_{detector.name}",
        passed=counts["hits"] <= limit and counts["failed"] == 0,
        blocking=blocking,
        counts=counts | {f"hits_{label.lower()}": count for label, count in sorted(hits.items())},
        description=f"{detector.name} finds nothing in the text that redaction kept",
    )


def _residual_labels(
    note: Note, redacted: Redacted, outcome: SpanSet | Failed, keep: Collection[Phi]
) -> list[Phi] | None:
    """Labels of the parts of hits in kept text that hold a letter or digit; ``None`` where detection failed."""
    if isinstance(outcome, Failed):
        return None
    pieces = [piece for piece in residual(outcome, redacted.edits) if piece.label not in keep]
    return [piece.label for piece in pieces if any(map(str.isalnum, note.text[piece.start : piece.end]))]


def recall_floor(
    counts: Mapping[str, Counts], floors: Mapping[str, float], *, lower_bound: bool = False, blocking: bool = True
) -> Verdict:
    """Check each label's recall against its floor.

    A label with a floor and no gold spans fails: nothing shows that its floor is reached.

    Args:
        counts: Label to counts, as ``Evaluation.counts`` gives them under one scheme.
        floors: Label to the least recall that passes, in [0, 1].
        lower_bound: Compare the lower end of the 95 % Wilson interval instead of the ratio.
        blocking: Whether a failure stops the materialization.

    Returns:
        Counts ``labels``, ``below``, ``without_gold``, and ``recall_<label>`` where it is defined.
    """
    recalls: dict[str, float] = {}
    for label in sorted(floors):
        count = counts.get(label, Counts())
        if count.gold:
            recalls[label] = wilson(count.tp, count.gold)[0] if lower_bound else count.tp / count.gold
    below = sum(recall < floors[label] for label, recall in recalls.items())
    without_gold = len(floors) - len(recalls)
    figures = {f"recall_{label}": round(recall, 4) for label, recall in recalls.items()}
    return Verdict(
        "recall_floor",
        passed=below == 0 and without_gold == 0,
        blocking=blocking,
        counts={"labels": len(floors), "below": below, "without_gold": without_gold, **figures},
        description="Recall reaches its floor for every label that has one",
    )


def complete(entered: Iterable[str], left: Iterable[str], quarantined: Iterable[str]) -> Verdict:
    """Check that every note that went in came out once, either released or quarantined.

    Returns:
        Counts ``entered``, ``left``, ``quarantined``, ``lost`` (went in, did not come out), ``invented`` (came out,
        never went in) and ``duplicated`` (ids that occur twice on one side, or were both released and quarantined).
    """
    source, released, held = Counter(entered), Counter(left), Counter(quarantined)
    arrived = released + held
    lost, invented = len(source.keys() - arrived.keys()), len(arrived.keys() - source.keys())
    duplicated = len({note_id for counter in (source, arrived) for note_id, times in counter.items() if times > 1})
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
        description="Every note that went in is released or quarantined, once",
    )
