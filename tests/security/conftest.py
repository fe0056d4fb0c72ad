"""Campaigns: attacks with a small share in every test run and all of it on request."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass, field

import pytest


@dataclass
class Campaign:
    """What one campaign tries, and what it counted.

    Args:
        name: Shown beside the counts.
        is_whole: Whether more than the small share is tried.
        at_most: Tries that are made then; all where not given.
        after: Tries left out of campaigns whose tries are numbered.
        reported_to: File descriptor on which progress and counts are told.
    """

    name: str
    is_whole: bool
    at_most: int | None = None
    after: int = 0
    reported_to: int | None = None
    counts: Counter[str] = field(default_factory=Counter)

    def size(self, share: int, whole: int) -> int:
        """Return how many tries are to be made."""
        return (
            share
            if not self.is_whole
            else whole
            if self.at_most is None
            else min(self.at_most, whole)
        )

    def numbers(self, share: int, whole: int) -> range:
        """Return the numbers of the tries, without those made in an earlier run.

        Numbers go on beyond the whole where more are asked for: each is another try.
        """
        if not self.is_whole:
            return range(share)
        return range(self.after, whole if self.at_most is None else self.at_most)

    def tell(self, line: str) -> None:
        """Show a line to who asked for the whole."""
        if self.reported_to is not None:
            os.write(self.reported_to, f"{line}\n".encode())

    def count(self, outcome: str) -> None:
        """Count a try by what came of it."""
        self.counts[outcome] += 1


@pytest.fixture
def campaign(request):
    """A campaign by the test's name.

    ``benchmarks/campaigns.py`` asks for the whole of it and shows the counts.
    """
    asked, after, reported_to = (
        os.environ.get(f"DEID_CAMPAIGNS{suffix}", "") for suffix in ("", "_AFTER", "_REPORTED_TO")
    )
    run = Campaign(
        request.node.name,
        bool(asked),
        int(asked) if asked.isdecimal() else None,
        int(after or 0),
        int(reported_to) if reported_to else None,
    )
    started = time.monotonic(), os.times()
    yield run
    taken_s = time.monotonic() - started[0]
    cpu_s = sum(os.times()[:4]) - sum(started[1][:4])
    counts = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(run.counts.items()))
    run.tell(
        f"{run.name}: {run.counts.total():,} tried in {taken_s:,.0f} s ({cpu_s:,.0f} s of CPU);"
        f" {counts}"
    )
