"""Released tables that hold a leaked value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from deid_assets.config import Settings
from deid_assets.core.assets import ReleaseAssets
from deid_assets.core.errors import DeidError
from deid_assets.intake.table_releases import list_released_tables, table_releases_of, tables_folder
from deid_assets.intake.withdrawal import list_known_studies
from deid_assets.pipeline.leaks import LeakedValues
from deid_assets.store.files import StoreFiles
from deid_assets.store.publishing import ReleaseFolders
from deid_assets.store.table_withdrawals import TableWithdrawals

_LINES = 10_000


@dataclass(frozen=True, slots=True)
class LeakedTable:
    """A released table that holds one of the values, or could not be read.

    Args:
        table: Its name.
        study: Whose release it is; empty for the installation's own.
        cells: How many hold one.
        fault: Why it could not be read, if it could not.
    """

    table: str
    study: str
    cells: int = 0
    fault: str = ""


def tables_with(settings: Settings, files: StoreFiles, leaked: LeakedValues) -> list[LeakedTable]:
    """Return the released tables, those of studies too, that hold a value or cannot be read.

    Raises:
        ProvenanceError: A list of released tables was altered.
    """
    found: list[LeakedTable] = []
    for study in ("", *list_known_studies(settings)):
        if not tables_folder(settings, study).is_dir():
            continue
        releases = table_releases_of(settings, files, study)
        for name in list_released_tables(releases):
            try:
                cells = _cells_with(releases, name, leaked)
            except (DeidError, OSError, pa.ArrowException) as error:
                reason = str(error) if isinstance(error, DeidError) else "it cannot be read"
                found.append(LeakedTable(name, study, fault=reason))
                continue
            if cells:
                found.append(LeakedTable(name, study, cells))
    return found


def withdraw_table(settings: Settings, files: StoreFiles, table: str, study: str = "") -> None:
    """Take a released table back, until somebody brings it back.

    Raises:
        ProvenanceError: The list of released tables was altered; it is withdrawn all the same.
    """
    withdrawals = TableWithdrawals(files, ReleaseAssets(study))
    releases = table_releases_of(settings, files, study)
    releases.withdraw(record=lambda: withdrawals.record(table, {}))
    files.discard(ReleaseAssets(study).name_released_table(table), "all")


def _cells_with(releases: ReleaseFolders, name: str, leaked: LeakedValues) -> int:
    is_in = lru_cache(maxsize=1 << 17)(leaked.is_in)
    return sum(
        is_in(cell)
        for file in releases.check_folder(name)["files"]
        for batch in _batches(releases.root / name / file)
        for column in batch.columns
        if not pa.types.is_nested(column.type)
        for cell in column.cast(pa.string()).to_pylist()
        if cell is not None
    )


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    if path.suffix == ".csv":
        parse = pa_csv.ParseOptions(newlines_in_values=True)
        with pa_csv.open_csv(path, parse_options=parse) as reader:
            names = reader.schema.names
        convert = pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
        with pa_csv.open_csv(path, parse_options=parse, convert_options=convert) as reader:
            yield from reader
        return
    if path.suffix == ".ndjson":
        yield from _resources(path)
        return
    with pq.ParquetFile(path) as file:
        yield from file.iter_batches()


def _resources(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the values of FHIR resources, some lines at a time, in one column."""
    with path.open(encoding="utf-8") as file:
        while lines := [*islice(file, _LINES)]:
            values = [value for line in lines for value in _values(json.loads(line))]
            yield pa.RecordBatch.from_pydict({"value": pa.array(values, pa.string())})


def _values(element: Any) -> Iterator[str]:
    if isinstance(element, dict | list):
        inner = element.values() if isinstance(element, dict) else element
        for one in inner:
            yield from _values(one)
    else:
        yield str(element)
