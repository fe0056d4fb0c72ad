"""The log of a site: a line for each try of a submission, from which the leaderboard is read."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deid_assets.extending import InputError

REDACTION = "redaction"
"""The task whose notes are annotated with what identifies.

It is what a submission is scored on where no other is named.
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """A submission's place on the leaderboard.

    Args:
        task: What it was scored on.
        submission: Its name.
        at: When its latest scores were made.
        tries: How often it was evaluated, without scores too.
        scores: The latest.
    """

    task: str
    submission: str
    at: str
    tries: int
    scores: Mapping[str, Any]

    @property
    def f1(self) -> float:
        """What it is ordered by."""
        return float(self.scores["f1"])


def record(
    log: Path,
    name: str,
    digest: str,
    scores: Mapping[str, Any] | None,
    fault: str = "",
    *,
    task: str = REDACTION,
    sender: str = "",
) -> None:
    """Append a line to the log.

    When, by whom, a digest of what was sent, and the scores or why there are none.
    """
    line = {
        "at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "sender": sender,
        "task": task,
        "submission": name,
        "sha256": digest,
    }
    with log.open("a", encoding="utf-8") as file:
        file.write(
            json.dumps({**line, **({"scores": scores} if scores else {"fault": fault})}) + "\n"
        )


def tries_of(log: Path, sender: str) -> int:
    """Return how often a sender's submissions were evaluated, those without scores too, whatever
    their names and tasks.

    Raises:
        InputError: A line of the log is broken.
    """
    return sum(one.get("sender", "") == sender for one in _lines(log)) if log.exists() else 0


def _lines(log: Path) -> list[dict[str, Any]]:
    try:
        return [dict(json.loads(line)) for line in log.read_text("utf-8").splitlines()]
    except (OSError, ValueError, TypeError):
        raise InputError(
            f"{log.name}: no log of evaluations; name the one that deid privacy site or serve wrote"
        ) from None


def leaderboard(log: Path) -> list[Standing]:
    """Return the latest scores of each submission, task by task, the best first.

    Raises:
        InputError: The log is not there, or a line of it is broken.
    """
    found: dict[tuple[str, str], Standing] = {}
    tries: Counter[tuple[str, str]] = Counter()
    try:
        for said in _lines(log):
            key = said.get("task", REDACTION), said["submission"]
            tries[key] += 1
            if "scores" in said:
                found[key] = Standing(*key, said["at"], 0, said["scores"])
        rows = [
            Standing(one.task, one.submission, one.at, tries[key], one.scores)
            for key, one in found.items()
        ]
        return sorted(rows, key=lambda row: (row.task != REDACTION, row.task, -row.f1))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{log.name}: no log of evaluations; name the one that deid privacy site or serve wrote"
        ) from None
