"""What is left of the identifiers against what a tagger learns, by recall and by precision of the
redaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deid_assets.extending.drawing import FILL, GRID, MUTED, Section, blank, png
from deid_assets.extending.measuring import wilson
from deid_privacy.utility.comparing import UtilityRow, rows
from deid_privacy.utility.errors import Errors
from deid_privacy.utility.running import Plan
from deid_privacy.utility.tasks import task_data, title


def sweep_section(results: Sequence[Mapping[str, Any]], plan: Plan) -> Section | None:
    """Return the section of a grid whose versions say errors; none where no version does."""
    known = {version: errors for version in plan.versions if (errors := Errors.of(version))}
    if not known:
        return None
    every = [
        one
        for task in plan.tasks
        for one in task_data(task, documents=plan.documents, seed=plan.seed).examples
    ]
    each = rows(results)
    body, left = [], {}
    for version, errors in known.items():
        hits, trials = errors.count_left(every)
        low, high = wilson(hits, trials)
        left[version] = hits / trials
        scores = [_of(own, version) for own in each.values()]
        body.append(
            (
                f"{errors.recall:g}",
                f"{errors.precision:g}",
                f"{hits:,} of {trials:,}",
                f"{hits / trials:.3f} [{low:.3f}, {high:.3f}]",
                *(f"{one.mean:.3f} ± {one.deviation:.3f}" if one else "" for one in scores),
            )
        )
    return Section(
        "What is left, and what is learnt",
        "Identifiers are left at random at each recall, and other words are replaced as if they"
        " were names at each precision. What is left at one recall is left at every lower one.",
        columns=(
            "Recall",
            "Precision",
            "Left",
            "Share left",
            *(f"F1 of {title(task)}" for task in each),
        ),
        rows=body,
        pictures={
            "F1 on raw notes by recall (precision 1), and by precision (recall 1)": _plot(
                each, known
            )
        },
    )


def _of(own: Sequence[UtilityRow], version: str) -> UtilityRow | None:
    return next((one for one in own if one.setting.version == version), None)


def _plot(each: Mapping[str, Sequence[UtilityRow]], known: Mapping[str, Errors]) -> bytes:
    figure, first = blank(3.0, title="F1 by recall and by precision of the redaction")
    first.remove()
    sides = figure.subplots(1, 2, sharey=True)
    for axes, measure, other in (
        (sides[0], "recall", "precision"),
        (sides[1], "precision", "recall"),
    ):
        chosen = sorted(
            (getattr(errors, measure), version)
            for version, errors in known.items()
            if getattr(errors, other) == 1
        )
        for number, (task, own) in enumerate(each.items()):
            found = [(at, row) for at, version in chosen if (row := _of(own, version))]
            axes.errorbar(
                [at for at, _ in found],
                [row.mean for _, row in found],
                yerr=[row.deviation for _, row in found],
                marker="o",
                markersize=3.5,
                linewidth=1.2,
                label=title(task),
                color=(FILL, "#c2571a", "#3c7d3c", "#8a3ffc")[number % 4],
            )
        axes.set_xlabel(f"{measure.capitalize()} of the redaction", fontsize=8, color=MUTED)
        axes.grid(color=GRID, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8, labelcolor=MUTED, color=GRID)
    sides[0].set_ylabel("F1 on raw notes", fontsize=8, color=MUTED)
    sides[0].legend(fontsize=7.5, frameon=False)
    return png(figure)
