"""One HTML file per report: no script, nothing fetched, every value escaped."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from deid_assets.evaluation.numbers import (
    UNDEFINED,
    Estimate,
    amount,
    axis_floor,
    estimate,
    ratio,
    recall_of,
    show_value,
)
from deid_assets.evaluation.score import Counts, Evaluation, Scheme
from deid_assets.privacy.measurement import Measurement
from deid_assets.reports.advice import CURVE, NEXT

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

TEMPLATES = "deid_assets.reports"
"""Package of the templates that all pages share."""
MARK_WIDTH = 120
"""Width of the small interval drawings, in CSS pixels."""
MARK_MARGIN = 4
"""Room for the dot at both ends, in CSS pixels."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A proportion drawn on a line.

    Interval from ``low`` to ``high``, dot at ``at``, all in CSS pixels.
    """

    low: float
    high: float
    at: float


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """One line of a score table, ready to print.

    ``covered`` and ``mark`` are ``None`` where there is no gold.
    """

    label: str
    gold: int
    covered: Estimate | None
    mark: Mark | None
    strict: Counts
    relaxed: Counts
    characters: Counts


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """An evaluation, ready to print.

    Args:
        evaluation: The counts.
        rows: A row per profile label, the worst covered first; labels without gold last.
        total: The row of all labels.
        floor: Where the axis of the drawings starts; it ends at 1.
        covered: Share of the notes with PHI that have no gold character left.
        untouched: Share of PHI-free notes without a prediction.
        spurious_per_10k: Characters predicted outside gold, per 10,000 characters of text.
    """

    evaluation: Evaluation
    rows: Sequence[ScoreLine]
    total: ScoreLine
    floor: float
    covered: Estimate | None
    untouched: Estimate | None
    spurious_per_10k: float | None


def scores_of(evaluation: Evaluation) -> ScoreTable:
    """Return the evaluation as its tables and tiles show it."""
    covered = {
        label: recall_of(evaluation.counts(label, Scheme.COVERED)) for label in evaluation.labels
    }
    overall = recall_of(evaluation.micro(Scheme.COVERED))
    floor = axis_floor([*covered.values(), overall])
    rows = [
        _row(label, found, [evaluation.counts(label, scheme) for scheme in _SHOWN], floor)
        for label, found in covered.items()
    ]
    notes = evaluation.notes
    return ScoreTable(
        evaluation,
        sorted(
            rows,
            key=lambda row: (
                row.covered is None,
                row.covered.value if row.covered else 0.0,
                row.label,
            ),
        ),
        _row("All labels", overall, [evaluation.micro(scheme) for scheme in _SHOWN], floor),
        floor,
        estimate(notes.covered, notes.with_phi),
        estimate(notes.phi_free - notes.touched, notes.phi_free),
        evaluation.characters.fp * 10_000 / notes.chars if notes.chars else None,
    )


_SHOWN = (Scheme.STRICT, Scheme.RELAXED, Scheme.CHARACTERS)


def _row(label: str, covered: Estimate | None, counts: Iterable[Counts], floor: float) -> ScoreLine:
    strict, relaxed, characters = counts
    return ScoreLine(label, strict.gold, covered, mark(covered, floor), strict, relaxed, characters)


def mark(found: Estimate | None, floor: float) -> Mark | None:
    """Return where a proportion is drawn on an axis from ``floor`` to 1, or ``None`` where there is
    none.
    """
    if found is None:
        return None

    def across(value: float) -> float:
        return round(
            MARK_MARGIN + (MARK_WIDTH - 2 * MARK_MARGIN) * (value - floor) / (1 - floor), 1
        )

    return Mark(across(found.low), across(found.high), across(found.value))


def number(each: Measurement) -> str:
    """Return a measurement with its interval."""
    digits = 3 if max(abs(each.low), abs(each.high)) < 100 else 0
    return f"{each.value:,.{digits}f} [{each.low:,.{digits}f}, {each.high:,.{digits}f}]"


def chance(each: Measurement) -> str:
    """Return what chance gives, as a number or a dash."""
    return UNDEFINED if isinstance(each.chance, str) else f"{each.chance:.3f}"


def render(template: str, *, package: str = TEMPLATES, **values: Any) -> str:
    """Return a page from a template of a package, or of this one.

    A name that is not given is an error, not a blank.
    """
    return _environment(package).get_template(template).render(**values)


@cache
def _environment(package: str) -> Environment:
    from jinja2 import (  # noqa: PLC0415 - loaded with the first page
        ChoiceLoader,
        Environment,
        PackageLoader,
        StrictUndefined,
    )

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in dict.fromkeys((TEMPLATES, package))]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        amount=amount, ratio=ratio, written=show_value, measured=number, chance=chance
    )
    environment.globals.update(
        CURVE=CURVE,
        NEXT=NEXT,
        MARK_WIDTH=MARK_WIDTH,
        MARK_MARGIN=MARK_MARGIN,
        UNDEFINED=UNDEFINED,
        Scheme=Scheme,
    )
    return environment


@cache
def script(template: str, *, package: str = "deid_assets.reports") -> tuple[Markup, str]:
    """Return a script of a package's templates, and the SHA-256 that names it in a page's security
    policy.
    """
    from markupsafe import Markup  # noqa: PLC0415 - loaded with the first page

    source = files(package).joinpath("templates", template).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    return Markup(source), digest  # noqa: S704 - a file of this package


def data(value: Any) -> Markup:
    """Return JSON that cannot end the element it stands in."""
    from markupsafe import Markup  # noqa: PLC0415 - loaded with the first page

    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)  # noqa: S704 - no character of markup is left


def picture(png: bytes) -> str:
    """Return a PNG as an address that holds it."""
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
