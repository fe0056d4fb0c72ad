"""What a check says: a yes or no, and numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one check.

    Args:
        name: Unique among the checks of an asset; ``^[a-z][a-z0-9_]*$``.
        passed: Whether the data may go on.
        blocking: Whether a failure stops the materialization.
        counts: Numbers behind the outcome; never values from the data.
        description: What passing means, for people.
        reasons: What was wrong, where, and what to do, one line each; never text of notes or names of files.
    """

    name: str
    passed: bool
    blocking: bool
    counts: Mapping[str, int | float] = field(default_factory=dict)
    description: str = ""
    reasons: Sequence[str] = ()


def within_share(name: str, description: str, *, part: int, whole: int, limit: float) -> Verdict:
    """Check, blocking, that ``part`` is at most ``limit`` of ``whole``; a part of nothing passes."""
    share = part / whole if whole else 0.0
    return Verdict(
        name,
        passed=share <= limit,
        blocking=True,
        counts={"part": part, "whole": whole, "share": round(share, 4), "limit": limit},
        description=description,
    )


def folded(name: str, description: str, verdicts: Iterable[Verdict], *, apart: Collection[str]) -> list[Verdict]:
    """Return the verdicts named in ``apart``, and one in place of all others, which passes if each of them does.

    Its counts are ``checks``, and under the name of each that failed the rows that broke it, or 1 where nothing
    was counted. A page with a handful of checks is read; one with a dozen that never fail is not.
    """
    given = list(verdicts)
    others = [verdict for verdict in given if verdict.name not in apart]
    bad = {verdict.name: verdict.counts.get("bad", 1) for verdict in others if not verdict.passed}
    together = Verdict(
        name, passed=not bad, blocking=True, counts={"checks": len(others), **bad}, description=description
    )
    return [*(verdict for verdict in given if verdict.name in apart), together]
