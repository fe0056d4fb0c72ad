"""The gold itself, as JSON.

Tokens per entity, rare categories, and places where it may be wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nsmallest
from typing import Any

from deid_assets.extending import SpanSet
from deid_evaluation.gold_profile import entities, instances
from deid_evaluation.gold_review import AnnotationDoubt, doubts, quorum
from deid_evaluation.report.corpus import Json, ProfiledNotes, Shown, System

RARE_SPANS = 20
"""Gold spans of a label up to which every one of them is listed."""
MOST_DOUBTS = 60
CONFIDENT = 0.9
"""Score from which one system alone makes the gold doubtful."""


def gold_json(corpus: ProfiledNotes, systems: Sequence[System], shown: Shown) -> Json:
    """Return what the gold is like, and where systems doubt it."""
    rows = entities(
        ((corpus.notes[note_id], gold) for note_id, gold in corpus.gold.items()),
        profile=corpus.profile,
    )
    rare = frozenset(row.label for row in rows if row.spans <= RARE_SPANS)
    return {
        "entities": [
            {
                "label": row.label,
                "spans": row.spans,
                "tokens": row.tokens,
                "ratio": row.tokens / row.spans,
                "chars": row.chars,
                "notes": row.notes,
            }
            for row in rows
        ],
        "rare": _rare(corpus, systems, shown, rare),
        "doubts": _doubts(corpus, [system for system in systems if not system.members], shown),
    }


def _rare(
    corpus: ProfiledNotes, systems: Sequence[System], shown: Shown, labels: frozenset[str]
) -> list[Json]:
    rows: dict[tuple[str, int, int, str], Json] = {}
    for system in systems if labels else ():
        for gold, pred in corpus.pairs(system.spans):
            for one in instances(gold, pred, labels=labels, profile=corpus.profile):
                start, end, label = one.place
                row = rows.setdefault((label, start, end, one.note_id), {})
                if not row:
                    row |= {
                        "label": label,
                        "note": one.note_id,
                        "start": start,
                        "end": end,
                        "predicted": {},
                    }
                    row |= shown.at(one.note_id, start, end)
                row["predicted"][system.name] = {
                    "labels": list(one.predicted),
                    "covered": one.is_covered,
                }
    return sorted(rows.values(), key=lambda row: (row["label"], row["note"], row["start"]))


def _doubts(corpus: ProfiledNotes, systems: Sequence[System], shown: Shown) -> Json:
    """Return places where systems differ from the gold.

    One system must be sure, of several more than half agree.
    """
    agreeing = 1 if len(systems) < 2 else None
    found = [
        doubt
        for doubt in _every_doubt(corpus, systems, agreeing)
        if agreeing is None or doubt.score >= CONFIDENT
    ]
    if agreeing == 1 and all(_is_certain(system) for system in systems):
        return {
            "agreeing": 1,
            "total": 0,
            "rows": [],
            "left_out": "one system that scores all its spans alike",
        }
    kept = nsmallest(
        MOST_DOUBTS, found, key=lambda one: (-len(one.systems), -one.score, one.note_id, one.start)
    )
    return {
        "agreeing": quorum(len(systems), agreeing),
        "total": len(found),
        "rows": [
            doubt_json(doubt) | shown.at(doubt.note_id, doubt.start, doubt.end) for doubt in kept
        ],
    }


def _every_doubt(
    corpus: ProfiledNotes, systems: Sequence[System], agreeing: int | None
) -> list[AnnotationDoubt]:
    of_note: Mapping[str, dict[str, SpanSet]] = {note_id: {} for note_id in corpus.gold}
    for system in systems:
        for _, pred in corpus.pairs(system.spans):
            of_note[pred.note_id][system.name] = pred
    found: list[AnnotationDoubt] = []
    for note_id, by_system in of_note.items():
        found += doubts(
            corpus.gold[note_id],
            by_system,
            profile=corpus.profile,
            scope=corpus.scope,
            agreeing=agreeing,
        )
    return found


def _is_certain(system: System) -> bool:
    return len({span.score for spans in system.spans.values() for span in spans}) < 2


def doubt_json(doubt: AnnotationDoubt) -> dict[str, Any]:
    """Return a doubt as ``json.dumps`` takes it."""
    return {
        "note": doubt.note_id,
        "start": doubt.start,
        "end": doubt.end,
        "label": doubt.label,
        "gold_label": doubt.gold_label,
        "systems": list(doubt.systems),
        "score": doubt.score,
    }
