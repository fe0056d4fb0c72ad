"""Scores on standard output: as tables, as Markdown, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from deid_assets.cli.tables import print_json, print_line, print_table
from deid_assets.core.score import Counts, Evaluation, Scheme

HEADINGS = ("gold", "strict P", "R", "F1", "relaxed P", "R", "F1", "spans hidden", "chars covered")


def to_json(evaluations: Mapping[str, Evaluation], facts: Mapping[str, object]) -> dict[str, Any]:
    """Return facts, and per detector its micro and macro averages and every count they come from."""
    scores = {
        name: {
            "micro": {str(scheme): _ratios(found.micro(scheme)) for scheme in Scheme},
            "macro": {str(scheme): {"f1": found.macro(scheme).f1} for scheme in Scheme},
            "counts": found.to_json(),
        }
        for name, found in evaluations.items()
    }
    return {**facts, "detectors": scores}


def show(evaluations: Mapping[str, Evaluation], *, style: str, facts: Mapping[str, object]) -> None:
    """Print scores; several detectors side by side, the one that hides most first."""
    if style == "json":
        print_json(to_json(evaluations, facts))
    elif style == "markdown":
        _show_markdown(evaluations)
    else:
        _show_tables(evaluations)


def _show_markdown(evaluations: Mapping[str, Evaluation]) -> None:
    from deid_assets.reports import leaderboard_md, scores_md  # noqa: PLC0415 - loads Jinja

    if len(evaluations) > 1:
        typer.echo(f"{leaderboard_md(evaluations)}\n")
    for name, found in evaluations.items():
        heading = f"### {name}\n\n" if len(evaluations) > 1 else ""
        typer.echo(f"{heading}{scores_md(found)}\n\n{_notes(found)}\n")


def _show_tables(evaluations: Mapping[str, Evaluation]) -> None:
    if len(evaluations) > 1:
        ranked = sorted(evaluations, key=lambda name: -(evaluations[name].micro(Scheme.HIDDEN).recall or 0))
        print_table(("detector", *HEADINGS), [_row(name, evaluations[name], None) for name in ranked], numbers_from=1)
        _show_labels(evaluations, ranked)
    for name, found in evaluations.items():
        if len(evaluations) == 1:
            rows = [_row(label or "all", found, label) for label in [*found.labels, None]]
            print_table(("label", *HEADINGS), rows, numbers_from=1)
        print_line(_notes(found) if len(evaluations) == 1 else f"{name}: {_notes(found)}")


def _show_labels(evaluations: Mapping[str, Evaluation], ranked: list[str]) -> None:
    labels = sorted({label for found in evaluations.values() for label in found.labels})
    headings = ["label", "gold", *(f"{name}: {what}" for name in ranked for what in ("hidden", "F1"))]
    rows = []
    for label in labels:
        row = [label, f"{evaluations[ranked[0]].counts(label, Scheme.STRICT).gold:,}"]
        for name in ranked:
            found = evaluations[name]
            row += [
                _written(found.counts(label, Scheme.HIDDEN).recall),
                _written(found.counts(label, Scheme.STRICT).f1),
            ]
        rows.append(row)
    print_table(headings, rows, numbers_from=1)


def _row(name: str, found: Evaluation, label: str | None) -> list[str]:
    strict, relaxed, hidden, characters = (
        found.micro(scheme) if label is None else found.counts(label, scheme)
        for scheme in (Scheme.STRICT, Scheme.RELAXED, Scheme.HIDDEN, Scheme.CHARACTERS)
    )
    ratios = (
        *(strict.precision, strict.recall, strict.f1),
        *(relaxed.precision, relaxed.recall, relaxed.f1),
        *(hidden.recall, characters.recall),
    )
    return [name, f"{strict.gold:,}", *map(_written, ratios)]


def _notes(found: Evaluation) -> str:
    notes = found.notes
    return (
        f"{notes.covered:,} of {notes.with_phi:,} notes with PHI fully covered; "
        f"{notes.touched:,} of {notes.phi_free:,} notes without PHI touched; "
        f"{sum(found.out_of_scope.values()):,} spans in categories that this gold does not annotate"
    )


def _ratios(counts: Counts) -> dict[str, float | None]:
    return {"precision": counts.precision, "recall": counts.recall, "f1": counts.f1}


def _written(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3f}"
