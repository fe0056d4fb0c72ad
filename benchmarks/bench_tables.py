"""Time and memory of a table that leaves with the notes: both readings of a CSV, and the writing.

    python benchmarks/bench_tables.py --rows 100000 1000000 10000000

Each size is a process of its own, which checks the table and rewrites it under a key as the assets
`table_NAME` and `released_table_NAME` do. Rows of patients without notes are left out; of the
others, the notes have a date each and no identifier that the table keeps.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from deid_assets.config.tables import TableSettings
from deid_assets.core.keys import Key, derive_released_id
from deid_assets.extending.serving import load_policy
from deid_assets.tables.acting import PolicyActions
from deid_assets.tables.checking import begin, check_table
from deid_assets.tables.rewriting import ReleasedNotes, TableRewriter
from deid_assets.tables.sources import open_table
from deid_assets.tables.writing import write_rows

PATIENTS = 100_000
OTHERS = 10_000
"""Patients of the table that have no notes."""
SEED = 2026
BLOCK_ROWS = 100_000
_FIRST_DAY, _DAYS = 15_000, 5_000
_WIDTHS = (8, 6, 8, 6)
TABLE = {
    "file": "labs.csv",
    "patient": "subject",
    "ids": {"row": "row", "visit": "visit"},
    "unique": ["row"],
    "dates": ["taken"],
    "births": ["born"],
    "quasi": ["sex", "ward"],
    "keep": ["code", "value", "unit"],
    "drop": ["name"],
}
POLICY = """\
name = "moved"
default = "tag"
[actions]
AGE = "age_90"
DATE = { action = "shift", max_days = 364 }
"""


def main() -> int:
    """Print a row for each size; return 0 if each table was released whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--folder", type=Path, help="where tables are written, and removed")
    parser.add_argument("--release", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.release:
        return _release()
    with TemporaryDirectory(dir=options.folder) as folder:
        os.chdir(folder)
        print(
            "|      rows | CSV, MB | check, s | of CPU | write, s | of CPU | peak, MB | released |"
        )
        print(
            "|----------:|--------:|---------:|-------:|---------:|-------:|---------:|---------:|"
        )
        return max(_measure(rows) for rows in options.rows)


def _measure(rows: int) -> int:
    write_table(Path("labs.csv"), rows)
    size = Path("labs.csv").stat().st_size / 1e6
    command = [sys.executable, str(Path(__file__)), "--release"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    seconds = " | ".join(
        f"{one:{width}.1f}" for one, width in zip(found["s"], _WIDTHS, strict=True)
    )
    print(
        f"| {rows:9} | {size:7.0f} | {seconds} | {found['mb']:8.0f} | {found['rows']:8} |",
        flush=True,
    )
    return int(not 0 < found["rows"] <= rows or found["faults"] > 0)


def _release() -> int:
    """Check the table of the working directory and rewrite it, and print what that took."""
    settings = TableSettings.model_validate(TABLE)
    Path("moved.toml").write_text(POLICY, encoding="utf-8")
    key, policy = Key(b"k" * 32), load_policy(Path("moved.toml"))
    patients = {derive_released_id(key, "patient", f"p{number}") for number in range(PATIENTS)}
    out = Path("released")
    out.mkdir()
    at = [_now()]
    checked = check_table(settings)
    at.append(_now())
    with open_table(settings) as source:
        rewriter = TableRewriter(
            begin(settings, source),
            PolicyActions.of(policy, key),
            lambda kind, value: derive_released_id(key, kind, value),
            ReleasedNotes(patients, set()),
        )
        rows = write_rows(rewriter.batches(), out / "labs.csv", seed=1, rows=checked.rows)
    at.append(_now())
    seconds = [after[n] - before[n] for before, after in pairwise(at) for n in (0, 1)]
    used = resource.getrusage(resource.RUSAGE_SELF)
    faults = sum(one.count for one in checked.faults) + rewriter.counts.surviving.count
    found = {"s": seconds, "mb": _megabytes(used), "rows": rows, "faults": faults}
    print(json.dumps(found))
    (out / "labs.csv").unlink()
    out.rmdir()
    return 0


def _now() -> tuple[float, float]:
    return time.monotonic(), time.process_time()


def write_table(path: Path, rows: int) -> None:
    """Write a table of laboratory values, a block at a time."""
    drawn = np.random.default_rng(SEED)
    writer = None
    for first in range(0, rows, BLOCK_ROWS):
        block = _block(drawn, first, min(BLOCK_ROWS, rows - first))
        writer = writer or pa_csv.CSVWriter(path, block.schema)
        writer.write_batch(block)
    if writer is not None:
        writer.close()


def _block(drawn: np.random.Generator, first: int, rows: int) -> pa.RecordBatch:
    patients = drawn.integers(PATIENTS + OTHERS, size=rows)
    days = drawn.integers(_FIRST_DAY, _FIRST_DAY + _DAYS, size=rows)
    minutes = days * 1440 + drawn.integers(1440, size=rows)
    taken = pc.strftime(pa.array(minutes * 60, pa.timestamp("s")), format="%Y-%m-%d %H:%M:%S")
    born = pa.array((patients * 7 - 10_000).astype(np.int32), pa.date32()).cast(pa.string())
    columns = {
        "row": pa.array(np.arange(first, first + rows) + 10**9),
        "subject": _prefix("p", patients),
        "visit": pa.array(patients * 50 + drawn.integers(50, size=rows) + 10**7),
        "taken": taken,
        "born": born,
        "sex": pa.array(np.where(patients % 2 == 0, "F", "M")),
        "ward": _prefix("W", patients % 9),
        "code": _prefix("L", drawn.integers(300, size=rows)),
        "value": pa.array(drawn.integers(1, 5_000, size=rows) / 10),
        "unit": pa.array(np.where(patients % 3 == 0, "mmol/l", "mg/dl")),
        "name": _prefix("Ann ", patients),
    }
    return pa.RecordBatch.from_pydict(columns)


def _prefix(prefix: str, numbers: np.ndarray) -> pa.Array:
    return pc.binary_join_element_wise(prefix, pa.array(numbers).cast(pa.string()), "")


def _megabytes(used: resource.struct_rusage) -> float:
    return used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


if __name__ == "__main__":
    raise SystemExit(main())
