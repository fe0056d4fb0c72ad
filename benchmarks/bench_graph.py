"""The whole graph on MTSamples: wall time, memory, and what Dagster itself costs.

DEID_CORPORA=<folder with raw/mtsamples/notes.jsonl> python benchmarks/bench_graph.py [--line-up rules]
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from conditions import conditions

DRIVER = """
import time
started = time.perf_counter()
from deid_assets import quickstart
import deid_assets.definitions
print(f"imports             {time.perf_counter() - started:6.1f} s")
make, spent = quickstart._make, []
def timed(*args, **options):
    began = time.perf_counter()
    try:
        return make(*args, **options)
    finally:
        spent.append(time.perf_counter() - began)
quickstart._make = timed
code = quickstart.main(%r)
print(f"runs {sum(spent):.2f}")
raise SystemExit(code)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=Path, help="notes file; MTSamples under DEID_CORPORA when not given")
    options = parser.parse_args()
    notes = options.notes or Path(os.environ.get("DEID_CORPORA", "")) / "raw" / "mtsamples" / "notes.jsonl"
    if not notes.is_file():
        print("graph: skipped; set DEID_CORPORA to a folder with raw/mtsamples/notes.jsonl, or give --notes")
        return
    print(conditions())
    with tempfile.TemporaryDirectory() as home:
        environment = {
            **os.environ,
            "DEID_HOME": home,
            "DAGSTER_HOME": f"{home}/dagster",
            "DAGSTER_DISABLE_TELEMETRY": "1",
        }
        arguments = ["--notes", str(notes)]
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", DRIVER % (arguments,)], env=environment, capture_output=True, text=True, check=False
        )
        wall = time.perf_counter() - started
        print(done.stdout)
        if done.returncode:
            print(done.stderr[-2_000:])
        spent, rows = _asset_seconds(Path(home) / "deid.sqlite")
        for asset, seconds in rows:
            print(f"  {asset:30} {seconds:6.1f} s")
        runs = float(re.findall(r"^runs (.+)$", done.stdout, re.MULTILINE)[-1])
        print(f"assets              {spent:6.1f} s")
        print(f"Dagster in the runs {runs - spent:6.1f} s, {(runs - spent) / wall:.1%} of the wall time")
        print(f"start and instance  {wall - runs:6.1f} s")
        print(f"wall                {wall:6.1f} s")
        again = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "deid_assets.quickstart"], env=environment, capture_output=True, check=False
        )
        print(f"second run          {time.perf_counter() - again:6.1f} s, nothing to do")
    # The largest single child: the main process or a detector's worker.
    print(
        f"peak memory         {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:6.0f} MB, largest process"
    )


def _asset_seconds(database: Path) -> tuple[float, list[tuple[str, float]]]:
    with sqlite3.connect(database) as connection:
        rows = connection.execute("select asset, seconds from deid_runs order by id").fetchall()
    return sum(seconds for _, seconds in rows), rows


if __name__ == "__main__":
    main()
