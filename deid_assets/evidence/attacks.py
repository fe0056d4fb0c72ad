"""Parts on what attacks on a release found: its privacy audits."""

from __future__ import annotations

from collections.abc import Sequence

from deid_assets.evidence.audits import AuditRecord
from deid_assets.evidence.document import (
    CitedSource,
    EvidencePart,
    EvidenceRow,
    EvidenceTable,
    Statement,
    make_statement,
)
from deid_assets.evidence.verifying import VerifiedRelease
from deid_assets.evidence.wording import by_chance, many, show_measurement
from deid_assets.privacy.measurement import Measurement

_MOST_FIGURES = 24


def part_on_audit(audit: AuditRecord, release: VerifiedRelease) -> EvidencePart:
    """Return one audit with its verdict and figures of the release's policy."""
    source = source_of(audit, release)
    figures = _select_shown(audit, release.policy)
    statements = _describe(audit, release.policy, figures, source)
    tables = (_tabulate(figures, release.policy, source),) if figures else ()
    return EvidencePart(f"Audit: {audit.name}", tuple(statements), tables)


def _describe(
    audit: AuditRecord, policy: str, figures: Sequence[Measurement], source: CitedSource
) -> list[Statement]:
    """Return the verdict, and what a reader must know of the figures that are shown."""
    statements = [
        make_statement(f"{audit.title} {audit.outcome.value.capitalize()}: {audit.reason}.", source)
    ]
    if audit.outcome.value == "void":
        statements.append(
            make_statement(
                "Void means that its figures prove nothing, in either direction.", source
            )
        )
    if audit.options:
        told = ", ".join(f"{name} = {value}" for name, value in sorted(audit.options.items()))
        statements.append(
            make_statement(f"It was run with options that are not its own: {told}.", source)
        )
    if audit.counts and (left := len(audit.figures(policy)) - len(figures)):
        statements.append(
            make_statement(
                f"Of {len(figures) + left:,} figures {len(figures):,} are shown: those of all"
                " categories together, or those farthest from what a guess gets. The verdict rests"
                " on all.",
                source,
            )
        )
    return statements


def _tabulate(figures: Sequence[Measurement], policy: str, source: CitedSource) -> EvidenceTable:
    rows = [
        EvidenceRow(
            (
                one.name,
                _group(one, policy),
                show_measurement(one),
                by_chance(one),
                many(one.units, one.unit.removesuffix("s"), one.unit),
            ),
            (source,),
        )
        for one in figures
    ]
    return EvidenceTable(
        "Figures with 95 % intervals, and what a guess gets.",
        ("Measure", "Of", "Value", "By chance", "On"),
        tuple(rows),
        frozenset({2, 3, 4}),
    )


def _group(figure: Measurement, policy: str) -> str:
    """Return what a figure is of, without the name of the release's policy."""
    group = figure.group.removeprefix(policy).lstrip(", ")
    return "all" if group in {"", "ALL"} else group


def _select_shown(audit: AuditRecord, policy: str) -> Sequence[Measurement]:
    """Return the figures of an audit that the document shows: of many by category those of all
    together, and of many others those that are farthest from a guess.
    """
    figures = audit.figures(policy) if audit.counts else ()
    if len(figures) <= _MOST_FIGURES:
        return figures
    whole = [one for one in figures if one.group == "ALL"]
    far = sorted(whole or figures, key=_from_chance, reverse=True)[:_MOST_FIGURES]
    return [one for one in figures if one in far]


def _from_chance(figure: Measurement) -> float:
    """Return how far a figure is from what a guess gets; 0 where no guess is a number."""
    return 0.0 if isinstance(figure.chance, str) else abs(figure.value - float(figure.chance))


def source_of(audit: AuditRecord, release: VerifiedRelease) -> CitedSource:
    """Return the appendix entry of an audit; where it was not made, the settings that name none."""
    return release.book.receipt(audit.receipt) if audit.receipt else release.settings_source
