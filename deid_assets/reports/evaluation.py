"""The page on how well one or more detectors do against gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deid_assets.core.comparison import Comparison
from deid_assets.core.errors import InputError
from deid_assets.core.phi import Profile
from deid_assets.core.score import Evaluation
from deid_assets.reports.comparison import difference_table, drawn_from, interval_table, semeval_table
from deid_assets.reports.numbers import axis_floor, ranked
from deid_assets.reports.page import mark, render, scores_of


def evaluation_html(
    evaluations: Mapping[str, Evaluation],
    *,
    title: str,
    profile: Profile,
    provenance: Mapping[str, str],
    comparison: Comparison | None = None,
    corpus: str = "",
    limits: Sequence[str] = (),
) -> str:
    """Return one self-contained HTML page; with several detectors it opens with a leaderboard.

    Args:
        evaluations: Detector, with its version, to its counts on the same gold.
        title: Heading of the page.
        profile: Profile that the evaluations were made under.
        provenance: Name to value of what identifies the run: digests, versions, the command.
        comparison: Intervals by bootstrap and differences of the same detectors; left out where not given.
        corpus: What the gold is, in words.
        limits: Known limits, one sentence each.

    Raises:
        InputError: There is no evaluation, one was made under another profile, or the comparison is of others.
    """
    if not evaluations:
        raise InputError(f"report {title!r} has no evaluation; score at least one detector")
    for detector, evaluation in evaluations.items():
        if evaluation.profile != profile.name:
            raise InputError(
                f"{detector}: evaluated under profile {evaluation.profile!r}, but the report is on {profile.name!r}; "
                "evaluate again under that profile"
            )
    if comparison and comparison.intervals.keys() != evaluations.keys():
        raise InputError(f"report {title!r}: the comparison is of other detectors; compare those that are shown")
    detectors = [(detector, scores_of(evaluation)) for detector, evaluation in ranked(evaluations)]
    floor = axis_floor(scores.total.hidden for _, scores in detectors)
    return render(
        "evaluation.html.j2",
        title=title,
        profile=profile,
        corpus=corpus,
        provenance=provenance,
        limits=limits,
        detectors=detectors,
        tables=_tables(comparison) if comparison else [],
        sampling=drawn_from(comparison) if comparison else "",
        floor=floor,
        marks=[mark(scores.total.hidden, floor) for _, scores in detectors],
    )


def _tables(comparison: Comparison) -> list[tuple[str, list[str], list[list[str]]]]:
    return [
        ("Ratios with their intervals", *interval_table(comparison)),
        ("Same label or not, same boundaries or not", *semeval_table(comparison)),
        ("Differences, paired on the same notes", *difference_table(comparison)),
    ]
