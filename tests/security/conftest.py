"""Campaigns: attacks with a small share in every test run and all of it on request."""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest


@dataclass
class Campaign:
    """What one campaign tries, and what it counted.

    Args:
        name: Shown beside the counts.
        is_whole: Whether more than the small share is tried.
        at_most: Tries that are made then; all where not given.
    """

    name: str
    is_whole: bool
    at_most: int | None = None
    counts: Counter[str] = field(default_factory=Counter)

    def size(self, share: int, whole: int) -> int:
        """Return how many tries are to be made."""
        return share if not self.is_whole else whole if self.at_most is None else min(self.at_most, whole)

    def count(self, outcome: str) -> None:
        """Count a try by what came of it."""
        self.counts[outcome] += 1


@pytest.fixture
def campaign(request, capsys):
    """A campaign by the test's name; ``benchmarks/campaigns.py`` asks for the whole of it and collects the counts."""
    asked = os.environ.get("DEID_CAMPAIGNS", "")
    run = Campaign(request.node.name, bool(asked), int(asked) if asked.isdecimal() else None)
    yield run
    counts = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(run.counts.items()))
    line = f"{run.name}: {run.counts.total():,} tried; {counts}"
    with capsys.disabled():
        sys.stdout.write(f"\n{line}\n" if run.is_whole else "")
    if report := os.environ.get("DEID_CAMPAIGNS_REPORT"):
        with Path(report).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
