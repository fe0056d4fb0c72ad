"""FHIR resources of one type, a line each (NDJSON), read as a table and written from one."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import pyarrow as pa

from deid_assets.config.tables import TableSettings
from deid_assets.core.errors import InputError
from deid_assets.system import strict_json
from deid_assets.tables.faults import Faults
from deid_assets.tables.fhir_elements import (
    ElementError,
    Roles,
    Value,
    resource_of,
    role_at,
    roles_of,
    values_of,
)
from deid_assets.tables.fhir_values import ValueRule, rules_of

SUFFIX = ".ndjson"
LINE_ROWS = 10_000
MOST_PATHS = 400
MOST_LINE_BYTES = 4 << 20
_OFFSET = re.compile(r"Z|(?P<sign>[+-])(?P<hours>[0-9]{2}):(?P<minutes>[0-9]{2})")
_SUMMER_MINUTES = 60
_KINDS = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
_LARGEST = 1 << 63


@dataclass(slots=True)
class ResourceLines:
    """The resources of a file, read twice: once for the paths that they have, once for values.

    Args:
        settings: Of the table.
        faults: Gets a line for each resource that cannot be read, once.
        left_out: Gets one for each value that is left out, since it may be any text.
        kinds: Path to the kind of its values.
    """

    settings: TableSettings
    faults: Faults
    left_out: Faults = field(default_factory=Faults)
    kinds: dict[str, pa.DataType] = field(default_factory=dict)
    _offsets: dict[str, tuple[int, int]] = field(default_factory=dict)

    def scan(self, file: BinaryIO) -> None:
        """Find the paths that resources have.

        Raises:
            InputError: They are of another type than the settings say, or have too many paths.
        """
        roles = roles_of(self.settings)
        for _, row in self._rows(file, roles, Faults()):
            if row.get("resourceType") != self.settings.fhir:
                raise InputError(
                    f"it has a resource that is no {self.settings.fhir}; export each type into a"
                    " file of its own, and name it under fhir"
                )
            for path, value in row.items():
                self._note(path, value)
        if not self.kinds:
            raise InputError("it has no resources; export it again")

    def _note(self, path: str, value: Value) -> None:
        kind, known = _KINDS[type(value)], self.kinds.get(path)
        if known is None or (pa.types.is_integer(known) and pa.types.is_floating(kind)):
            self.kinds[path] = kind
        if len(self.kinds) > MOST_PATHS:
            raise InputError(f"it has over {MOST_PATHS} different elements; drop some of them")

    def batches(self, file: BinaryIO) -> Iterator[pa.RecordBatch]:
        """Yield the resources as rows; those that cannot be read are faults, and rows without."""
        roles = roles_of(self.settings)
        dates = {
            path
            for path in self.kinds
            if (role := role_at(path, roles)) is not None and role.role.is_date
        }
        rules = rules_of(self.settings, roles, self.kinds)
        held: list[dict[str, Value]] = []
        for number, row in self._rows(file, roles, self.faults):
            for path in dates & row.keys():
                row[path] = self._local(path, row[path], number)
            self._check_values(row, rules, number)
            held.append(self._fitting(row, number))
            if len(held) == LINE_ROWS:
                yield self._batch(held)
                held = []
        yield self._batch(held)

    def _rows(
        self, file: BinaryIO, roles: Roles, faults: Faults
    ) -> Iterator[tuple[int, dict[str, Value]]]:
        number = 0
        while line := file.readline(MOST_LINE_BYTES):
            if not line.strip():
                continue
            number += 1
            try:
                if len(line) == MOST_LINE_BYTES:
                    raise InputError(
                        f"row {number:,} is longer than {MOST_LINE_BYTES >> 20} MiB; drop what is"
                        " attached to it at its source"
                    )
                yield number, _check(dict(values_of(strict_json.loads(line), roles)))
            except ElementError as error:
                faults.add(number, "", str(error))
                yield number, {"resourceType": self.settings.fhir}
            except ValueError:
                faults.add(number, "", "is no JSON in UTF-8; export it again")
                yield number, {"resourceType": self.settings.fhir}

    def _local(self, path: str, value: Value, number: int) -> Value:
        """Return a date without its distance from UTC: that of summer would tell the season.

        A time of day stays as it was on the clock, so that days are those of the notes.
        """
        found = _OFFSET.search(value, 10) if isinstance(value, str) else None
        if found is None or not isinstance(value, str):
            return value
        minutes = 60 * int(found["hours"] or 0) + int(found["minutes"] or 0)
        minutes = -minutes if found["sign"] == "-" else minutes
        low, high = self._offsets.get(path, (minutes, minutes))
        low, high = min(low, minutes), max(high, minutes)
        if high - low > _SUMMER_MINUTES:
            self.faults.add(
                number, path, "is hours from the time zone of earlier ones; write all in one"
            )
            return f"{value[: found.start()]}Z"
        self._offsets[path] = (low, high)
        return f"{value[: found.start()]}Z"

    def _check_values(
        self, row: dict[str, Value], rules: Mapping[str, ValueRule], number: int
    ) -> None:
        """Hold what nobody declared against what may stand there."""
        for path in rules.keys() & row.keys():
            rule, value = rules[path], row[path]
            if rule.allows(value):
                continue
            (self.left_out if rule.is_left_out else self.faults).add(number, path, rule.reason)
            if rule.is_left_out or _KINDS[type(value)] != self.kinds.get(path):
                del row[path]

    def _fitting(self, row: dict[str, Value], number: int) -> dict[str, Value]:
        """Return a row whose values are of the kinds of their columns."""
        for path, value in [*row.items()]:
            kind = self.kinds.get(path)
            if kind is None:
                raise InputError("it changed while it was read; read it again when nothing writes")
            if pa.types.is_floating(kind) and type(value) is int:
                row[path] = float(value)
            elif _KINDS[type(value)] != kind:
                self.faults.add(number, path, "is of another JSON type than before; write it alike")
                del row[path]
        return row

    def _batch(self, rows: list[dict[str, Value]]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist(rows, schema=pa.schema(self.kinds.items()))


def _check(row: dict[str, Value]) -> dict[str, Value]:
    if any(type(value) is int and abs(value) >= _LARGEST for value in row.values()):
        raise ElementError("has a number of over 18 digits; drop the element")
    if any(type(value) is float and not math.isfinite(value) for value in row.values()):
        raise ElementError("has a number that is too large; drop the element")
    return row


class ResourceWriter:
    """Writes rows of paths and values as resources, a line each.

    Args:
        path: Of the file.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self._file.close()

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        for row in batch.to_pylist():
            resource: Mapping[str, Any] = resource_of(row)
            self._file.write(json.dumps(resource, ensure_ascii=False) + "\n")
