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
        is_whole: Whether all of it is tried, not a small share.
    """

    name: str
    is_whole: bool
    counts: Counter[str] = field(default_factory=Counter)

    def size(self, share: int, whole: int) -> int:
        """Return how many tries are to be made."""
        return whole if self.is_whole else share

    def count(self, outcome: str) -> None:
        """Count a try by what came of it."""
        self.counts[outcome] += 1


@pytest.fixture
def campaign(request, capsys):
    """A campaign by the test's name; ``benchmarks/campaigns.py`` asks for the whole of it and collects the counts."""
    run = Campaign(request.node.name, os.environ.get("DEID_CAMPAIGNS") == "all")
    yield run
    counts = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(run.counts.items()))
    line = f"{run.name}: {run.counts.total():,} tried; {counts}"
    with capsys.disabled():
        sys.stdout.write(f"\n{line}\n" if run.is_whole else "")
    if report := os.environ.get("DEID_CAMPAIGNS_REPORT"):
        with Path(report).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
