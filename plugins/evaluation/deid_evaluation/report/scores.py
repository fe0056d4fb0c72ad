"""Scores of one system, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deid_assets.extending import MEDDOCAN, DeidError, Phi
from deid_assets.extending.scoring import (
    COLUMNS,
    I2B2_HIPAA_VIEWS,
    I2B2_VIEWS,
    RATIOS,
    Comparison,
    Counts,
    Evaluation,
    Granularity,
    Interval,
    Level,
    Row,
    Scheme,
    Views,
    correct_p_values,
    six_scores,
    wilson,
)
from deid_evaluation.averages import macro_average, note_average, weighted_average
from deid_evaluation.meddocan import MeddocanCounts, meddocan_counts
from deid_evaluation.report.corpus import Json, Pair, ProfiledNotes

_VIEWS = {"all": I2B2_VIEWS, "hipaa": I2B2_HIPAA_VIEWS}
_PLACES = frozenset({Phi.STREET, Phi.CITY, Phi.ZIP})
"""Places that HIPAA counts.

Gold that says *place* for them all has no view of its own for HIPAA.
"""
_SHOWN = (Scheme.STRICT, Scheme.RELAXED, Scheme.COVERED, Scheme.CHARACTERS)


def counts_json(counts: Counts) -> Json:
    """Return counts and their ratios; a ratio that is not defined is ``None``."""
    ratios = {"precision": counts.precision, "recall": counts.recall, "f1": counts.f1}
    return {"tp": counts.tp, "fp": counts.fp, "fn": counts.fn, **ratios}


def interval_json(found: Interval | None) -> Json | None:
    """Return a value with its bounds."""
    return None if found is None else {"value": found.value, "low": found.low, "high": found.high}


def share_json(hits: int, trials: int) -> Json | None:
    """Return a share with its Wilson interval; ``None`` where nothing was tried."""
    if not trials:
        return None
    low, high = wilson(hits, trials)
    return {"hits": hits, "trials": trials, "value": hits / trials, "low": low, "high": high}


def schemes_json(comparison: Comparison, name: str) -> Json:
    """Return every scheme's precision, recall and F1 with bootstrap intervals."""
    return {
        str(scheme): {
            str(ratio): interval_json(comparison.interval(name, scheme, ratio)) for ratio in RATIOS
        }
        for scheme in COLUMNS
    }


def labels_json(evaluation: Evaluation) -> list[Json]:
    """Return the counts of every label under the schemes that are shown."""
    return [
        {
            "label": label,
            **{str(scheme): counts_json(evaluation.counts(label, scheme)) for scheme in _SHOWN},
        }
        for label in evaluation.labels
    ]


def averages_json(evaluation: Evaluation, rows: Sequence[Row]) -> Json:
    """Return micro, macro, weighted and note averages under the strict scheme."""
    by_label = {label: evaluation.counts(label, Scheme.STRICT) for label in evaluation.labels}
    at = 3 * COLUMNS.index(Scheme.STRICT)
    notes = note_average(Counts(*row[at : at + 3]) for row in rows)
    micro = evaluation.micro(Scheme.STRICT)
    averages: Json = {
        "micro": {"precision": micro.precision, "recall": micro.recall, "f1": micro.f1}
    }
    for name, average in (
        ("macro", macro_average(by_label)),
        ("weighted", weighted_average(by_label)),
    ):
        averages[name] = {field: getattr(average, field) for field in average.__slots__}
    averages["note"] = {field: getattr(notes, field) for field in notes.__slots__}
    return averages


def six_json(corpus: ProfiledNotes, pairs: Sequence[Pair]) -> Json:
    """Return the six scores of all categories and of HIPAA's, or why there are none."""
    if corpus.scope is None or corpus.scope >= _PLACES:
        return {name: _six(corpus, pairs, views) for name, views in _VIEWS.items()}
    reason = "these annotations do not tell streets, cities and ZIP codes from other places"
    return {"all": _six(corpus, pairs, _VIEWS["all"]), "hipaa": {"left_out": reason}}


def _six(corpus: ProfiledNotes, pairs: Sequence[Pair], views: Views) -> Json:
    """Return the scores, or one line on why there are none: the other sections are not held up."""
    scored = ((corpus.notes[gold.note_id], gold, pred) for gold, pred in pairs)
    try:
        found = six_scores(scored, views=views, scope=corpus.scope)
    except DeidError as error:
        return {"left_out": str(error)}
    return {
        str(level): {str(fine): counts_json(found.micro(level, fine)) for fine in Granularity}
        for level in Level
    }


def meddocan_json(corpus: ProfiledNotes, pairs: Sequence[Pair]) -> Json | None:
    """Return MEDDOCAN's official scores; ``None`` under another profile."""
    if corpus.profile is not MEDDOCAN:
        return None
    counts = (meddocan_counts(corpus.notes[gold.note_id], gold, pred) for gold, pred in pairs)
    total = sum(counts, MeddocanCounts())
    return {track: counts_json(getattr(total, track)) for track in MeddocanCounts.__slots__}


def differences_json(comparison: Comparison) -> list[Json]:
    """Return what every system scores above the first, with p.

    With it comes p corrected for the number of systems (Holm).
    """
    rows: list[Json] = []
    for scheme in COLUMNS:
        for ratio in RATIOS:
            gaps = {
                name: gap
                for name in comparison.differences
                if (gap := comparison.difference(name, scheme, ratio))
            }
            holm = correct_p_values({name: gap.p for name, gap in gaps.items()})
            rows += [
                {
                    "system": name,
                    "scheme": str(scheme),
                    "ratio": str(ratio),
                    **_gap(gap),
                    "p_holm": holm[name],
                }
                for name, gap in gaps.items()
            ]
    return rows


def _gap(gap: Any) -> Json:
    return {"value": gap.value, "low": gap.low, "high": gap.high, "p": gap.p}
