"""The interface of an audit, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.redact import Policy
from deid_assets.core.span import DisjointSpans
from deid_assets.privacy.measurement import Measurement
from deid_assets.privacy.result import AuditResult, Control, Outcome, Plot, Rule, Table, verdict

SEED = 1
"""Of draws, where none is given."""


class Need(StrEnum):
    """What an audit may need.

    Each is an attribute of ``Material``, but for the gold, which is that of the cases.
    """

    GOLD = "gold"
    """Notes with every identifier marked, and what was found of it."""
    PREDICTIONS = "predictions"
    """What was found is a detector's, not the annotations over again."""
    POLICIES = "policies"
    MODEL = "model"
    """Folder of a language model or a tagger."""
    REFERENCE = "reference"
    """Folder of a model that never read the notes."""
    TRAINING = "training"
    """Notes that the model was trained on."""
    HELD_OUT = "held_out"
    """Notes of the same kind that it was not trained on."""
    CALIBRATION = "calibration"
    """Notes for thresholds, in neither of these."""
    CANARIES = "canaries"
    """File of secrets that were planted in the training notes."""
    POPULATION = "population"
    """File of people from among whom a patient is to be found."""


Steps = Callable[[int, int, str], None]
"""Told how many steps of an audit are done, of how many, and what comes next."""


def _untold(_done: int, _steps: int, _next: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Case:
    """A note, what there is to find, and what was found.

    Args:
        note: The original.
        gold: Every identifier.
        found: What is redacted.
    """

    note: Note = field(repr=False)
    gold: DisjointSpans
    found: DisjointSpans


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What an audit works on; what it does not declare as a need may be missing.

    Args:
        key: Of the installation; derive keys from it.
        seed: Of draws.
        cases: Notes with gold and with what was detected.
        predictions: Whether a detector found it; the annotations take its place where not.
        policies: How they are redacted.
        report: Called between the steps of a long audit.
        marked: By the digest of its text, what is marked in a training, held-out or calibration
            note; of a tagger's audit.
        model: As ``Need`` says, like all below.
    """

    key: Key = field(repr=False)
    seed: int = SEED
    cases: Sequence[Case] = ()
    predictions: bool = True
    policies: Sequence[Policy] = ()
    report: Steps = field(default=_untold, repr=False, compare=False)
    marked: Mapping[str, DisjointSpans] = field(default_factory=dict, repr=False)
    model: Path | None = None
    reference: Path | None = None
    training: Sequence[Note] = field(default=(), repr=False)
    held_out: Sequence[Note] = field(default=(), repr=False)
    calibration: Sequence[Note] = field(default=(), repr=False)
    canaries: Path | None = None
    population: Path | None = None

    def has(self, need: Need) -> bool:
        """Whether something is there."""
        return bool(self.cases if need is Need.GOLD else getattr(self, need.value))


@runtime_checkable
class Audit(Protocol):
    """Asks one question of a release, or of a model.

    Attributes:
        name: Lower case, ``^[a-z][a-z0-9_]{0,40}$``; equals the entry-point name.
        version: Changes whenever the output may change.
        title: The question.
        needs: What must be there.
        blind_spots: What it cannot see, a sentence each, at least one.

    Options are keyword-only parameters of the constructor; heavy libraries are imported in ``run``.
    """

    name: str
    version: str
    title: str

    @property
    def needs(self) -> frozenset[Need]:
        """What must be there."""
        ...

    @property
    def blind_spots(self) -> tuple[str, ...]:
        """What it cannot see."""
        ...

    def run(self, material: Material) -> AuditResult:
        """Return what was found; the same for the same material, key and seed.

        Raises:
            DeidError: The material does not allow an answer; the message holds no note text.
        """
        ...


@runtime_checkable
class Estimated(Protocol):
    """An audit that can tell what it will take."""

    def seconds(self, material: Material) -> float:
        """Return how long ``run`` will take, from a small share of the work.

        Raises:
            DeidError: As for ``run``.
        """
        ...


def conclude(
    audit: Audit,
    *,
    figures: Sequence[Measurement],
    controls: Sequence[Control],
    rules: Sequence[Rule],
    plots: Sequence[Plot] = (),
    tables: Sequence[Table] = (),
    counts: Mapping[str, int] | None = None,
    void: str = "",
) -> AuditResult:
    """Return a result with the verdict that follows: void, else failed, else passed.

    Void: there is no positive control, a control did not do what it must, or ``void`` says why the
    figures prove nothing. Failed: a rule did.
    """
    outcome, reason = (Outcome.VOID, void) if void else verdict(controls, rules)
    return AuditResult(
        audit=audit.name,
        version=audit.version,
        title=audit.title,
        outcome=outcome,
        reason=reason,
        blind_spots=tuple(audit.blind_spots),
        figures=tuple(figures),
        controls=tuple(controls),
        rules=tuple(rules),
        plots=tuple(plots),
        tables=tuple(tables),
        counts=dict(counts or {}),
    )


def not_assessed(audit: Audit, reason: str) -> AuditResult:
    """Return a result that says why the question was not answered."""
    return AuditResult(
        audit=audit.name,
        version=audit.version,
        title=audit.title,
        outcome=Outcome.NOT_ASSESSED,
        reason=reason,
        blind_spots=tuple(audit.blind_spots),
    )
