"""The first reading of a table: every column declared, every cell readable, ids as promised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deid_assets.config.tables import TableSettings
from deid_assets.tables.columns import Role, TablePlan, plan_of
from deid_assets.tables.counting import DayCounter, Hashes, IdCounter, hashes_of
from deid_assets.tables.dates import DateCells, Days, ZoneMemory, read_dates
from deid_assets.tables.faults import Faults, Mask
from deid_assets.tables.fhir_elements import fhir_plan
from deid_assets.tables.sources import TableRows, open_table

MOST_CHARS = 100
"""Longest cell of a column that is kept."""
_AGE = r"^[0-9]{1,3}(\.[0-9]+)?$"
_YEAR = r"^(18|19|20)[0-9]{2}(\.0)?$"
_DATED = r"^\s*([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4})"
"""Beginning of a text that is a date."""
_COMPACT = r"^(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])([0-9]{4}|[0-9]{6})?$"
"""A day, or a day and a time, without marks between them."""
_FEWEST_COMPACT = 5
"""So many cells, and nine in ten, have that form in a column of dates."""
_FEWEST_SAME = 10
"""Fewer patients than this may have one day by chance."""
_READABLE = (
    pa.types.is_string,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_boolean,
    pa.types.is_time,
    pa.types.is_null,
)
"""Kinds of cells that may be kept: those that are looked at, and those that hold no text."""
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class ParsedRows:
    """Some rows of a table, read.

    Args:
        first: Number of the first, from 1.
        cells: By column, as they were.
        texts: By column, of ids, ages and years of birth, as text.
        dates: By column, of dates.
    """

    first: int
    cells: pa.RecordBatch = field(repr=False)
    texts: dict[str, pa.Array] = field(repr=False)
    dates: dict[str, DateCells] = field(repr=False)


@dataclass(slots=True)
class TableReading:
    """A table that is being read.

    Args:
        plan: Of its columns.
        rows: Read so far.
        unread: Cells that are not what their column is declared as.
        out_of_range: Dates outside of those that the settings allow.
        free_text: Kept cells that look like free text, or like a date.
        source: Where the rows come from.
    """

    settings: TableSettings
    plan: TablePlan
    source: TableRows
    rows: int = 0
    unread: Faults = field(default_factory=Faults)
    out_of_range: Faults = field(default_factory=Faults)
    free_text: Faults = field(default_factory=Faults)
    _zones: dict[str, ZoneMemory] = field(default_factory=dict)

    def parse(self) -> Iterator[ParsedRows]:
        """Yield all rows; the faults are complete when the last was given."""
        for batch in self.source.batches():
            yield self._parse(batch)
            self.rows += batch.num_rows

    def _parse(self, batch: pa.RecordBatch) -> ParsedRows:
        first = self.rows + 1
        texts: dict[str, pa.Array] = {}
        dates: dict[str, DateCells] = {}
        for column in self.plan.columns:
            name, cells = column.name, batch.column(column.name)
            if column.role in (Role.PATIENT, Role.ID):
                texts[name] = id_texts(cells)
            elif column.role.is_date:
                memory = self._zones.setdefault(name, ZoneMemory())
                dates[name] = read_dates(cells, name, first, self.unread, memory)
                self._check_range(dates[name], name, first)
            elif column.role in (Role.AGE, Role.BIRTH_YEAR):
                texts[name] = id_texts(cells)
                self._check_number(texts[name], name, first, is_age=column.role is Role.AGE)
            elif column.role is Role.KEEP:
                self._check_kept(cells, name, first)
        nobody = _holds(pc.is_null(texts[self.plan.patient]))
        reason = "has no patient; give every row one, or leave it out"
        self.unread.add_where(nobody, first, self.plan.patient, reason)
        return ParsedRows(first, batch, texts, dates)

    def _check_range(self, dates: DateCells, name: str, first: int) -> None:
        last = self.settings.dates_to or datetime.now(tz=UTC).date()
        low, high = ((day - _EPOCH).days for day in (self.settings.dates_from, last))
        wrong = dates.present & ((dates.days < low) | (dates.days > high))
        reason = (
            "lies outside of dates_from and dates_to; a filler, such as 9999-12-31, would tell by"
            " how much the dates of its patient move: empty it, or widen the range"
        )
        self.out_of_range.add_where(wrong, first, name, reason)

    def _check_number(self, texts: pa.Array, name: str, first: int, *, is_age: bool) -> None:
        fits = pc.match_substring_regex(texts, _AGE if is_age else _YEAR)
        wrong = _holds(pc.invert(fits))
        what = "an age in years" if is_age else "a year of birth"
        reason = f"is not {what} in digits; write it so, or empty it"
        self.unread.add_where(wrong, first, name, reason)

    def _check_kept(self, cells: pa.Array, name: str, first: int) -> None:
        kind = cells.type
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            self.unread.add(0, name, "holds dates; declare it under dates or births, or drop it")
            return
        if not any(is_kind(kind) for is_kind in _READABLE):
            reason = "holds neither text nor numbers, but lists or bytes; drop it, or convert it"
            self.unread.add(0, name, reason)
            return
        self._check_compact_dates(cells, name)
        if not pa.types.is_string(kind):
            return
        long = pc.greater(pc.utf8_length(cells), MOST_CHARS)
        wide = pc.or_(long, pc.match_substring(cells, "\n"))
        reason = (
            f"looks like free text, with lines or over {MOST_CHARS} characters; declare it under"
            " drop, or under notes and let its text arrive as notes"
        )
        self.free_text.add_where(_holds(wide), first, name, reason)
        dated = pc.match_substring_regex(cells, _DATED)
        reason = "looks like a date; declare the column under dates or births, or drop it"
        self.free_text.add_where(_holds(dated), first, name, reason)

    def _check_compact_dates(self, cells: pa.Array, name: str) -> None:
        """Find a column of dates as 20210503: codes have this form now and then, and not all."""
        if not (pa.types.is_string(cells.type) or pa.types.is_integer(cells.type)):
            return
        given = pc.drop_null(cells.cast(pa.string()))
        dated = int(np.sum(_holds(pc.match_substring_regex(given, _COMPACT))))
        if dated >= _FEWEST_COMPACT and 10 * dated >= 9 * len(given):
            reason = "looks like dates as 20210503; write 2021-05-03 and declare it under dates"
            self.free_text.add(0, name, reason)


def _holds(found: pa.Array) -> Mask:
    return np.asarray(pc.fill_null(found, False).to_numpy(zero_copy_only=False), np.bool_)


def id_texts(cells: pa.Array) -> pa.Array:
    """Return ids as text without blanks around them, 7.0 as ``7``; empty ones as null."""
    kind = cells.type
    has_digits = pa.types.is_decimal(kind) and kind.scale == 0
    if not has_digits and (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        cells = cells.cast(pa.float64())
        is_exact = pc.less(pc.abs(cells), float(1 << 53))
        whole = pc.and_(pc.equal(cells, pc.floor(cells)), is_exact)
        digits = pc.if_else(whole, cells, None).cast(pa.int64()).cast(pa.string())
        return pc.coalesce(digits, cells.cast(pa.string()))
    texts = cells.cast(pa.string())
    if not pa.types.is_string(kind):
        return texts
    texts = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


class SameDays:
    """Looks for a day that many patients have: who knows it subtracts it from where it was moved.

    So do the day on which a table was written, and births on the first of January.

    Args:
        settings: Of the table.
        plan: Of its columns.
    """

    def __init__(self, settings: TableSettings, plan: TablePlan) -> None:
        self._share = settings.same_day
        self._patient = plan.patient
        dates, births = plan.of(Role.DATE, Role.BIRTH), plan.of(Role.BIRTH)
        self._days = {one.name: DayCounter() for one in dates}
        self._birthdays = {one.name: DayCounter() for one in births}

    def add(self, rows: ParsedRows) -> None:
        """Add the next rows."""
        if not self._days or self._share >= 1:
            return
        patients: Hashes = hashes_of(rows.texts[self._patient])
        for name, counter in self._days.items():
            found = rows.dates[name]
            days, whose = found.days[found.present], patients[found.present]
            counter.add(days, whose)
            if name in self._birthdays:
                self._birthdays[name].add(_birthdays(days), whose)

    def tell(self, faults: Faults) -> None:
        """Add a fault for each column with such a day."""
        for name, counter in self._days.items():
            found = [counter.commonest()]
            if name in self._birthdays:
                found.append(self._birthdays[name].commonest())
            for most, patients in found:
                if most >= _FEWEST_SAME and most > self._share * patients:
                    faults.add(0, name, _same_day(self._share))
                    break


def _birthdays(days: Days) -> Days:
    """Return month and day of days as one number."""
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    inside = (dates - months).astype(np.int64)
    return np.asarray(32 * (months.astype(np.int64) % 12) + inside, np.int64)


def _same_day(share: float) -> str:
    return (
        f"more than {share:.0%} of its patients have one day, or one birthday, such as that of an"
        " export or 1 January; who knows it learns by how much the others move: empty it, drop the"
        " column, or raise same_day"
    )


@dataclass(frozen=True, slots=True)
class TableCheck:
    """What the first reading of a table found.

    Args:
        plan: Of its columns.
        rows: How many.
        digest: SHA-256 of what was read.
        unread: See ``TableReading``.
        out_of_range: The same.
        free_text: The same.
        doubled: Ids that occur again.
        left_out: Values that do not leave, since they may be any text; no fault.
    """

    plan: TablePlan
    rows: int
    digest: str = field(repr=False)
    unread: Faults
    out_of_range: Faults
    free_text: Faults
    doubled: Faults
    left_out: Faults

    @property
    def faults(self) -> list[Faults]:
        """All of them."""
        return [self.unread, self.out_of_range, self.free_text, self.doubled]


def begin(settings: TableSettings, source: TableRows) -> TableReading:
    """Return a table that is read from its first row.

    Raises:
        InputError: A column has no role, or a declared one is not there.
    """
    plan = fhir_plan if settings.fhir else plan_of
    return TableReading(settings, plan(settings, source.names), source, unread=source.faults)


def check_table(settings: TableSettings) -> TableCheck:
    """Read a table once, row after row, and return what is wrong with it.

    Raises:
        InputError: It cannot be read, changed meanwhile, or a column has no role.
    """
    with open_table(settings) as source:
        reading = begin(settings, source)
        counters = {name: IdCounter() for name in reading.plan.unique}
        days = SameDays(settings, reading.plan)
        for rows in reading.parse():
            days.add(rows)
            for name, counter in counters.items():
                counter.add(rows.texts.get(name, rows.cells.column(name)))
    days.tell(reading.out_of_range)
    doubled = Faults()
    for name, counter in counters.items():
        doubled.add_rows(counter.again(), name, "has an id that an earlier row has; keep one row")
    return TableCheck(
        reading.plan,
        reading.rows,
        source.digest,
        reading.unread,
        reading.out_of_range,
        reading.free_text,
        doubled,
        source.left_out,
    )
