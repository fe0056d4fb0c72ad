"""The page on which a release is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from deid_assets.core.errors import InputError
from deid_assets.core.verdicts import CheckTally, State
from deid_assets.evaluation.score import Evaluation, Scheme
from deid_assets.reports.page import render, scores_of


class ReleaseOutcome(StrEnum):
    """Outcome that a reader must know first."""

    PASSED = "passed"
    WARNED = "passed with warnings"
    NOT_MEASURED = "not measured"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The verdict of one data-quality check.

    Args:
        name: Name of the check.
        passed: Whether it judged something and found it good.
        blocking: Whether a failure stops the release.
        counts: What was counted, by name.
        description: What the check makes sure of, in a sentence.
        asset: Where it ran.
        applicable: Whether there was anything to judge.
    """

    name: str
    passed: bool
    blocking: bool
    counts: Mapping[str, float] = field(default_factory=dict)
    description: str = ""
    asset: str = ""
    applicable: bool = True

    @property
    def state(self) -> State:
        """Passed, failed or not applicable."""
        return State.of(passed=self.passed, applicable=self.applicable)


@dataclass(frozen=True, slots=True)
class Quarantined:
    """Notes held back for one reason.

    Args:
        stage: Where they failed, for example ``spans_rules``.
        reason: Class name of the error, or name of the rule that held them back.
        notes: How many.
    """

    stage: str
    reason: str
    notes: int


@dataclass(frozen=True, slots=True)
class Component:
    """A detector, model or policy that took part.

    Args:
        name: Its name.
        version: Its version.
        digest: Digest of its settings or weights, or empty.
        role: ``ensemble`` where its spans are redacted, ``scored, not used`` where it is not in the
            ensemble.
    """

    name: str
    version: str
    digest: str = ""
    role: str = "ensemble"


@dataclass(frozen=True, slots=True)
class Audited:
    """A privacy audit as it was last made; it looks at all batches with gold, not at one.

    Args:
        name: Of the audit.
        title: The question that it answers.
        outcome: Passed, failed, void or not assessed.
        reason: Why.
        made_at: When, ISO 8601; empty where it never was.
    """

    name: str
    title: str
    outcome: str
    reason: str
    made_at: str = ""


