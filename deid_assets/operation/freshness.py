"""Batches that should have been released by now.

Dagster's own freshness is of an asset, and one batch that is released makes all of it fresh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from deid_assets.intake.states import BatchState, BatchStatus

_DONE = (BatchState.RELEASED, BatchState.WITHDRAWN)


@dataclass(frozen=True, slots=True)
class Late:
    """A batch that is late.

    Args:
        batch: Its id.
        state: What became of it.
        hours: Since it arrived.
    """

    batch: str
    state: BatchState
    hours: float

    @property
    def line(self) -> str:
        """The batch in a line, with what helps."""
        return (
            f"{self.batch}: {self.state.value}, arrived {self.hours:,.0f} h ago; `deid batches show"
            f" {self.batch}` says what it lacks"
        )


def late_batches(
    found: Sequence[BatchStatus], *, within_hours: float, now: datetime | None = None
) -> list[Late]:
    """Return the batches that arrived too long ago and are neither released nor withdrawn, the
    oldest first.

    One of which it is not known when it arrived is late.

    Args:
        found: Every batch.
        within_hours: Time that a release may take.
        now: The present; the clock where not given.
    """
    now = now or datetime.now(UTC)
    waiting = [(one, _age_hours(one, now)) for one in found if one.state not in _DONE]
    late = [Late(one.batch, one.state, age) for one, age in waiting if age > within_hours]
    return sorted(late, key=lambda one: (-one.hours, one.batch))


def _age_hours(one: BatchStatus, now: datetime) -> float:
    if not one.arrived_at:
        return float("inf")
    return (now - datetime.fromisoformat(one.arrived_at)).total_seconds() / 3600
