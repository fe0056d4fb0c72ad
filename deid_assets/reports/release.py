"""The page on which a release is judged."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from deid_assets.core.verdicts import CheckTally, State
from deid_assets.reports.page import render, scores_of
from deid_assets.reports.summary import ReleaseSummary


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """One category: what the policy does with it, how often, and how often each detector found it.

    Args:
        category: Its name.
        action: What the policy does with it.
        by_default: Whether the policy does not name the category.
        redacted: Spans replaced.
        share: ``redacted`` over that of the most frequent category.
        found: Spans per detector, in the order of the columns.
    """

    category: str
    action: str
    by_default: bool
    redacted: int
    share: float
    found: tuple[int, ...]


def release_html(release: ReleaseSummary) -> str:
    """Return one self-contained HTML page, the verdict first."""
    return render(
        "release.html.j2",
        release=release,
        when=_in_utc(release.created_at),
        arrived=_in_utc(release.arrival.at) if release.arrival else "",
        checks=sorted(
            release.checks,
            key=lambda check: (_ORDER[check.state], not check.blocking, check.asset, check.name),
        ),
        blocking=CheckTally.of(check.state for check in release.checks if check.blocking),
        State=State,
        categories=_categories(release),
        detectors=sorted(release.found),
        scores=scores_of(release.evaluation) if release.evaluation is not None else None,
    )


def _in_utc(at: datetime) -> str:
    return f"{at.astimezone(UTC):%d %B %Y, %H:%M} UTC".lstrip("0")


_ORDER = {State.FAILED: 0, State.NOT_APPLICABLE: 1, State.PASSED: 2}


def _categories(release: ReleaseSummary) -> list[CategoryRow]:
    names = {
        *release.redacted,
        *release.actions,
        *(name for found in release.found.values() for name in found),
    }
    most = max(release.redacted.values(), default=0)
    rows = []
    for name in names:
        redacted = release.redacted.get(name, 0)
        row = CategoryRow(
            name,
            release.actions.get(name, release.default_action),
            name not in release.actions,
            redacted,
            redacted / most if most else 0.0,
            tuple(release.found[detector].get(name, 0) for detector in sorted(release.found)),
        )
        rows.append(row)
    return sorted(rows, key=lambda row: (-row.redacted, -sum(row.found), row.category))
