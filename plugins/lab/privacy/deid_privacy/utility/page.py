"""The page of a grid: scores, differences, tests, time and energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from deid_assets.extending.drawing import FILL, GRID, INK, MUTED, Section, blank, png, study_html
from deid_privacy.utility.comparing import (
    ALPHA,
    Configuration,
    Directional,
    UtilityRow,
    directional,
    rows,
)
from deid_privacy.utility.running import Plan
from deid_privacy.utility.sweeping import sweep_section
from deid_privacy.utility.tasks import title

SHOWN = 40
"""Tests in the table at most, the smallest p first."""


def grid_html(
    results: Sequence[Mapping[str, Any]],
    plan: Plan,
    *,
    title: str,
    watts: float | None,
    provenance: Mapping[str, str],
) -> str:
    """Return the page.

    Args:
        results: Of the jobs.
        plan: Of the grid.
        title: Heading.
        watts: Of one device, for the energy; not told where not given.
        provenance: What identifies the run.

    Raises:
        InputError: No job has a score.
    """
    each = rows(results)
    tests = directional(each)
    done = [one for one in results if "scores" in one]
    faults = [one for one in results if "fault" in one]
    of_spans = {one["task"] for one in done if "token_f1" in next(iter(one["scores"].values()))}
    swept = sweep_section(results, plan)
    return study_html(
        kind="What protection costs",
        title=title,
        about=(
            f"Encoders: {len(plan.models)}, versions of the notes: {len(plan.versions)}, tasks:"
            f" {len(plan.tasks)} (made ones have {plan.documents} notes), folds: {plan.folds};"
            " scores are means over folds ± their deviation"
        ),
        tiles={
            "Runs": (f"{len(done):,} of {len(plan.jobs):,}", f"{len(faults)} failed"),
            **_tiles_of(tests),
        },
        sections=[
            *([swept] if swept else []),
            *(_task(task, own, plan, spans=task in of_spans) for task, own in each.items()),
            _tests(tests),
            _costs(done, plan, watts, of_spans),
            *([_faults(faults)] if faults else []),
            _limits(plan),
        ],
        provenance=provenance,
    )


def _tiles_of(tests: Sequence[Directional]) -> dict[str, tuple[str, str]]:
    """Return how many tests there are, and how many are significant."""
    raw = sum(one.p < ALPHA for one in tests)
    corrected = sum(one.corrected < ALPHA for one in tests)
    return {
        "Tests": (f"{len(tests):,}", "every ordered pair within a task"),
        "Significant, raw": (f"{raw:,}", f"p below {ALPHA:g}, not corrected"),
        "Significant, corrected": (f"{corrected:,}", "after Holm over all tests"),
    }


def _cell(row: UtilityRow) -> str:
    return f"{row.mean:.3f} ± {row.deviation:.3f}"


def _task(task: str, own: Sequence[UtilityRow], plan: Plan, *, spans: bool) -> Section:
    first = own[0]
    body = []
    for row in own:
        base = next(one for one in own if one.setting.test == row.setting.test)
        change, spread = row.minus(base)
        between = (
            "none of one fold" if row.interval is None else "{:.3f} to {:.3f}".format(*row.interval)
        )
        body.append(
            (
                row.setting.model,
                row.setting.version,
                row.setting.test,
                f"{len(row.scores)}",
                _cell(row),
                between,
                "" if row is base else f"{change:+.3f} ± {spread:.3f}",
            )
        )
    return Section(
        title(task),
        columns=(
            "Encoder",
            "Learnt from",
            "Tested on",
            "Folds",
            "F1",
            "95 % interval",
            "Difference to the first",
        ),
        rows=body,
        left=3,
        caption=(
            f"F1: {'of entities, same boundaries and label' if spans else 'support-weighted'}."
            " Interval of the mean by Student's t, for folds that share training notes. The first"
            f" is {first.setting.model} / {first.setting.version}, for each test version."
        ),
        pictures={
            f"F1 on {title(task)}, mean and 95 % interval, {plan.folds} folds": _plot(task, own)
        },
    )


def _plot(task: str, own: Sequence[UtilityRow]) -> bytes:
    figure, axes = blank(0.9 + 0.24 * len(own), title=title(task))
    for place, row in enumerate(reversed(own)):
        low, high = row.interval or (row.mean, row.mean)
        reach = [[row.mean - low], [high - row.mean]]
        axes.errorbar(
            row.mean, place, xerr=reach, marker="o", markersize=4, color=FILL, linewidth=1.4
        )
    axes.set_xlim(max(-0.01, axes.get_xlim()[0]), min(1.01, axes.get_xlim()[1]))
    axes.set_yticks(
        range(len(own)), [str(row.setting) for row in reversed(own)], fontsize=7.5, color=INK
    )
    axes.set_xlabel("F1", fontsize=8, color=MUTED)
    axes.set_ylim(-0.6, len(own) - 0.4)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(labelsize=8, color=GRID)
    axes.tick_params(axis="y", length=0, labelsize=7.5)
    return png(figure)


def _tests(made: Sequence[Directional]) -> Section:
    ordered = sorted(made, key=lambda one: one.p)
    return Section(
        "Tests",
        "Mann-Whitney on the folds' F1, one-sided: is the first weaker than the second?"
        f" {len(made)} tests; shown are the {min(SHOWN, len(made))} with the smallest p. Folds of"
        " one cross-validation share notes, so that p is too small.",
        columns=(
            "Task",
            "Weaker",
            "Stronger",
            "U",
            "p, one-sided",
            "p, two-sided",
            "p, Holm",
            "Effect",
        ),
        rows=[
            (
                one.task,
                _describe(one.weaker),
                _describe(one.stronger),
                f"{one.u:g}",
                f"{one.p:.4f}",
                f"{one.both:.4f}",
                f"{one.corrected:.4f}",
                f"{one.effect:.2f}",
            )
            for one in ordered[:SHOWN]
        ],
        left=3,
        caption="Effect: share of pairs of folds in which the first is greater; 0.5 is none.",
    )


def _describe(setting: Configuration) -> str:
    return f"{setting.model}, {setting.version} (tested on {setting.test})"


def _costs(
    done: Sequence[Mapping[str, Any]], plan: Plan, watts: float | None, of_spans: AbstractSet[str]
) -> Section:
    body = []
    for model in plan.models:
        own = [one for one in done if one["model"] == model]
        if own:
            body.append(_cost(model, own, watts, of_spans))
    return Section(
        "Time and energy",
        "Latency is the median over runs of the median of one document by itself. Device hours are"
        " wall time by devices. " + " ".join(_sources(done, watts)),
        columns=(
            "Encoder",
            "Parameters",
            "ms a document",
            "ms, spans",
            "Device hours",
            "CPU hours",
            "Energy",
            "Runs",
        ),
        rows=body,
    )


def _cost(
    model: str, own: Sequence[Mapping[str, Any]], watts: float | None, of_spans: AbstractSet[str]
) -> tuple[str, ...]:
    hours = sum(one["seconds"] * one["devices"] for one in own) / 3_600
    used = sum(one["cpu_seconds"] for one in own) / 3_600
    by_kind = [
        _median([one["latency_ms"] for one in own if (one["task"] in of_spans) is tokens])
        for tokens in (False, True)
    ]
    return (
        model,
        f"{own[0]['parameters']:,}",
        *by_kind,
        f"{hours:.3f}",
        f"{used:.3f}",
        _energy(own, used, watts),
        f"{len(own):,}",
    )


def _sources(done: Sequence[Mapping[str, Any]], watts: float | None) -> list[str]:
    """Return where the figures on energy come from."""
    names = sorted({name for one in done for name in one.get("joules", {})})
    sources = []
    if names:
        sources.append(
            f"Counted is what {', '.join(names)} used while a run went on,"
            " other work on the machine included."
        )
    if watts is not None:
        sources.append(f"Assumed is CPU hours by {watts:g} W, no measurement.")
    return sources or ["No counter of energy could be read."]


def _energy(own: Sequence[Mapping[str, Any]], hours: float, watts: float | None) -> str:
    """Return the energy of runs.

    Counted where every run has a counter, else assumed of the CPU hours.
    """
    counted = [one["joules"] for one in own if one.get("joules")]
    if len(counted) == len(own):
        return f"{sum(sum(one.values()) for one in counted) / 3_600:.3f} Wh, counted"
    return "not measured" if watts is None else f"{hours * watts:.3f} Wh, assumed"


def _median(values: Sequence[float]) -> str:
    return f"{sorted(values)[len(values) // 2]:.1f}" if values else ""


def _faults(faults: Sequence[Mapping[str, Any]]) -> Section:
    return Section(
        "Runs that failed",
        columns=("Task", "Encoder", "Version", "Fold", "Reason"),
        rows=[
            (one["task"], one["model"], one["version"], str(one["fold"]), one["fault"])
            for one in faults
        ],
        left=5,
    )


def _limits(plan: Plan) -> Section:
    return Section(
        "What this does not say",
        points=(
            (
                "The notes are made from templates: differences between versions are those of these"
                " notes, scores are high."
            ),
            (
                "Encoders that are made here have some hundred thousand weights; larger ones differ"
                " less, or more."
            ),
            (
                f"Identifiers were found by {', '.join(plan.detectors)}, with its misses and false"
                " alarms."
            ),
            "No significant difference is not equality: with few folds only large ones show.",
        ),
    )
