"""Scores on standard output: as tables, as Markdown, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import typer

from deid_assets.extending.commands import print_json, print_line, print_table
from deid_assets.extending.scoring import (
    RATIOS,
    SEMEVAL,
    Comparison,
    Counts,
    Evaluation,
    NoteCounts,
    Ratio,
    Scheme,
    amount,
    comparison_md,
    describe_draws,
    difference_table,
    interval_of,
    interval_table,
    leaderboard_md,
    rank_detectors,
    ratio,
    scores_md,
    semeval_table,
)
from deid_evaluation.meddocan import MeddocanCounts

_TRACKS = ("ner", "spans", "merged")
HEADINGS = ("annotated", "strict P", "R", "F1", "relaxed F1", "covered", "chars covered")


@dataclass(frozen=True, slots=True)
class ScoresDocument:
    """Everything that is printed and kept.

    Args:
        facts: What was scored.
        evaluations: By detector.
        comparison: Of the same detectors.
        meddocan: MEDDOCAN's official counts by detector; empty under another profile.
    """

    facts: Mapping[str, object]
    evaluations: Mapping[str, Evaluation]
    comparison: Comparison
    meddocan: Mapping[str, MeddocanCounts]


def to_json(scores: ScoresDocument) -> dict[str, Any]:
    """Return facts and scores, and every count behind them.

    The scores of a detector are its averages, intervals and difference to the first.
    """
    comparison = scores.comparison
    detectors = {
        name: {
            "micro": {str(scheme): _ratios(found.micro(scheme)) for scheme in Scheme},
            "macro": {str(scheme): {"f1": found.macro(scheme).f1} for scheme in Scheme},
            "semeval": _semeval(comparison, name),
            **_meddocan(scores.meddocan.get(name)),
            **comparison.to_json(name),
            "counts": found.to_json(),
        }
        for name, found in scores.evaluations.items()
    }
    draws = {name: getattr(comparison, name) for name in ("unit", "units", "resamples", "seed")}
    return {**scores.facts, "bootstrap": draws, "detectors": detectors}


def show(scores: ScoresDocument, *, style: str) -> None:
    """Print scores; several detectors side by side, the one that covers most first."""
    if style == "json":
        print_json(to_json(scores))
    elif style == "markdown":
        _show_markdown(scores.evaluations, scores.comparison)
    else:
        _show_tables(scores.evaluations, scores.comparison)
        if scores.meddocan:
            typer.echo()
            _show_meddocan(scores.meddocan)


def _show_markdown(evaluations: Mapping[str, Evaluation], comparison: Comparison) -> None:
    if len(evaluations) > 1:
        typer.echo(f"{leaderboard_md(evaluations)}\n")
    typer.echo(f"{comparison_md(comparison)}\n\nIntervals: {describe_draws(comparison)}.\n")
    for name, found in evaluations.items():
        heading = f"### {name}\n\n" if len(evaluations) > 1 else ""
        typer.echo(f"{heading}{scores_md(found)}\n\n{_notes(found)}\n")


def _show_tables(evaluations: Mapping[str, Evaluation], comparison: Comparison) -> None:
    if len(evaluations) == 1:
        (found,) = evaluations.values()
        rows = [_row(label or "all", found, label) for label in [*found.labels, None]]
        print_table(("label", *HEADINGS), rows, numbers_from=1)
        print_line(f"\n{_notes(found)}")
        print_line(_intervals(comparison))
        return
    side_by_side = rank_detectors(evaluations)
    headings = ("detector", *HEADINGS, "notes covered", "clean notes touched")
    rows = [[*_row(name, found, None), *_shares(found.notes)] for name, found in side_by_side]
    print_table(headings, rows, numbers_from=1)
    typer.echo()
    _show_labels(side_by_side)
    typer.echo()
    for table in (
        interval_table(comparison),
        semeval_table(comparison),
        difference_table(comparison),
    ):
        print_table(*table, numbers_from=1)
        typer.echo()
    print_line(
        f"intervals: {describe_draws(comparison)}; p: exchange of whole {comparison.unit}s, not"
        " corrected"
    )


def _show_labels(side_by_side: Sequence[tuple[str, Evaluation]]) -> None:
    headings = [
        "label",
        "annotated",
        *(f"{name}: {what}" for name, _ in side_by_side for what in ("covered", "F1")),
    ]
    rows = []
    for label in sorted({label for _, found in side_by_side for label in found.labels}):
        covered = [found.counts(label, Scheme.COVERED) for _, found in side_by_side]
        strict = [found.counts(label, Scheme.STRICT) for _, found in side_by_side]
        scores = [
            score
            for pair in zip(covered, strict, strict=True)
            for score in (pair[0].recall, pair[1].f1)
        ]
        rows.append([label, amount(strict[0].gold), *map(ratio, scores)])
    print_table(headings, rows, numbers_from=1)


def _row(name: str, found: Evaluation, label: str | None) -> list[str]:
    strict, relaxed, covered, characters = (
        found.micro(scheme) if label is None else found.counts(label, scheme)
        for scheme in (Scheme.STRICT, Scheme.RELAXED, Scheme.COVERED, Scheme.CHARACTERS)
    )
    ratios = (
        strict.precision,
        strict.recall,
        strict.f1,
        relaxed.f1,
        covered.recall,
        characters.recall,
    )
    return [name, amount(strict.gold), *map(ratio, ratios)]


def _shares(notes: NoteCounts) -> tuple[str, str]:
    return f"{notes.covered:,}/{notes.with_phi:,}", f"{notes.touched:,}/{notes.phi_free:,}"


def _notes(found: Evaluation) -> str:
    notes = found.notes
    return (
        f"{notes.covered:,} of {notes.with_phi:,} notes with PHI fully covered; "
        f"{notes.touched:,} of {notes.phi_free:,} notes without PHI touched; "
        f"{sum(found.out_of_scope.values()):,} spans in categories that nobody annotated"
    )


def _intervals(comparison: Comparison) -> str:
    (name,) = comparison.intervals
    shown = (("strict F1", Scheme.STRICT, Ratio.F1), ("covered", Scheme.COVERED, Ratio.RECALL))
    figures = (
        f"{what} {interval_of(comparison.interval(name, scheme, of))}" for what, scheme, of in shown
    )
    return f"{'; '.join(figures)}; {describe_draws(comparison)}"


def _semeval(comparison: Comparison, name: str) -> dict[str, dict[str, float | None]]:
    found = {
        scheme: [comparison.interval(name, of, ratio) for ratio in RATIOS] for scheme, of in SEMEVAL
    }
    return {
        scheme: {
            str(ratio): one.value if one else None
            for ratio, one in zip(RATIOS, intervals, strict=True)
        }
        for scheme, intervals in found.items()
    }


def _show_meddocan(meddocan: Mapping[str, MeddocanCounts]) -> None:
    headings = [
        "MEDDOCAN",
        *(f"{track} {ratio}" for track in _TRACKS for ratio in ("P", "R", "F1")),
    ]
    tracks = {
        name: [getattr(found, track) for track in _TRACKS] for name, found in meddocan.items()
    }
    rows = [
        [name, *(ratio(value) for counts in found for value in _ratios(counts).values())]
        for name, found in tracks.items()
    ]
    print_table(headings, rows, numbers_from=1)


def _meddocan(found: MeddocanCounts | None) -> dict[str, dict[str, dict[str, float | None]]]:
    return (
        {"meddocan": {track: _ratios(getattr(found, track)) for track in _TRACKS}} if found else {}
    )


def _ratios(counts: Counts) -> dict[str, float | None]:
    return {"precision": counts.precision, "recall": counts.recall, "f1": counts.f1}
