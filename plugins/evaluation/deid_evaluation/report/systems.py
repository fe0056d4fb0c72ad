"""Several systems side by side, as JSON.

Who finds what alone, what each adds, and what all missed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from heapq import nsmallest

from deid_assets.extending import SpanSet
from deid_assets.extending.scoring import (
    MAX_DETECTORS,
    Coverage,
    best_subset,
    coverage,
    is_touched,
    marginals,
    union,
)
from deid_evaluation.capture_recapture import (
    ASSUMPTIONS,
    Captures,
    captures,
    estimate_missed,
    overlap_matrix,
)
from deid_evaluation.report.corpus import Json, ProfiledNotes, Shown, System
from deid_evaluation.span_errors import places
from deid_evaluation.system_diff import SystemDifference, differences

MOST_DIFFERENCES = 100
"""Spans listed that one of two systems alone has.

The number holds on each side, and for gold and false alarms each.
"""

Predictions = Mapping[str, Mapping[str, SpanSet]]
"""Note id to system to spans."""


def diffs_json(corpus: ProfiledNotes, systems: Sequence[System], shown: Shown) -> list[Json]:
    """Return the first system against every other."""
    first, *others = systems
    return [_diff(corpus, first, other, shown) for other in others]


def _diff(corpus: ProfiledNotes, first: System, second: System, shown: Shown) -> Json:
    table: Counter[tuple[str, tuple[bool, bool]]] = Counter()
    cells: dict[tuple[bool, bool], list[SystemDifference]] = {}
    left, right = (
        {pred.note_id: pred for _, pred in corpus.pairs(one.spans)} for one in (first, second)
    )
    for note_id, gold in corpus.gold.items():
        found, of_note = differences(
            gold, left[note_id], right[note_id], profile=corpus.profile, scope=corpus.scope
        )
        table.update(of_note)
        for one in found:
            cells.setdefault((one.is_gold, one.by_first), []).append(one)
    labels = sorted({label for label, _ in table})
    return {
        "first": first.name,
        "second": second.name,
        "by_label": [
            {
                "label": label,
                "both": table[label, (True, True)],
                "first_only": table[label, (True, False)],
                "second_only": table[label, (False, True)],
                "neither": table[label, (False, False)],
            }
            for label in labels
        ],
        "alarms": {
            "first_only": len(cells.get((False, True), ())),
            "second_only": len(cells.get((False, False), ())),
        },
        "rows": [row for cell in sorted(cells, reverse=True) for row in _rows(cells[cell], shown)],
    }


def _rows(found: Sequence[SystemDifference], shown: Shown) -> Iterator[Json]:
    for one in nsmallest(MOST_DIFFERENCES, found, key=lambda one: (one.note_id, one.place)):
        start, end, label = one.place
        yield {
            "note": one.note_id,
            "label": label,
            "start": start,
            "end": end,
            "is_gold": one.is_gold,
            "by_first": one.by_first,
            **shown.at(one.note_id, start, end),
        }


def predictions_of(corpus: ProfiledNotes, systems: Sequence[System]) -> Predictions:
    """Return the spans of every note by system, of the categories that the gold annotates."""
    by_note: dict[str, dict[str, SpanSet]] = {note_id: {} for note_id in corpus.gold}
    for system in systems:
        for _, pred in corpus.keep_in_scope(corpus.pairs(system.spans)):
            by_note[pred.note_id][system.name] = pred
    return by_note


def marginal_json(
    corpus: ProfiledNotes, predictions: Predictions, names: Sequence[str]
) -> Json | None:
    """Return what each system adds to the others.

    ``None`` where there is one, or too many to try all subsets.
    """
    if not 1 < len(names) <= MAX_DETECTORS:
        return None
    total = Coverage(tuple(names))
    for note_id, gold in corpus.gold.items():
        total += coverage(gold, predictions[note_id], profile=corpus.profile)
    return {
        "all": asdict(total.value(names)),
        "rows": [asdict(row) for row in marginals(total)],
        "best": asdict(best_subset(total)),
    }


def recapture_json(
    corpus: ProfiledNotes, predictions: Predictions, names: Sequence[str]
) -> Json | None:
    """Return the estimate of what all systems missed beside what they did.

    ``None`` where there is one system.
    """
    if len(names) < 2:
        return None
    total = Captures(tuple(names))
    missed: Counter[str] = Counter()
    for note_id, gold in corpus.gold.items():
        total += captures(predictions[note_id], profile=corpus.profile)
        cover = union(
            (span.start, span.end) for spans in predictions[note_id].values() for span in spans
        )
        missed.update(
            label
            for start, end, label in places(gold, corpus.profile)
            if not is_touched((start, end), cover)
        )
    return recapture_table(total, missed)


def recapture_table(found: Captures, missed: Mapping[str, int] | None) -> Json:
    """Return estimates of all and by label, with what was missed indeed where gold says so."""
    labels = sorted({*found.histories, *(missed or ())})
    rows = [_estimate_recaptured(found, None, None if missed is None else sum(missed.values()))]
    for label in labels:
        of_label = None if missed is None else missed.get(label, 0)
        rows.append(_estimate_recaptured(found, label, of_label))
    return {
        "detectors": list(found.detectors),
        "matrix": [list(row) for row in overlap_matrix(found)],
        "assumptions": list(ASSUMPTIONS),
        "rows": rows,
    }


def _estimate_recaptured(found: Captures, label: str | None, missed: int | None) -> Json:
    estimate = estimate_missed(found, label=label)
    return {
        "label": label,
        "marked": found.of(label).total(),
        "estimate": asdict(estimate) if estimate else None,
        "missed": missed,
    }
