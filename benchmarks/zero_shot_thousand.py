"""A masked language model over 1,000 notes of 500 words on two cores, every one of them run, as
Markdown.

python benchmarks/zero_shot_thousand.py --model FOLDER --rows FILE [--notes N] [--window N]
[--stages 1|2]
    [--set KEY=VALUE ...] [--seconds S]

Each worker has one core and takes every other note. What a note cost is written to ``FILE`` as soon
as it is done; a run that ``--seconds`` ended, or that was killed, is gone on with by the same
command. ``FOLDER`` is an export.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from conditions import conditions
from zero_shot_speed import WORDS, long_documents

from deid_zero_shot.commands import options_of
from deid_zero_shot.detector import ZeroShotDetector

SEED = 31
WORKERS = 2
THRESHOLD = 1e-5
"""Of no account for the cost of one stage; of two, it decides which words are doubtful."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, metavar="FOLDER")
    parser.add_argument(
        "--rows", type=Path, required=True, metavar="FILE", help="what each note cost, a line each"
    )
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--window", type=int, default=128)
    parser.add_argument("--stages", type=int, default=1)
    parser.add_argument("--precision", default="int8")
    parser.add_argument(
        "--set", action="append", metavar="KEY=VALUE", help="how words are scored, as allow=true"
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    options = parser.parse_args()
    done = {row["note"] for row in read(options.rows)}
    shares = [
        [number for number in range(first, options.notes, WORKERS) if number not in done]
        for first in range(WORKERS)
    ]
    with get_context("spawn").Pool(WORKERS) as pool:
        pool.starmap(work, [(share, options) for share in shares if share])
    print(conditions(str(SEED)), "\n")
    print(
        "| Notes | Words | Variants | Spans | CPU s a note | CPU minutes | Minutes, the slower"
        " worker |"
    )
    print("|--:|--:|--:|--:|--:|--:|--:|")
    print(summary(read(options.rows)))


def read(path: Path) -> Sequence[dict[str, Any]]:
    """Return the rows that were written whole."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.endswith("}")]


def work(share: Sequence[int], options: argparse.Namespace) -> None:
    """Detect in some of the notes and write a row of each."""
    until = time.monotonic() + options.seconds
    scoring = options_of(options.set).model_copy(
        update={"alone": options.stages > 1, "window": options.window}
    )
    detector = ZeroShotDetector(
        model=options.model,
        threshold=THRESHOLD,
        precision=options.precision,
        stages=options.stages,
        threads=1,
        **scoring.model_dump(),
    )
    wanted = iter(share)
    number = next(wanted)
    with options.rows.open("a", encoding="utf-8") as rows:
        for at, document in enumerate(islice(long_documents(SEED), options.notes)):
            if at < number:
                continue
            spent = detector.method.scorer.spent.variants
            began, wall = time.process_time(), time.monotonic()
            (spans,) = detector.detect([document.note])
            row = {
                "note": number,
                "worker": share[0] % WORKERS,
                "cpu": round(time.process_time() - began, 4),
                "wall": round(time.monotonic() - wall, 4),
                "variants": detector.method.scorer.spent.variants - spent,
                "spans": len(spans),
                "load": round(os.getloadavg()[0], 1),
            }
            rows.write(json.dumps(row) + "\n")
            rows.flush()
            if time.monotonic() > until or (number := next(wanted, -1)) < 0:
                return


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """Return the row of the table."""
    cpu = np.array([row["cpu"] for row in rows])
    walls = [
        sum(row["wall"] for row in rows if row["worker"] == worker) for worker in range(WORKERS)
    ]
    return (
        f"| {len(rows)} | {WORDS} | {sum(row['variants'] for row in rows) / len(rows):.0f} |"
        f" {sum(row['spans'] for row in rows) / len(rows):.0f} | {cpu.mean():.2f} (most"
        f" {cpu.max():.2f}) | {cpu.sum() / 60:.1f} | {max(walls) / 60:.1f} |\n\nLoad"
        f" {min(row['load'] for row in rows)} to {max(row['load'] for row in rows)}."
    )


if __name__ == "__main__":
    main()
