"""Audits for people: tables of figures, and the page that puts all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deid_assets.privacy.facts import Facts
from deid_assets.privacy.gate import Decision
from deid_assets.privacy.measurement import Measurement
from deid_assets.privacy.result import AuditResult, Outcome
from deid_assets.reports.embedding import picture
from deid_assets.reports.page import MARK_MARGIN, MARK_WIDTH, chance, number, render
from deid_assets.reports.tables import escaped, table_md


def figures_md(figures: Sequence[Measurement]) -> str:
    """Return a row per measurement, in Markdown."""
    rows = [
        [escaped(each.name), escaped(each.group), number(each), chance(each), f"{each.units:,} {each.unit}"]
        for each in figures
    ]
    return table_md(["What", "Of", "Value [95 % interval]", "Chance", "Measured on"], rows, left=2)


def model_html(results: Sequence[AuditResult], facts: Facts | None, decision: Decision | None, *, title: str) -> str:
    """Return one self-contained page: every audit, and for a model its gate, checklist and lineage.

    Args:
        results: Of every audit, also of those that were not assessed.
        facts: Of the model, where there is one.
        decision: Of its gate, with the facts.
        title: Of the page where there are no facts.
    """
    tally = {outcome.value: sum(result.outcome is outcome for result in results) for outcome in Outcome}
    return render(
        "privacy.html.j2", results=results, facts=facts, decision=decision, title=title, tally=tally, **HELPERS
    )


@dataclass(frozen=True, slots=True)
class Places:
    """Places of a measurement on its line, in CSS pixels; ``chance`` is missing where there is none."""

    low: float
    high: float
    value: float
    chance: float | None


def span_of(figures: Sequence[Measurement], figure: Measurement) -> tuple[float, float]:
    """Return the ends of the axis for a figure: 0 to 1 for shares, else what holds all figures of its name."""
    alike = [each for each in figures if each.name == figure.name]
    ends = [end for each in alike for end in (each.low, each.high)]
    ends += [each.chance for each in alike if not isinstance(each.chance, str)]
    low, high = min([0.0, *ends]), max([*ends])
    return low, max(high, 1.0) if high <= 1 else high


def place(figure: Measurement, span: tuple[float, float]) -> Places:
    """Return where a measurement is drawn on an axis."""
    low, high = span

    def across(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(MARK_MARGIN + (MARK_WIDTH - 2 * MARK_MARGIN) * share, 1)

    at_chance = None if isinstance(figure.chance, str) else across(figure.chance)
    return Places(across(figure.low), across(figure.high), across(figure.value), at_chance)


HELPERS: dict[str, Any] = {"span_of": span_of, "place": place, "picture": picture}
