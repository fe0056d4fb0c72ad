"""Writing the rows of a released table to one file, in an order that follows from the key."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from deid_assets.tables.fhir_lines import SUFFIX, ResourceWriter
from deid_assets.tables.sources import BATCH_ROWS

_HELD_ROWS = 250_000
"""Rows that are put in order in memory at a time."""


def write_rows(
    batches: Iterable[pa.RecordBatch], path: Path, *, seed: int | None, rows: int
) -> int:
    """Write a table to a file of CSV, Parquet or NDJSON, as its name ends, and return its rows.

    Args:
        batches: Of the table, one or more, some may be empty.
        path: Of the file, in a folder of its own.
        seed: What the order follows from; that of the source where there is none.
        rows: How many at most.
    """
    if seed is not None:
        batches = _shuffle_rows(batches, path.parent / "order", seed, rows)
    written = 0
    with ExitStack() as stack:
        writer: Any = None
        for batch in batches:
            if writer is None:
                writer = stack.enter_context(_writer(path, batch.schema))
            writer.write_batch(batch)
            written += batch.num_rows
    return written


def _writer(path: Path, schema: pa.Schema) -> Any:
    if path.suffix == ".csv":
        return pa_csv.CSVWriter(path, schema)
    if path.suffix == SUFFIX:
        return ResourceWriter(path)
    return pq.ParquetWriter(path, schema, compression="zstd")


def _shuffle_rows(
    batches: Iterable[pa.RecordBatch], folder: Path, seed: int, rows: int
) -> Iterator[pa.RecordBatch]:
    """Yield the rows in an order that follows from a seed alone: each is drawn into one of several
    files, and each file put in order in memory.
    """
    drawn = np.random.default_rng(seed)
    count = 1 + rows // _HELD_ROWS
    folder.mkdir(mode=0o700)
    paths = [folder / f"{at}.arrow" for at in range(count)]
    schema = None
    with ExitStack() as stack:
        writers: list[Any] = []
        for batch in batches:
            if schema is None:
                schema = batch.schema
                writers = [
                    stack.enter_context(closing(pa.ipc.new_file(path, schema))) for path in paths
                ]
            places = drawn.integers(count, size=batch.num_rows)
            for at, writer in enumerate(writers):
                writer.write_batch(batch.filter(pa.array(places == at)))
    for path in paths if schema is not None else ():
        with pa.ipc.open_file(path) as reader:
            table = reader.read_all()
        yield from _order(table, drawn)
        path.unlink()
    shutil.rmtree(folder)


def _order(table: pa.Table, drawn: np.random.Generator) -> Iterator[pa.RecordBatch]:
    order = drawn.permutation(table.num_rows)
    taken = table.take(pa.array(order))
    yield from taken.combine_chunks().to_batches(max_chunksize=BATCH_ROWS)
    if not table.num_rows:
        yield pa.RecordBatch.from_pylist([], schema=table.schema)
