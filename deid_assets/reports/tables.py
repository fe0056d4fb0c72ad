"""Markdown tables for the metadata of a materialization."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from deid_assets.evaluation.comparison import Comparison
from deid_assets.evaluation.numbers import (
    amount,
    estimate,
    rank_detectors,
    ratio,
    recall_of,
    show_value,
)
from deid_assets.evaluation.score import Evaluation, Scheme
from deid_assets.reports.comparison import difference_table, interval_table, semeval_table

Titled = tuple[list[str], list[list[str]]]
"""Headings and rows, the first column a name."""
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$])")
_ROWS = 18
"""Labels with a row of their own."""
_BAR = 8
"""Characters of the longest bar."""
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}


def leaderboard_md(evaluations: Mapping[str, Evaluation]) -> str:
    """Return one row per detector, the one that covers most first."""
    header = [
        "#",
        "Detector",
        "Annotated spans covered",
        "Notes fully covered",
        "Strict P",
        "Strict R",
        "Strict F1",
    ]
    rows = []
    for place, (name, evaluation) in enumerate(rank_detectors(evaluations), start=1):
        strict, notes = evaluation.micro(Scheme.STRICT), evaluation.notes
        rows.append(
            [
                str(place),
                escape_name(name),
                show_value(recall_of(evaluation.micro(Scheme.COVERED))),
                show_value(estimate(notes.covered, notes.with_phi)),
                *(ratio(value) for value in (strict.precision, strict.recall, strict.f1)),
            ]
        )
    return table_md(header, rows, left=2)


def scores_md(evaluation: Evaluation) -> str:
    """Return one row per profile label and one for all of them."""
    header = [
        "Label",
        "Annotated spans",
        "Covered",
        "Strict P",
        "Strict R",
        "Strict F1",
        "Relaxed F1",
        "Character recall",
    ]
    rows = []
    for label in [*evaluation.labels, None]:
        covered, strict, relaxed, characters = (
            evaluation.micro(scheme) if label is None else evaluation.counts(label, scheme)
            for scheme in (Scheme.COVERED, Scheme.STRICT, Scheme.RELAXED, Scheme.CHARACTERS)
        )
        ratios = (strict.precision, strict.recall, strict.f1, relaxed.f1, characters.recall)
        name = "**all**" if label is None else escape_name(label)
        rows.append(
            [name, amount(strict.gold), show_value(recall_of(covered)), *map(ratio, ratios)]
        )
    return table_md(header, rows, left=1)


def comparison_md(comparison: Comparison) -> str:
    """Return a row of intervals per detector, and where there are several a table of differences to
    the first.
    """
    tables = [interval_table(comparison), semeval_table(comparison), difference_table(comparison)]
    return "\n\n".join(
        table_md(
            [escape_name(name) for name in header],
            [[escape_name(row[0]), *row[1:]] for row in rows],
            left=1,
        )
        for header, rows in tables
        if rows
    )


def labels_md(counts: Mapping[str, int]) -> str:
    """Return one row per label with its spans, their share and a bar, the most frequent first.

    Dagster shows Markdown in place below 1,000 characters only, so rare labels share a row where
    there are many.
    """
    total = sum(counts.values())
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    shown, rest = ordered[:_ROWS], ordered[_ROWS:]
    rows = [*shown, *([(f"{len(rest)} more", sum(spans for _, spans in rest))] if rest else [])]
    most = max((spans for _, spans in rows), default=0)
    cells = [
        [
            escape_name(label),
            "█" * round(_BAR * spans / most) if most else "",
            amount(spans),
            ratio(spans / total),
        ]
        for label, spans in rows
    ]
    return table_md(
        ["Label", "", "Spans", "Share"], [*cells, ["**all**", "", amount(total), ""]], left=2
    )


def table_md(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int) -> str:
    """Return a Markdown table.

    The first ``left`` columns are aligned to the left, the others to the right.
    """
    rule = [":--" if at < left else "--:" for at in range(len(header))]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *rows))


def write_titled_md(table: Titled) -> str:
    """Return a table as Markdown, every cell escaped; empty without rows."""
    headings, rows = table
    if not rows:
        return ""
    return table_md(
        [escape_name(cell) for cell in headings],
        [[escape_name(cell) for cell in row] for row in rows],
        left=1,
    )


def escape_name(name: str) -> str:
    """Return a name that Markdown shows as it is, on one line."""
    flat = " ".join(name.split())
    return _SPECIAL.sub(r"\\\1", "".join(_HTML.get(char, char) for char in flat))
