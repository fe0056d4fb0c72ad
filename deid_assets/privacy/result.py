"""The result of an audit.

Figures, controls, a verdict that follows from them, and what the audit cannot see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from deid_assets.core.errors import InputError
from deid_assets.privacy.measurement import Measurement


class Outcome(StrEnum):
    """The verdict of an audit."""

    PASSED = "passed"
    FAILED = "failed"
    VOID = "void"
    """A control did not do what it must, so that the figures prove nothing."""
    NOT_ASSESSED = "not assessed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A case whose answer is known, which shows whether the attack works.

    Args:
        name: In a few words.
        expected: Whether the attack must react: a positive control. A negative one must leave it
            cold.
        reacted: Whether it did.
        description: What was planted, and how it was decided whether the attack reacted.
        measurement: The number behind it.
    """

    name: str
    expected: bool
    reacted: bool
    description: str
    measurement: Measurement | None = None

    @property
    def held(self) -> bool:
        """Whether it did what it must."""
        return self.reacted == self.expected


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A criterion of the verdict, its threshold in the description."""

    name: str
    passed: bool
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A picture, as PNG; ``deid_assets.extending.drawing`` makes them in the look of the others."""

    name: str
    title: str
    png: bytes = field(repr=False)


Cell = str | int | Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of words, counts and measurements.

    A bare fraction is refused: it would stand without its interval.

    Raises:
        InputError: A row has another length than the header, or a cell is something else.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise InputError(
                    f"table {self.name!r} has a row of {len(row)} cells; give {len(self.columns)}"
                )
            if any(not isinstance(cell, str | int | Measurement) for cell in row):
                raise InputError(
                    f"table {self.name!r} has a bare fraction; give a measurement with its interval"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a result is about, by digests that the key alone can make again.

    See ``privacy.subject``.

    Args:
        key: Name of the key.
        model: Of the files of the model's folder; empty where there was none, as below.
        notes: Of each set of notes: ``annotated`` (with gold and what was found), ``training``,
            ``held_out``, ``calibration``; and of the texts of the first alone, as ``annotated
            texts``.
        policies: Of the redaction policies.
        settings: Of options, seed and further files.
        options: What the audit was given that differs from its own settings, by name, as JSON: a
            limit that is loosened passes what the audit's own refuses.
        read: Of how many notes of a set the model's folder says that it was trained on them, as
            ``training`` and ``training read``.
    """

    key: str
    model: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)
    policies: str = ""
    settings: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    read: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """The result of an audit; ``conclude`` and ``not_assessed`` make it.

    Args:
        audit: Name of the audit.
        version: Of the audit.
        title: The question that it answers.
        outcome: The verdict.
        reason: Why, in one line.
        blind_spots: What the audit cannot see, one sentence each.
        figures: What was measured.
        controls: Cases whose answer is known.
        rules: What the verdict follows from.
        plots: Pictures.
        tables: Further counts and measurements.
        counts: Of notes, patients and the like.
        subject: What it is about, once it is sealed.
        signature: Of the whole of it, where there was a key.

    Raises:
        InputError: A verdict without figures or without a positive control, a void one whose
            controls held, or nothing said of what the audit cannot see.
    """

    audit: str
    version: str
    title: str
    outcome: Outcome
    reason: str
    blind_spots: tuple[str, ...]
    figures: tuple[Measurement, ...] = ()
    controls: tuple[Control, ...] = ()
    rules: tuple[Rule, ...] = ()
    plots: tuple[Plot, ...] = ()
    tables: tuple[Table, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    subject: Subject | None = None
    signature: str = ""

    def __post_init__(self) -> None:
        if not self.reason or not self.blind_spots:
            raise InputError(
                f"audit {self.audit!r} must give a reason for its verdict, and what it cannot see"
            )
        if any(not isinstance(count, int) for count in self.counts.values()):
            raise InputError(
                f"audit {self.audit!r} counts in whole numbers; give the others as measurements"
            )
        judged = self.outcome in {Outcome.PASSED, Outcome.FAILED}
        if judged and not (self.figures and self.rules):
            raise InputError(
                f"audit {self.audit!r} gives a verdict without figures and rules; give both"
            )
        if judged and _fault_of(self.controls):
            raise InputError(
                f"audit {self.audit!r} proves nothing: {_fault_of(self.controls)}; its verdict is"
                " void"
            )

    def to_json(self) -> dict[str, Any]:
        """Return it under plain names; of plots, name and title."""
        rows = asdict(self)
        rows["outcome"] = self.outcome.value
        rows["plots"] = [{"name": plot.name, "title": plot.title} for plot in self.plots]
        return rows

    def plot(self, name: str) -> Plot:
        """Return a plot by its name."""
        return next(plot for plot in self.plots if plot.name == name)


def read_result(
    document: Mapping[str, Any], plots: Mapping[str, bytes] | None = None
) -> AuditResult:
    """Return what ``to_json`` wrote, with the pictures that are given by name.

    Raises:
        InputError: It is something else.
    """
    pictures = plots or {}
    fields = dict(document)
    try:
        fields |= {
            "outcome": Outcome(fields["outcome"]),
            "blind_spots": tuple(fields["blind_spots"]),
            "figures": tuple(Measurement.from_json(each) for each in fields["figures"]),
            "controls": tuple(_control(each) for each in fields["controls"]),
            "rules": tuple(Rule(**each) for each in fields["rules"]),
            "plots": tuple(
                Plot(**each, png=pictures[each["name"]])
                for each in fields["plots"]
                if each["name"] in pictures
            ),
            "tables": tuple(_table(each) for each in fields["tables"]),
            "subject": Subject(**fields["subject"]) if fields.get("subject") else None,
        }
        return AuditResult(**fields)
    except (KeyError, TypeError, ValueError):
        raise InputError(
            "not the result of an audit as this version writes it; run the audit again"
        ) from None


def _control(fields: Mapping[str, Any]) -> Control:
    number = fields["measurement"]
    return Control(**{**fields, "measurement": Measurement.from_json(number) if number else None})


def _table(fields: Mapping[str, Any]) -> Table:
    rows = tuple(
        tuple(Measurement.from_json(cell) if isinstance(cell, dict) else cell for cell in row)
        for row in fields["rows"]
    )
    return Table(**{**fields, "columns": tuple(fields["columns"]), "rows": rows})


def verdict(controls: Sequence[Control], rules: Sequence[Rule]) -> tuple[Outcome, str]:
    """Return what follows from controls and rules, with the reason in one line."""
    if fault := _fault_of(controls):
        return Outcome.VOID, fault
    failed = [rule for rule in rules if not rule.passed]
    if failed:
        # A rule's name says what must be so; beside "failed" it would read as what was found.
        return Outcome.FAILED, "not met: " + _describe_rules(
            failed, f"{len(failed)} of {len(rules)} rules"
        )
    return Outcome.PASSED, _describe_rules(rules, f"all {len(rules)} rules passed")


def _describe_rules(rules: Sequence[Rule], summary: str) -> str:
    """Return the one rule, or how many there are and the first of them."""
    first = "".join(f"{rule.name}: {rule.description}" for rule in rules[:1])
    return first if len(rules) == 1 else f"{summary}; {first}"


def _fault_of(controls: Sequence[Control]) -> str:
    """Return why the controls prove nothing, or empty."""
    if not any(control.expected for control in controls):
        return "there is no positive control, so a null result says nothing"
    wrong = [control for control in controls if not control.held]
    said = (
        f"{each.name} {'did not react' if each.expected else 'reacted and must not'}"
        for each in wrong
    )
    return "; ".join(said)
