"""The second reading of a table: rows of the release's patients, under the release's key."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache

import numpy as np
import pyarrow as pa

from deid_assets.core.phi import Phi
from deid_assets.pipeline.leaks import LeakedValues
from deid_assets.pipeline.spreading import MIN_CHARS, MIN_DIGITS, Extent, Values
from deid_assets.tables.acting import DateMode, PolicyActions
from deid_assets.tables.checking import ParsedRows, TableReading, id_texts
from deid_assets.tables.columns import NOTE_KIND, PATIENT_KIND, Role, TableColumn
from deid_assets.tables.counting import GroupCounter
from deid_assets.tables.dates import Days
from deid_assets.tables.faults import Faults, Mask

Pseudonym = Callable[[str, str], str]
"""Kind and id to the id under which it is released."""
_REMEMBERED = 1 << 18
_EPOCH = date(1970, 1, 1)
_WORD = re.compile(r"[\w-]+")
_FIRST_DAY, _LAST_DAY = ((day - _EPOCH).days for day in (date(1000, 1, 1), date.max))


@dataclass(frozen=True, slots=True)
class ReleasedNotes:
    """Whose rows are released, and what is known of them.

    Args:
        patients: Released ids of the patients of the release.
        notes: Released ids of its notes.
        values: By original id of a patient, the identifiers that stand in their notes.
        denied: Values that must be in no release, whoever's row they stand in.
    """

    patients: Container[str] = field(repr=False)
    notes: Container[str] = field(repr=False)
    values: Mapping[str, Values] = field(default_factory=dict, repr=False)
    denied: LeakedValues = field(default_factory=lambda: LeakedValues([]), repr=False)


@dataclass(slots=True)
class RewritingCounts:
    """What became of the rows.

    Args:
        rows: Released.
        left_out: Rows of patients who are not in the release.
        unknown_patients: Those patients; counted apart up to a million.
        notes_joined: Cells with the id of a note that is in the release.
        notes_without: Cells with the id of one that is not.
        emptied: Dates, births and years that would tell an age over 89, or leave the calendar.
        surviving: Kept cells that hold an identifier of their patient, or a denied value.
        parts: Kept cells that hold a word of a name of their patient.
    """

    rows: int = 0
    left_out: int = 0
    unknown_patients: set[str] = field(default_factory=set, repr=False)
    notes_joined: int = 0
    notes_without: int = 0
    emptied: Counter[str] = field(default_factory=Counter)
    surviving: Faults = field(default_factory=Faults)
    parts: int = 0


class TableRewriter:
    """Rewrites the rows of a table for one release.

    Args:
        reading: Of the table.
        actions: Of the release's policy, under its key.
        pseudonym: Ids of the release.
        released: Whose rows are released.
    """

    def __init__(
        self,
        reading: TableReading,
        actions: PolicyActions,
        pseudonym: Pseudonym,
        released: ReleasedNotes,
    ) -> None:
        self._reading, self._plan = reading, reading.plan
        self._actions, self._released = actions, released
        self._pseudonym = lru_cache(maxsize=_REMEMBERED)(pseudonym)
        self._offset = lru_cache(maxsize=_REMEMBERED)(actions.offset)
        self._written = actions.remembering()
        self._everyone = _together(released.values)
        self._is_telling = lru_cache(maxsize=_REMEMBERED)(self._may_tell)
        self._is_denied = lru_cache(maxsize=_REMEMBERED)(released.denied.is_in)
        self.counts = RewritingCounts()
        self.groups = GroupCounter()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the released rows."""
        for rows in self._reading.parse():
            yield self._rewrite(rows)

    def _rewrite(self, rows: ParsedRows) -> pa.RecordBatch:
        patients = rows.texts[self._plan.patient].to_pylist()
        ids = [None if one is None else self._pseudonym(PATIENT_KIND, one) for one in patients]
        keep = np.array([one is not None and one in self._released.patients for one in ids], bool)
        self._count_rows(patients, keep)
        offsets = self._offsets(patients, keep)
        columns = {
            column.name: self._column(column, rows, patients, offsets, keep)
            for column in self._plan.leaving
        }
        columns[self._plan.patient] = pa.array(ids, pa.string())
        batch = pa.RecordBatch.from_arrays([*columns.values()], names=[*columns])
        batch = batch.filter(pa.array(keep, pa.bool_()))
        if self._plan.quasi:
            quasi = [batch.column(name) for name in self._plan.quasi]
            self.groups.add(quasi, batch.column(self._plan.patient))
        return batch

    def _count_rows(self, patients: list[str | None], keep: Mask) -> None:
        counts = self.counts
        counts.rows += int(keep.sum())
        counts.left_out += int((~keep).sum())
        for at in np.flatnonzero(~keep):
            if len(counts.unknown_patients) < 1_000_000:
                counts.unknown_patients.add(patients[at] or "")

    def _offsets(self, patients: list[str | None], keep: Mask) -> Days:
        if self._actions.mode is not DateMode.MOVE:
            return np.zeros(len(patients), np.int64)
        return np.array(
            [
                self._offset(one) if one is not None and kept else 0
                for one, kept in zip(patients, keep, strict=True)
            ],
            np.int64,
        )

    def _column(
        self,
        column: TableColumn,
        rows: ParsedRows,
        patients: list[str | None],
        offsets: Days,
        keep: Mask,
    ) -> pa.Array:
        name = column.name
        if column.role is Role.PATIENT:
            return rows.texts[name]
        if column.role is Role.ID:
            return self._ids(column, rows.texts[name], keep)
        if column.role.is_date:
            return self._dates(column, rows, patients, offsets, keep)
        if column.role is Role.BIRTH_YEAR:
            return self._birth_years(name, rows.texts[name], patients, offsets, keep)
        if column.role is Role.AGE:
            return self._write_cells(Phi.AGE, rows.texts[name].to_pylist(), patients, keep)
        self._search(name, rows, patients, keep)
        return rows.cells.column(name)

    def _ids(self, column: TableColumn, texts: pa.Array, keep: Mask) -> pa.Array:
        values = texts.to_pylist()
        found = [
            self._pseudonym(column.kind, value) if value is not None and kept else None
            for value, kept in zip(values, keep, strict=True)
        ]
        if column.kind == NOTE_KIND:
            given = [one for one in found if one is not None]
            joined = sum(one in self._released.notes for one in given)
            self.counts.notes_joined += joined
            self.counts.notes_without += len(given) - joined
        return pa.array(found, pa.string())

    def _dates(
        self,
        column: TableColumn,
        rows: ParsedRows,
        patients: list[str | None],
        offsets: Days,
        keep: Mask,
    ) -> pa.Array:
        dates, actions = rows.dates[column.name], self._actions
        if actions.mode is DateMode.WRITE:
            return self._write_cells(Phi.DATE, dates.texts(), patients, keep)
        oldest = actions.oldest_birth if column.role is Role.BIRTH else actions.oldest_date
        after = dates.days + offsets
        shown = keep & (after >= _FIRST_DAY) & (after <= _LAST_DAY)
        if oldest:
            shown &= dates.days >= (date(oldest, 1, 1) - _EPOCH).days
        self.counts.emptied[column.name] += int((dates.present & keep & ~shown).sum())
        return dates.move(offsets, shown)

    def _birth_years(
        self,
        name: str,
        texts: pa.Array,
        patients: list[str | None],
        offsets: Days,
        keep: Mask,
    ) -> pa.Array:
        years = [None if one is None else int(float(one)) for one in texts.to_pylist()]
        actions = self._actions
        if actions.mode is DateMode.WRITE:
            written = [None if year is None else str(year) for year in years]
            return self._write_cells(Phi.DATE, written, patients, keep)
        found: list[int | None] = []
        for year, offset, kept in zip(years, offsets, keep, strict=True):
            if year is None or not kept:
                found.append(None)
            elif year < actions.oldest_birth:
                found.append(None)
                self.counts.emptied[name] += 1
            else:
                middle = date(year, 7, 1).toordinal() + int(offset)
                found.append(date.fromordinal(middle).year)
        return pa.array(found, pa.int64())

    def _write_cells(
        self, label: Phi, values: list[str | None], patients: list[str | None], keep: Mask
    ) -> pa.Array:
        """Return cells as the policy writes values of a category."""
        return pa.array(
            [
                self._written(label, value, patient)
                if value is not None and patient is not None and kept
                else None
                for value, patient, kept in zip(values, patients, keep, strict=True)
            ],
            pa.string(),
        )

    def _search(self, name: str, rows: ParsedRows, patients: list[str | None], keep: Mask) -> None:
        """Look in kept cells for identifiers of the row's patient, those of their notes and the ids
        of the row itself, and for denied values.
        """
        cells = rows.cells.column(name)
        kind = cells.type
        if pa.types.is_boolean(kind) or pa.types.is_null(kind) or pa.types.is_time(kind):
            return
        ids = [rows.texts[one.name].to_pylist() for one in self._plan.of(Role.PATIENT, Role.ID)]
        reason = "holds an identifier of its patient as it is; declare it under ids or drop"
        denied = "holds a value that somebody denied; empty it, or declare its column under drop"
        for at, value in enumerate(id_texts(cells).to_pylist()):
            if value is None or not keep[at] or len(value) < MIN_CHARS:
                continue
            words = (value, *_WORD.findall(value))
            is_id = any(_holds(words, one[at]) for one in ids)
            extents = self._extents(value, patients[at])
            if self._is_denied(value):
                self.counts.surviving.add(rows.first + at, name, denied)
            elif is_id or Extent.WHOLE in extents:
                self.counts.surviving.add(rows.first + at, name, reason)
            elif Extent.PART in extents:
                self.counts.parts += 1

    def _extents(self, value: str, patient: str | None) -> set[Extent]:
        known = self._released.values.get(patient or "")
        if known is None or not self._is_telling(value):
            return set()
        return {found.how for found in known.occurrences(value, ())}

    def _may_tell(self, value: str) -> bool:
        """Whether a value is an identifier of anybody; most are asked once and are none."""
        return next(iter(self._everyone.occurrences(value, ())), None) is not None


def _holds(words: Sequence[str], known: str | None) -> bool:
    """Whether an id is one of the words; a short number may be anything else too."""
    if known is None or len(known) < (MIN_DIGITS if known.isdigit() else MIN_CHARS):
        return False
    return known in words


def _together(values: Mapping[str, Values]) -> Values:
    """Return the identifiers of all patients in one."""
    found = Values()
    for one in values.values():
        for token, tails in one.whole.items():
            found.whole[token].update(tails)
        found.parts.update(one.parts)
        found.numbers.update(one.numbers)
    return found
