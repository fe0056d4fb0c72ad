"""The page of a bake-off.

Detectors side by side, with what each costs and what it cannot find by design.
"""

from __future__ import annotations

from collections.abc import Mapping

from deid_assets.extending import InputError
from deid_assets.extending.pages import mark, render
from deid_assets.extending.scoring import (
    Estimate,
    Ratio,
    Scheme,
    Titled,
    axis_floor,
    best_subset_text,
    describe_draws,
    difference_table,
    recall_of,
)
from deid_evaluation.bench_entries import Bakeoff, BenchEntry
from deid_evaluation.pages.bench_tables import (
    BY_DESIGN,
    agreement_table,
    cost_table,
    interval,
    label_table,
    tabulate_added,
    tabulate_missing,
)

ADDS, CHANCE = "What each one adds", "What chance may do"


def bench_html(found: Bakeoff, *, title: str, provenance: Mapping[str, str]) -> str:
    """Return one self-contained HTML page.

    Args:
        found: What to show.
        title: Heading of the page.
        provenance: Name to value of what identifies the run: machine, versions, the command.

    Raises:
        InputError: There is no entry.
    """
    if not found.entries:
        raise InputError(f"report {title!r} has no detector; name at least one")
    covered = [_estimate_covered(entry) for entry in found.entries]
    floor = axis_floor(covered)
    return render(
        "bench.html.j2",
        package="deid_evaluation",
        title=title,
        found=found,
        scored=[entry for entry in found.entries if entry.evaluation],
        floor=floor,
        marks={
            entry.name: mark(one, floor) for entry, one in zip(found.entries, covered, strict=True)
        },
        strict={
            entry.name: interval(found, entry, Scheme.STRICT, Ratio.F1) for entry in found.entries
        },
        covered={
            entry.name: interval(found, entry, Scheme.COVERED, Ratio.RECALL)
            for entry in found.entries
        },
        costs=cost_table(found),
        tables=[
            (heading, caption, *table) for heading, caption, table in _tables(found) if table[1]
        ],
        best={ADDS: best_subset_text(found.coverage)},
        sampling=describe_draws(found.comparison) if found.comparison else "",
        provenance=provenance,
    )


def _tables(found: Bakeoff) -> list[tuple[str, str, Titled]]:
    """Return heading, caption and table of each further section."""
    first = found.entries[0].name
    return [
        (
            "By label",
            (
                f"Annotated spans covered. {BY_DESIGN} The detector declares no such category, so"
                " that what it covered was found as another"
            ),
            label_table(found),
        ),
        (
            "What each one adds",
            "All detectors together, less all but this one; labels left aside",
            tabulate_added(found),
        ),
        (
            CHANCE,
            (
                f"Difference to {first}, paired on the same notes; p not corrected for several"
                " comparisons"
            ),
            difference_table(found.comparison) if found.comparison else ([], []),
        ),
        ("Agreement", "Each two, on the notes that all answered", agreement_table(found.pairs)),
        (
            "What all may have missed",
            "Identifiers that no detector marked, estimated",
            tabulate_missing(found.missing),
        ),
    ]


def _estimate_covered(entry: BenchEntry) -> Estimate | None:
    return recall_of(entry.evaluation.micro(Scheme.COVERED)) if entry.evaluation else None
