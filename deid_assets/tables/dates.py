"""Dates of a column: read whatever their type, and written back as they came."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deid_assets.tables.faults import Faults, Mask

Days = npt.NDArray[np.int64]
"""Days since 1970-01-01, one a row; 0 where there is none."""

_ISO = (
    r"^(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?P<time>(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?)?)"
    r"(?P<zone>(?: ?(?:Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?))?)$"
)
_DAY_UNITS = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_UNREAD = "no date in ISO 8601, such as 2021-05-03 or 2021-05-03T10:30; write it so"
_ZONES = (
    "another time zone than the first date of the column, or one where that has none; write all in"
    " one"
)


@dataclass(slots=True)
class ZoneMemory:
    """The time zone of a column, as its first date has it.

    Args:
        zone: As written; ``None`` before the first date with a time.
    """

    zone: str | None = None


@dataclass(frozen=True, slots=True)
class DateCells:
    """The dates of some rows of a column.

    Args:
        cells: As they were.
        days: Their days.
        present: Where there is a date that was read.
        time: What follows the day in a text; of texts alone.
    """

    cells: pa.Array = field(repr=False)
    days: Days = field(repr=False)
    present: Mask = field(repr=False)
    time: pa.Array | None = field(default=None, repr=False)

    def move(self, offsets: Days, keep: Mask) -> pa.Array:
        """Return the cells with each day moved, times of day as they were.

        Args:
            offsets: Days, one a row.
            keep: Rows whose date is written; the others are empty.
        """
        shown = self.present & keep
        kind = self.cells.type
        if pa.types.is_timestamp(kind):
            ticks = _ticks(self.cells) + offsets * _DAY_UNITS[kind.unit]
            return pa.array(ticks, pa.int64(), mask=~shown).cast(kind)
        moved = pa.array((self.days + offsets).astype(np.int32), pa.int32(), mask=~shown)
        dates = moved.cast(pa.date32())
        if self.time is None:
            return dates if pa.types.is_date32(kind) else dates.cast(kind)
        return pc.binary_join_element_wise(dates.cast(pa.string()), self.time, "")

    def texts(self) -> list[str | None]:
        """Return each day as 2021-05-03, without its time."""
        days = pa.array(self.days.astype(np.int32), pa.int32(), mask=~self.present)
        found: list[str | None] = days.cast(pa.date32()).cast(pa.string()).to_pylist()
        return found


def read_dates(
    cells: pa.Array, name: str, first: int, faults: Faults, memory: ZoneMemory
) -> DateCells:
    """Read the dates of some rows.

    Args:
        cells: Of the column.
        name: Of the column.
        first: Number of the first row.
        faults: Gets a line for each cell that is no date, or is in another time zone.
        memory: Of the column.
    """
    kind = cells.type
    if pa.types.is_null(kind):
        cells, kind = cells.cast(pa.date32()), pa.date32()
    if pa.types.is_string(kind):
        return _read_texts(cells, name, first, faults, memory)
    present = _mask(pc.is_valid(cells))
    if pa.types.is_date(kind):
        days = pc.fill_null(cells.cast(pa.date32()).cast(pa.int32()), 0)
        return DateCells(cells, _numbers(days), present)
    if pa.types.is_timestamp(kind):
        days = _ticks(cells) // _DAY_UNITS[kind.unit]
        return DateCells(cells, days, present)
    faults.add(0, name, "has neither dates nor text; declare it otherwise, or convert it")
    empty = np.zeros(len(cells), np.int64)
    return DateCells(pa.nulls(len(cells), pa.date32()), empty, empty.astype(bool))


def _read_texts(
    cells: pa.Array, name: str, first: int, faults: Faults, memory: ZoneMemory
) -> DateCells:
    parts = pc.extract_regex(cells, _ISO)
    has_form = _mask(pc.is_valid(parts))
    day = pc.struct_field(parts, "day")
    days, is_day = _days_of(day)
    present = has_form & is_day
    unread = _mask(pc.is_valid(cells)) & ~present
    faults.add_where(unread, first, name, _UNREAD)
    time, zone = pc.struct_field(parts, "time"), pc.struct_field(parts, "zone")
    timed = present & _mask(pc.fill_null(pc.not_equal(time, ""), False))
    other = _in_another_zone(zone, timed, memory)
    faults.add_where(other, first, name, _ZONES)
    rest = pc.binary_join_element_wise(pc.fill_null(time, ""), pc.fill_null(zone, ""), "")
    return DateCells(cells, days, present, rest)


def _days_of(texts: pa.Array) -> tuple[Days, Mask]:
    """Return the days of texts of the form 2021-05-03, and which are in the calendar."""
    try:
        days = texts.cast(pa.date32())
    except pa.ArrowInvalid:
        values = [_day_of(text) for text in texts.to_pylist()]
        days = pa.array(values, pa.date32())
    return _numbers(pc.fill_null(days.cast(pa.int32()), 0)), _mask(pc.is_valid(days))


def _day_of(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        return None


def _in_another_zone(zone: pa.Array, timed: Mask, memory: ZoneMemory) -> Mask:
    """Return which times are not in the zone of the first of the column; a day alone has none."""
    rows = np.flatnonzero(timed)
    if not rows.size:
        return timed
    zones = pc.utf8_trim_whitespace(pc.fill_null(zone, ""))
    if memory.zone is None:
        memory.zone = zones[int(rows[0])].as_py()
    return timed & _mask(pc.not_equal(zones, memory.zone))


def _ticks(cells: pa.Array) -> Days:
    return _numbers(pc.fill_null(cells.cast(pa.int64()), 0))


def _numbers(cells: pa.Array) -> Days:
    return np.asarray(cells.to_numpy(zero_copy_only=False), np.int64)


def _mask(cells: pa.Array) -> Mask:
    return np.asarray(cells.to_numpy(zero_copy_only=False), np.bool_)
