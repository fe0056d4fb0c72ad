"""What a look at an installation found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Condition(StrEnum):
    """How something that was looked at is, the best first."""

    OK = "ok"
    MISSING = "missing"
    """Optional and absent."""
    DOUBTFUL = "doubtful"
    """It works, and somebody should look at it."""
    BROKEN = "broken"
    """Something will not work."""
    UNSAFE = "unsafe"
    """Notes could reach somebody: none are read until it is put right."""


_CODES = {Condition.BROKEN: 1, Condition.UNSAFE: 4}
"""Exit code of ``deid doctor`` by the worst state; 2 and 3 are those of every command."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at.

    Args:
        what: Its name.
        state: How it is.
        detail: A version or a count, or the fault and its remedy; no secret and no note text.
    """

    what: str
    state: Condition
    detail: str


def exit_code(findings: list[Finding]) -> int:
    """Return the exit code of the worst finding; 0 where nothing is broken or unsafe."""
    return max((_CODES.get(finding.state, 0) for finding in findings), default=0)
