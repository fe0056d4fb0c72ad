"""The page that puts audits together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deid_assets.extending.audits import AuditResult, Measurement, Outcome
from deid_assets.extending.pages import MARK_MARGIN, MARK_WIDTH, picture, render
from deid_audits.facts import Facts
from deid_audits.gate import GateDecision
from deid_audits.meanings import meaning_of


def model_html(
    results: Sequence[AuditResult],
    facts: Facts | None,
    decision: GateDecision | None,
    *,
    title: str,
) -> str:
    """Return one self-contained page: every audit, and for a model its gate, checklist and lineage.

    Args:
        results: Of every audit, also of those that were not assessed.
        facts: Of the model, where there is one.
        decision: Of its gate, with the facts.
        title: Of the page where there are no facts.
    """
    tally = {
        outcome.value: sum(result.outcome is outcome for result in results) for outcome in Outcome
    }
    return render(
        "privacy.html.j2",
        package="deid_audits",
        results=results,
        facts=facts,
        decision=decision,
        title=title,
        tally=tally,
        **HELPERS,
    )


@dataclass(frozen=True, slots=True)
class LinePlaces:
    """Places of a measurement on its line, in CSS pixels.

    ``chance`` is missing where there is none.
    """

    low: float
    high: float
    value: float
    chance: float | None


def span_of(figures: Sequence[Measurement], figure: Measurement) -> tuple[float, float]:
    """Return the ends of the axis for a figure.

    0 to 1 for shares, else what holds all figures of its name.
    """
    alike = [each for each in figures if each.name == figure.name]
    ends = [end for each in alike for end in (each.low, each.high)]
    ends += [each.chance for each in alike if not isinstance(each.chance, str)]
    low, high = min([0.0, *ends]), max([*ends])
    return low, max(high, 1.0) if high <= 1 else high


def place(figure: Measurement, span: tuple[float, float]) -> LinePlaces:
    """Return where a measurement is drawn on an axis."""
    low, high = span

    def across(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(MARK_MARGIN + (MARK_WIDTH - 2 * MARK_MARGIN) * share, 1)

    at_chance = None if isinstance(figure.chance, str) else across(figure.chance)
    return LinePlaces(across(figure.low), across(figure.high), across(figure.value), at_chance)


HELPERS: dict[str, Any] = {
    "span_of": span_of,
    "place": place,
    "picture": picture,
    "meaning_of": meaning_of,
}
