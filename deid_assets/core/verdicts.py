"""Verdicts of a check: three states, and counts of each."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """The answer of one check. A check that had nothing to judge has neither passed nor failed."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"

    @classmethod
    def of(cls, *, passed: bool, applicable: bool = True) -> State:
        """Return the state of a stored verdict."""
        if not applicable:
            return cls.NOT_APPLICABLE
        return cls.PASSED if passed else cls.FAILED


class CheckTally(NamedTuple):
    """Numbers of checks that passed, failed and were not applicable."""

    passed: int
    failed: int
    not_applicable: int

    @classmethod
    def of(cls, states: Iterable[State]) -> CheckTally:
        """Return the number of each state."""
        given = list(states)
        return cls(*(given.count(state) for state in State))

    def __str__(self) -> str:
        return (
            f"{self.passed:,} passed, {self.failed:,} failed, {self.not_applicable:,} not"
            " applicable"
        )
