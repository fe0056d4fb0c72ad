"""A bake-off from notes to what is shown.

Used by ``deid bench``, by the asset and by the benchmark.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deid_assets import __version__
from deid_assets.extending import Failed, Note, Profile, SpanSet
from deid_assets.extending.scoring import Scheme, Subset, best_subset, estimate, marginals
from deid_evaluation.bench import Contestant, ContestantRun, RunCost, measure
from deid_evaluation.bench_entries import Bakeoff, BenchEntry, Expense, Missing
from deid_evaluation.bench_scores import (
    AgreementScores,
    AnnotatedScores,
    ReferenceSpans,
    blind_labels,
    by_note,
    compare_predictions,
    estimate_missed_by_label,
    reach,
    score,
)
from deid_evaluation.capture_recapture import ASSUMPTIONS

FORMAT = 1
"""Version of the JSON document."""


def run_all(
    contestants: Sequence[Contestant],
    notes: Sequence[Note],
    *,
    limit_s: float | None = None,
    before: Callable[[str], None] | None = None,
) -> list[ContestantRun]:
    """Measure contestants one after the other, so that they do not slow each other down.

    Args:
        contestants: In the order of the table.
        notes: The same for all.
        limit_s: Wall time that each may take, in seconds.
        before: Called with the name of each before it runs.
    """
    runs = []
    for contestant in contestants:
        if before:
            before(contestant.name)
        runs.append(measure(contestant, notes, limit_s=limit_s))
    return runs


def judge(
    runs: Sequence[ContestantRun],
    *,
    profile: Profile,
    lengths: Mapping[str, int],
    gold: ReferenceSpans | None = None,
    gold_in_words: str = "",
    outcomes: Mapping[str, Mapping[str, SpanSet | Failed]] | None = None,
) -> Bakeoff:
    """Score runs against gold, or compare them with each other where there is none.

    Args:
        runs: Of the same notes; one with a fault is listed and not scored.
        profile: Which categories count, under which labels.
        lengths: Note id to code points.
        gold: What there is to find.
        gold_in_words: What the gold is, for the page.
        outcomes: What to score in place of what the runs gave: spans of more notes than were timed.

    Raises:
        InputError: No note is annotated, or two notes have the same id.
    """
    good = [run for run in runs if not run.fault]
    answers = outcomes or {run.contestant.name: by_note(run.outcomes) for run in good}
    scored = score(gold, answers, profile=profile) if gold and answers else None
    compared = (
        compare_predictions(answers, profile=profile, lengths=lengths)
        if not gold and len(answers) > 1
        else None
    )
    return Bakeoff(
        profile,
        [_entry(run, answers, scored, gold, profile) for run in runs],
        notes=len(lengths),
        gold=gold_in_words if gold else "",
        comparison=scored.comparison if scored else None,
        coverage=scored.coverage if scored else None,
        pairs=compared.pairs if compared else {},
        missing=_estimate_missing(compared, good, profile),
        assumptions=ASSUMPTIONS,
    )


def _entry(
    run: ContestantRun,
    answers: Mapping[str, Mapping[str, SpanSet | Failed]],
    scored: AnnotatedScores | None,
    gold: ReferenceSpans | None,
    profile: Profile,
) -> BenchEntry:
    name = run.contestant.name
    if run.fault:
        return BenchEntry(name, fault=run.fault)
    failed = sum(isinstance(outcome, Failed) for outcome in answers.get(name, {}).values())
    entry = BenchEntry(
        name,
        run.version,
        failed=failed,
        blind=blind_labels(run.labels, profile=profile),
        expense=_expense(run.cost),
    )
    if scored is None or gold is None:
        return entry
    evaluation = scored.evaluations[name]
    found = reach(evaluation, run.labels, profile=profile, occurring=gold.occurring)
    return replace(
        entry,
        blind=found.blind,
        evaluation=evaluation,
        within=estimate(found.covered.tp, found.covered.gold),
        within_share=found.share,
    )


def _expense(cost: RunCost | None) -> Expense | None:
    if cost is None:
        return None
    return Expense(cost.notes, cost.notes_per_s, cost.chars_per_s, cost.start_s, cost.peak_bytes)


def _estimate_missing(
    compared: AgreementScores | None, runs: Sequence[ContestantRun], profile: Profile
) -> list[Missing]:
    if compared is None:
        return []
    labels = {run.contestant.name: run.labels for run in runs}
    return [
        Missing(label, one.marked, one.value, one.low, one.high, one.method)
        for label, one in estimate_missed_by_label(
            compared.captures, labels, profile=profile
        ).items()
    ]


def conditions() -> dict[str, str]:
    """Return what a figure of speed holds for: machine, cores, Python, software."""
    return {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "software": f"deid-assets {__version__}",
    }


def to_json(found: Bakeoff, runs: Sequence[ContestantRun]) -> dict[str, Any]:
    """Return everything that was measured, as ``json.dumps`` takes it.

    Counts and figures, no span and no text.
    """
    costs = {run.contestant.name: run for run in runs}
    return {
        "format": FORMAT,
        "profile": found.profile.name,
        "notes": found.notes,
        "gold": found.gold,
        "conditions": conditions(),
        "detectors": {
            entry.name: _entry_json(entry, costs[entry.name], found) for entry in found.entries
        },
        **_marginal_json(found),
        "agreement": [
            {
                "detectors": list(names),
                "spans": {"f1": one.ranges.f1},
                "characters": {"f1": one.characters.f1},
            }
            for names, one in found.pairs.items()
        ],
        "missing": [
            {name: getattr(one, name) for name in Missing.__slots__} for one in found.missing
        ],
    }


def _entry_json(entry: BenchEntry, run: ContestantRun, found: Bakeoff) -> dict[str, Any]:
    document: dict[str, Any] = {
        "version": entry.version,
        "options": sorted(run.contestant.options),
        "fault": entry.fault,
        "failed": entry.failed,
        "labels": sorted(run.labels),
        "cannot_find": list(entry.blind),
    }
    if run.cost:
        document["cost"] = {name: getattr(run.cost, name) for name in RunCost.__slots__}
        document["cost"] |= {
            "notes_per_s": run.cost.notes_per_s,
            "chars_per_s": run.cost.chars_per_s,
        }
    if entry.evaluation and found.comparison:
        document["counts"] = entry.evaluation.to_json()
        document["micro"] = {
            str(scheme): {
                of: getattr(entry.evaluation.micro(scheme), of)
                for of in ("precision", "recall", "f1")
            }
            for scheme in Scheme
        }
        document |= found.comparison.to_json(entry.name)
        document["within_reach"] = {
            "share_of_gold": entry.within_share,
            "covered": (
                [entry.within.value, entry.within.low, entry.within.high] if entry.within else None
            ),
        }
    return document


def _marginal_json(found: Bakeoff) -> dict[str, Any]:
    if found.coverage is None:
        return {"marginal": {}, "best_subset": None}
    return {
        "marginal": {
            one.detector: {
                "recall_gained": one.recall_gained,
                "char_recall_gained": one.char_recall_gained,
                "precision_lost": one.precision_lost,
                "alone": _subset_json(one.alone),
                "without": _subset_json(one.without),
            }
            for one in marginals(found.coverage)
        },
        "best_subset": _subset_json(best_subset(found.coverage)),
    }


def _subset_json(subset: Subset) -> dict[str, Any]:
    return {name: getattr(subset, name) for name in Subset.__slots__}
