"""The whole graph on MTSamples or another file: wall time, memory, and what Dagster itself costs.

DEID_CORPORA=<folder with raw/mtsamples/notes.jsonl> python benchmarks/bench_graph.py [--notes FILE
| --dense N]
    [--untrained] [--timeline FILE]
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
from collections.abc import Mapping
from pathlib import Path

from conditions import conditions

from deid_assets.quickstart.sample import note_line
from deid_synthesis import make_corpus

SEED = 5
SETTINGS = """\
[release]
require = "none"   # MTSamples is not annotated
"""
DRIVER = """
import time
started = time.perf_counter()
from deid_assets.quickstart import command as quickstart
import deid_assets.definitions
print(f"imports             {time.perf_counter() - started:6.1f} s")
from deid_assets.defs.runs import Graph
make, spent = Graph._make, []
def timed(*args, **options):
    began = time.perf_counter()
    try:
        return make(*args, **options)
    finally:
        spent.append(time.perf_counter() - began)
Graph._make = timed
code = quickstart.main(%r)
print(f"runs {sum(spent):.2f}")
raise SystemExit(code)
"""
DRIVER_AGAIN = """
import sys
from deid_assets.defs import audit
log_line = audit.log_line
def told(context, line):
    with open("told.txt", "a", encoding="utf-8") as file:
        file.write(line + "\\n")
    log_line(context, line)
audit.log_line = told
from deid_assets.backfill import command
raise SystemExit(command.main(["--again"]))
"""


def main() -> None:
    options = _options()
    notes = (
        options.notes
        or Path(os.environ.get("DEID_CORPORA", "")) / "raw" / "mtsamples" / "notes.jsonl"
    )
    if not notes.is_file() and not options.dense:
        print(
            "graph: skipped; set DEID_CORPORA to a folder with raw/mtsamples/notes.jsonl, or give"
            " --notes"
        )
        return
    print(conditions(str(SEED) if options.dense else "none"))
    with tempfile.TemporaryDirectory() as home:
        if options.dense:
            notes = _dense_notes(Path(home, "dense.jsonl"), options.dense)
        recipes = "recipes = []\n" if options.untrained else ""
        Path(home, "deid.toml").write_text(recipes + SETTINGS, encoding="utf-8")
        peak = _measure(Path(home), notes, options.timeline)
    print(f"peak memory         {peak:6.0f} MB, all processes together, shared pages counted once")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--notes", type=Path, help="notes file; MTSamples under DEID_CORPORA when not given"
    )
    parser.add_argument(
        "--untrained",
        action="store_true",
        help="without the tagger, whose training is always the same",
    )
    parser.add_argument(
        "--dense",
        type=int,
        help="so many annotated synthetic English notes, in one file, instead",
    )
    parser.add_argument(
        "--timeline",
        type=Path,
        help="CSV file for the memory in MB every second, in all and of each process",
    )
    return parser.parse_args()


def _dense_notes(path: Path, count: int) -> Path:
    """Write synthetic notes with gold into one file."""
    with path.open("w", encoding="utf-8") as out:
        out.writelines(note_line(*made) for made in make_corpus(lang="en", notes=count, seed=SEED))
    print(f"one file of {count:,} dense notes, {path.stat().st_size / 1e6:.0f} MB")
    return path


def _measure(home: Path, notes: Path, timeline: Path | None) -> float:
    """Run the graph twice in an installation, print its seconds and return its memory in MB."""
    environment = {
        **os.environ,
        "DEID_HOME": str(home),
        "DEID_CONFIG": f"{home}/deid.toml",
        "DAGSTER_HOME": f"{home}/dagster",
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }
    started = time.perf_counter()
    run = [sys.executable, "-c", DRIVER % (["--notes", str(notes)],)]
    log = home / "output.txt"
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(run, env=environment, stdout=output, stderr=subprocess.STDOUT)
        peak = watch(process, timeline)
    stdout = log.read_text(encoding="utf-8")
    wall = time.perf_counter() - started
    print(stdout)
    _show_seconds(home, stdout, wall)
    again = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "deid_assets.quickstart"],
        env=environment,
        capture_output=True,
        check=False,
    )
    print(f"second run          {time.perf_counter() - again:6.1f} s, nothing to do")
    _make_again(home, environment)
    return peak


def _make_again(home: Path, environment: Mapping[str, str]) -> None:
    """Make every asset of the batches again, of which nothing changed, and print the seconds and
    what detectors read.
    """
    again = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", DRIVER_AGAIN],
        env=dict(environment),
        cwd=home,
        capture_output=True,
        check=False,
    )
    print(f"all made again      {time.perf_counter() - again:6.1f} s, exit code {done.returncode}")
    told = (home / "told.txt").read_text(encoding="utf-8").splitlines()
    print(*(f"  {line}" for line in told), sep="\n")


def _show_seconds(home: Path, stdout: str, wall: float) -> None:
    """Print where the seconds of a run went."""
    spent, rows = _asset_seconds(home / "deid.sqlite")
    for asset, seconds, partitions in rows:
        print(f"  {asset:30} {seconds:6.1f} s, {partitions} partitions")
    runs = float(re.findall(r"^runs (.+)$", stdout, re.MULTILINE)[-1])
    print(f"assets              {spent:6.1f} s")
    print(
        f"Dagster in the runs {runs - spent:6.1f} s, {(runs - spent) / wall:.1%} of the wall time"
    )
    print(f"start and instance  {wall - runs:6.1f} s")
    print(f"wall                {wall:6.1f} s")
    print(f"processor           {time_children():6.1f} s, of all processes")


def watch(process: subprocess.Popen[bytes], timeline: Path | None = None) -> float:
    """Return the largest proportional set size of a process and its children, in MB.

    0 where /proc is missing.
    """
    peak, started, written = 0.0, time.perf_counter(), -1.0
    while process.poll() is None:
        each = [_pss_mb(pid) for pid in _tree(process.pid)]
        peak = max(peak, sum(each))
        seconds = time.perf_counter() - started
        if timeline and seconds - written >= 1:
            written = seconds
            with timeline.open("a", encoding="ascii") as file:
                file.write(",".join(f"{value:.0f}" for value in (seconds, sum(each), *each)) + "\n")
        time.sleep(0.2)
    return peak


def _tree(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        children = []
    return [pid, *(found for child in children for found in _tree(int(child)))]


def _pss_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def time_children() -> float:
    """Return the processor time of every process that was waited for, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _asset_seconds(database: Path) -> tuple[float, list[tuple[str, float, int]]]:
    with sqlite3.connect(database) as connection:
        rows = connection.execute(
            "select asset, sum(seconds), count(*) from deid_runs group by asset order by min(id)"
        ).fetchall()
    return sum(seconds for _, seconds, _ in rows), rows


if __name__ == "__main__":
    main()
