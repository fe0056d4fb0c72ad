"""Errors of one system, as JSON.

Counts of all, a bounded sample, the confusion, and causes that a reviewer gave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from deid_assets.extending.scoring import gravity
from deid_evaluation.causes import Causes, cause_totals
from deid_evaluation.error_sample import ErrorSample
from deid_evaluation.report.corpus import Json, Pair, ProfiledNotes, Shown
from deid_evaluation.report.people import People
from deid_evaluation.span_errors import Confusion, SpanError, SpanErrorKind, span_errors

Groups = Mapping[str, Mapping[str, str | None]]


@dataclass
class SystemErrors:
    """Errors of one system.

    Args:
        sample: Counts and sample.
        confusion: Gold label and predicted label to spans.
        tagged: Identity, kind and label of the errors that a reviewer has tagged.
    """

    sample: ErrorSample
    confusion: Confusion = field(default_factory=Counter)
    tagged: list[tuple[str, str, str]] = field(default_factory=list)


def errors_of(
    system: str, pairs: Iterable[Pair], corpus: ProfiledNotes, *, causes: Causes, per_cell: int
) -> SystemErrors:
    """Return what is wrong in all notes; memory holds a sample."""
    found = SystemErrors(ErrorSample(system, per_cell, frozenset(causes)))
    for gold, pred in pairs:
        errors, confusion = span_errors(gold, pred, profile=corpus.profile, scope=corpus.scope)
        found.confusion.update(confusion)
        for error in errors:
            identity = found.sample.add(error)
            if identity in causes:
                found.tagged.append((identity, str(error.kind), error.label))
    return found


def errors_json(
    found: SystemErrors, *, shown: Shown, groups: Groups, causes: Causes, people: People
) -> Json:
    """Return counts of every kind and label, and the errors of the sample.

    Errors at a patient's name come first.
    """
    sample = found.sample
    rows = [_row(identity, error, shown, groups, causes) for identity, error in sample.list_kept()]
    for row in rows:
        row["whose"] = people.get((row["note"], row["start"], row["end"])) if row["label"] else None
    rows.sort(key=lambda row: gravity(row["whose"]))
    kept = Counter(row["kind"] for row in rows)
    return {
        "kinds": {
            str(kind): {
                "errors": sample.total(kind),
                "shown": kept[str(kind)],
                "left": _count_left(sample, kind),
            }
            for kind in SpanErrorKind
        },
        "cells": [
            {"kind": str(kind), "label": label, "errors": count, "left": sample.left[kind, label]}
            for (kind, label), count in sorted(sample.counts.items())
        ],
        "rows": rows,
        "causes": (
            {"tagged": len(found.tagged), **cause_totals(found.tagged, causes)} if causes else None
        ),
    }


def _count_left(sample: ErrorSample, kind: SpanErrorKind) -> int:
    return sum(count for (of, _), count in sample.left.items() if of is kind)


def _row(identity: str, error: SpanError, shown: Shown, groups: Groups, causes: Causes) -> Json:
    start, end = error.place
    row: Json = {
        "id": identity,
        "kind": str(error.kind),
        "note": error.note_id,
        "groups": {key: of_note.get(error.note_id) for key, of_note in groups.items()},
        "label": error.gold[2] if error.gold else None,
        "predicted": error.pred[2] if error.pred else None,
        "start": start,
        "end": end,
        "left": error.left,
        **shown.at(error.note_id, start, end),
        "causes": sorted(causes.get(identity, ())),
    }
    if error.pred:
        row |= {"pred_start": error.pred[0], "pred_end": error.pred[1]}
        row |= {"score": error.score, "sources": list(error.sources)}
    return row


def confusion_json(confusion: Confusion) -> Json:
    """Return the confusion as a matrix: rows are gold, columns predictions.

    The last of each says *nothing there*.
    """
    labels = sorted({label for pair in confusion for label in pair if label is not None})
    axis = [*labels, None]
    return {"labels": labels, "matrix": [[confusion[gold, pred] for pred in axis] for gold in axis]}
