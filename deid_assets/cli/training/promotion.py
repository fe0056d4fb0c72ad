"""Inputs and outputs of ``deid retrain``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deid_assets.cli.endings import say
from deid_assets.cli.tables import print_json, print_table
from deid_assets.evaluation.counts import Counts
from deid_assets.training import read_card, read_corpus
from deid_assets.training.promotion import BEFORE, CANDIDATE, Round, retrain
from deid_assets.training.run import Progress

ROUNDS = ".rounds.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionOptions:
    """Options of the command.

    Args:
        model: In use.
        gold: New annotated notes.
        others: Corpora beside; those that the model's recipe names where there are none.
        test: Notes that judge.
        held_out: Share of the patients of the gold that judges where no test notes are given.
        labels: Label map; the recipe's where not given.
    """

    model: Path
    gold: Sequence[str]
    others: Sequence[str] | None
    test: str | None
    held_out: float
    labels: str | None = None


def run_round(wanted: PromotionOptions, progress: Progress, *, as_json: bool) -> int:
    """Retrain, replace the model if the new one is better, note the round beside it and say so.

    Raises:
        InputError: The model or a corpus cannot be read, or a judging note was seen.
    """
    model = wanted.model
    recipe = read_card(model, verify=True).recipe
    labels = wanted.labels or str(recipe["label_map"])
    named = recipe["corpora"] if wanted.others is None else wanted.others
    done = retrain(
        model,
        {source: read_corpus(source, labels=labels) for source in wanted.gold},
        others={
            source: read_corpus(source, labels=labels)
            for source in named
            if source not in wanted.gold
        },
        test=read_corpus(wanted.test, labels=labels) if wanted.test else None,
        held_out=wanted.held_out,
        progress=progress,
    )
    found = done.to_json()
    _note(model, found)
    if as_json:
        print_json(found)
        return 0
    _show(model, done)
    return 0


def _note(model: Path, found: dict[str, Any]) -> None:
    rounds = model.with_name(model.name + ROUNDS)
    with rounds.open("a", encoding="utf-8") as file:
        file.write(
            json.dumps({"at": datetime.now(UTC).isoformat(timespec="seconds"), **found}) + "\n"
        )
    rounds.chmod(0o600)


def _show(model: Path, done: Round) -> None:
    gap = done.difference
    shown = (
        f"{gap.value:+.4f} ({gap.low:+.4f} to {gap.high:+.4f}), p {gap.p:.3f}"
        if gap
        else "not defined"
    )
    rows = [_row("in use", done.in_use, ""), _row("new", done.candidate, shown)]
    print_table(("model", "annotated", "P", "R", "F1", "difference"), rows, numbers_from=1)
    say(
        f"strict F1 on {done.notes:,} notes of {done.units:,} {done.unit}s that neither has seen,"
        f" with 95 % of a paired bootstrap over {done.unit}s"
    )
    if done.is_better:
        say(f"promoted: {model} is the new model; the one before is kept as {model}{BEFORE}")
    else:
        say(
            f"not promoted: the interval is not above zero; {model} stays, and the new one lies in"
            f" {model}{CANDIDATE}"
        )


def _row(name: str, counts: Counts, gap: str) -> tuple[str, ...]:
    ratios = (counts.precision, counts.recall, counts.f1)
    return (
        name,
        f"{counts.gold:,}",
        *("-" if value is None else f"{value:.4f}" for value in ratios),
        gap,
    )
