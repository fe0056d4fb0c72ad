"""Verdict of a check: passed, failed or not applicable, and numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from deid_assets.core.errors import DeidError
from deid_assets.core.verdicts import CheckTally, State


class Bound(NamedTuple):
    """A figure of a check beside its limit.

    Args:
        name: Of the figure.
        value: The figure.
        kind: ``minimum``, ``limit``, ``tolerance`` or ``wanted``.
        bound: The least or largest value that passes.
    """

    name: str
    value: float
    kind: str
    bound: float


_JUDGED = {
    "minimum": ("lower{}", "recall{}", "f1{}"),
    "limit": ("share{}", "upper_bound{}", "missed{}"),
    "tolerance": ("change{}",),
    "wanted": ("annotated{}", "{}", "least{}"),
}
"""Kind of a bound to the counts that it may be for, with what follows the kind in the bound's own
name.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one check.

    Args:
        name: Unique among the checks of an asset; ``^[a-z][a-z0-9_]*$``.
        passed: Whether something was judged and found good.
        blocking: Whether a failure stops the materialization.
        counts: Numbers behind the outcome; never values from the data.
        description: What passing means, for people; of a check that is not applicable, why.
        applicable: Whether there was anything to judge. A check that is not applicable has not
            passed, and stops nothing.
        reasons: What was wrong, where, and what to do, one line each; never text of notes or names
            of files.
        waits: Whether a failure is no fault: somebody has yet to do what the reasons say.

    Raises:
        DeidError: It passed and had nothing to judge.
    """

    name: str
    passed: bool
    blocking: bool
    counts: Mapping[str, int | float] = field(default_factory=dict)
    description: str = ""
    applicable: bool = True
    reasons: Sequence[str] = ()
    waits: bool = False

    def __post_init__(self) -> None:
        if self.passed and not self.applicable:
            raise DeidError(
                f"check {self.name}: passed with nothing to judge; it is not applicable"
            )

    @property
    def state(self) -> State:
        """Passed, failed or not applicable."""
        return State.of(passed=self.passed, applicable=self.applicable)

    @property
    def failed(self) -> bool:
        """Whether something was judged and found bad."""
        return self.state is State.FAILED

    @property
    def stops(self) -> bool:
        """Whether nothing may be stored: a blocking check failed."""
        return self.blocking and self.failed

    @property
    def bounds(self) -> list[Bound]:
        """Figures beside their limits.

        ``lower_NAME`` beside ``minimum_NAME``, ``share`` beside ``limit``.
        """
        found = []
        for bound, value in self.counts.items():
            kind = bound.partition("_")[0]
            rest = bound.removeprefix(kind)
            names = (name.format(rest).removeprefix("_") for name in _JUDGED.get(kind, ()))
            if judged := next(
                (name for name in names if name in self.counts and name != bound), None
            ):
                found.append(Bound(judged, self.counts[judged], kind, value))
        return found

    def unless(self, nothing: bool, why: str) -> Verdict:
        """Return the verdict, or *not applicable* where it passed although there was nothing to
        judge.

        A failure stays one, whatever there was.

        Args:
            nothing: Whether there was nothing to judge.
            why: What was not there, such as ``"no gold"``.
        """
        if not (nothing and self.passed):
            return self
        return replace(
            self,
            passed=False,
            applicable=False,
            description=f"Not applicable: {why}. {self.description}",
        )


def check_share(name: str, description: str, *, part: int, whole: int, limit: float) -> Verdict:
    """Check, blocking, that ``part`` is at most ``limit`` of ``whole``.

    Of nothing it is not applicable.
    """
    share = part / whole if whole else 0.0
    return Verdict(
        name,
        passed=share <= limit,
        blocking=True,
        counts={"part": part, "whole": whole, "share": round(share, 4), "limit": limit},
        description=description,
    ).unless(not whole, "nothing arrived")


def fold_verdicts(
    name: str, description: str, verdicts: Iterable[Verdict], *, apart: Collection[str]
) -> list[Verdict]:
    """Return the verdicts named in ``apart``, and one in place of all others, which passes if none
    of them fails.

    Its counts are the numbers of ``checks`` and of those ``not_applicable``, and under the name of
    each that failed the rows that broke it, or 1 where nothing was counted. It is not applicable
    where none of them is. A page with a handful of checks is read; one with a dozen that never fail
    is not.
    """
    given = list(verdicts)
    others = [verdict for verdict in given if verdict.name not in apart]
    tally = CheckTally.of(verdict.state for verdict in others)
    bad = {verdict.name: verdict.counts.get("bad", 1) for verdict in others if verdict.failed}
    counts = {"checks": len(others), "not_applicable": tally.not_applicable, **bad}
    together = Verdict(name, passed=not bad, blocking=True, counts=counts, description=description)
    return [
        *(verdict for verdict in given if verdict.name in apart),
        together.unless(not tally.passed, "none of its parts had anything to judge"),
    ]
