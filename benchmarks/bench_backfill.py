"""Seconds per batch of a backfill.

A process for each, as a backfill in Dagster's UI starts them, and one for all.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

from conditions import conditions

from deid_assets.config import Settings
from deid_assets.intake.landing import take_in
from deid_assets.quickstart.sample import write_sample

ASSETS = "raw_notes,gold_annotations,spans_rules"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--alone", type=int, default=6, help="batches that get a process each")
    parser.add_argument("--notes", type=int, default=8, help="of a batch")
    options = parser.parse_args()
    print(conditions())
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {
            "DEID_HOME": home,
            "DAGSTER_HOME": f"{home}/dagster",
            "DAGSTER_DISABLE_TELEMETRY": "1",
        }
        known = _batches(Settings.load(), options.batches + options.alone, options.notes)
        subprocess.run(
            [sys.executable, "-m", "deid_assets.backfill", "--batch", known[0], "raw_notes"],
            check=True,
        )
        started = _now()
        for batch in known[: options.alone]:
            _run(
                "dagster",
                "asset",
                "materialize",
                "-m",
                "deid_assets.definitions",
                "--partition",
                batch,
                "--select",
                ASSETS,
            )
        alone = _since(started, options.alone)
        started = _now()
        _run("deid_assets.backfill", *ASSETS.split(","))
        together = _since(started, options.batches)
    print(
        f"a process for each batch         {alone} a batch, {options.alone} batches of"
        f" {options.notes} notes"
    )
    print(f"one process, its start included  {together} a batch, {options.batches} batches")


def _now() -> tuple[float, float]:
    """Return the time, and the processor time of all processes that were started and have ended."""
    used = os.times()
    return time.perf_counter(), used.children_user + used.children_system


def _since(before: tuple[float, float], batches: int) -> str:
    wall_s, cpu_s = ((now - then) / batches for now, then in zip(_now(), before, strict=True))
    return f"{wall_s:6.2f} s, {cpu_s:6.2f} s of processor time,"


def _batches(settings: Settings, count: int, notes: int) -> list[str]:
    settings.landing.mkdir(parents=True)
    found: list[str] = []
    for seed in range(count):
        write_sample(settings.landing, notes=notes, seed=seed, langs=("en",))
        found += take_in(settings, settle_s=0)
    return found


def _run(module: str, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    print(done.stdout.splitlines()[-1:] if module.startswith("deid") else "", flush=True)


if __name__ == "__main__":
    main()