@dataclass(frozen=True, slots=True)
class Received:
    """What arrived as a batch.

    Args:
        at: When, with a time zone.
        files: How many.
        sender: Who sent it; empty where nobody said.
        languages: Language code to notes, the most frequent first.
    """

    at: datetime
    files: int
    sender: str
    languages: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ProvenanceStep:
    """One asset partition in the chain that led to the release.

    Args:
        asset: Name of the asset.
        batch: Its partition.
        digest: Digest of its receipt.
        code_version: Version of the code that made it.
        created_at: When, ISO 8601.
    """

    asset: str
    batch: str
    digest: str
    code_version: str = ""
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseSummary:
    """Everything a privacy officer is shown about one released batch. It holds no note text.

    Args:
        batch: Opaque id of the batch.
        policy: Name of the redaction policy.
        created_at: When the release was made; with a time zone.
        received: Notes that entered the batch.
        released: Notes in the released corpus.
        checks: Every check that was run for the batch.
        actions: Category to what the policy does with it, in words.
        default_action: What the policy does with any other category.
        redacted: Category to spans that were replaced.
        found: Detector to category to spans it found.
        quarantined: Notes held back, by stage and reason.
        ensemble: What took part.
        chain: Receipts from the raw notes to the release.
        evaluation: Scores of the merged spans against gold, or ``None`` where the batch has no
            gold.
        gold: What the gold is, in words.
        limits: Known limits, one sentence each.
        audits: Privacy audits that are installed.
        code_version: Version of the software.
        not_measured: Why too little is known of what was missed, a sentence; empty where enough was
            measured.
        consequence: What follows for the release where less was measured than is asked, a sentence.
        stays: Whether the batch is not released, whatever its checks say.
        arrival: What arrived, or ``None`` where that is not recorded.
        needs_approval: Whether somebody must approve this page before the batch leaves.
        redacts_annotated: Whether what people annotated is redacted too, where no detector found
            it.
        page: Name of the file of this page; that of a batch's own release where not given.
        study: Whose release it is; empty for the installation's own.
        recipients: Who gets it, where the study names them.

    Raises:
        InputError: A count is negative, or ``created_at`` has no time zone.
    """

    batch: str
    policy: str
    created_at: datetime
    received: int
    released: int
    checks: tuple[CheckResult, ...]
    actions: Mapping[str, str]
    default_action: str
    redacted: Mapping[str, int]
    found: Mapping[str, Mapping[str, int]]
    quarantined: tuple[Quarantined, ...] = ()
    ensemble: tuple[Component, ...] = ()
    chain: tuple[ProvenanceStep, ...] = ()
    evaluation: Evaluation | None = None
    gold: str = ""
    limits: tuple[str, ...] = ()
    audits: tuple[Audited, ...] = ()
    code_version: str = ""
    not_measured: str = ""
    consequence: str = ""
    stays: bool = False
    arrival: Received | None = None
    needs_approval: bool = False
    redacts_annotated: bool = True
    page: str = ""
    study: str = ""
    recipients: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.created_at.tzinfo is None:
            raise InputError(
                f"release of {self.batch!r}: created_at has no time zone; give one, such as UTC"
            )
        held = [reason.notes for reason in self.quarantined]
        if min([self.received, self.released, *held, *self.redacted.values()]) < 0:
            raise InputError(f"release of {self.batch!r}: a count is negative; counts start at 0")

    @property
    def held(self) -> int:
        """Notes in quarantine."""
        return sum(reason.notes for reason in self.quarantined)

    @property
    def unaccounted(self) -> int:
        """Notes received that are neither released nor held; negative where more left than came."""
        return self.received - self.released - self.held

    @property
    def tally(self) -> CheckTally:
        """Numbers of checks that passed, failed and were not applicable."""
        return CheckTally.of(check.state for check in self.checks)

    @property
    def unmeasured(self) -> str:
        """Reason why too little is known of what was missed, or nothing where enough
        was measured.
        """
        if self.not_measured:
            return self.not_measured
        if self.evaluation is None:
            return "No note of this batch is annotated."
        if not self.evaluation.micro(Scheme.COVERED).gold:
            return (
                "The annotations of this batch hold no identifier under profile"
                f" {self.evaluation.profile}."
            )
        return ""

    @property
    def missed(self) -> str:
        """In how many annotated notes the detectors left something, and what became of it.

        Empty where in none.
        """
        if self.evaluation is None:
            return ""
        notes = self.evaluation.notes
        left = notes.with_phi - notes.covered
        if not left:
            return ""
        became = (
            "It is hidden all the same, because people had annotated it"
            if self.redacts_annotated
            else "These notes are in quarantine, because people had annotated it"
        )
        return (
            f"Without the annotations, something would be left in {left:,} of the"
            f" {notes.with_phi:,} annotated notes that hold identifiers: the detectors did not"
            f" cover it. {became}. Expect the same share among notes that nobody annotated."
        )

    @property
    def outcome(self) -> ReleaseOutcome:
        """``FAILED`` where a blocking check failed or none passed, or where notes are not accounted
        for.
        """
        states = [check.state for check in self.checks if check.blocking]
        if State.PASSED not in states or State.FAILED in states or self.unaccounted:
            return ReleaseOutcome.FAILED
        if self.unmeasured:
            return ReleaseOutcome.NOT_MEASURED
        return ReleaseOutcome.WARNED if self.tally.failed or self.stays else ReleaseOutcome.PASSED

    @property
    def may_leave(self) -> bool:
        """Whether the redacted notes are released, if somebody approves them where that
        is asked.
        """
        return self.outcome is not ReleaseOutcome.FAILED and not self.stays

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons why the outcome is not ``PASSED``, one sentence each."""
        sentences = []
        if not any(check.blocking and check.passed for check in self.checks):
            sentences.append("No blocking check had anything to judge.")
        if self.unaccounted:
            sentences.append(
                f"Notes do not add up: {self.received:,} received, {self.released:,} released, "
                f"{self.held:,} in quarantine."
            )
        failed = sorted(
            (check for check in self.checks if check.state is State.FAILED),
            key=lambda check: not check.blocking,
        )
        return (
            *sentences,
            *(
                f"{'Blocking check' if one.blocking else 'Check'} {one.name} failed."
                for one in failed
            ),
        )


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
