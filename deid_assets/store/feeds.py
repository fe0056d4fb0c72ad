"""State of feeds in the catalogue. Every function takes a session; the caller commits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TypeVar

from sqlalchemy import delete, func, insert, update
from sqlalchemy import select as sql_select
from sqlmodel import Session, col, select

from deid_assets.core.errors import InputError
from deid_assets.store.tables import FeedNoteRow, FeedRow, FeedUnitRow, StoredRow

CHUNK = 500
"""Rows of one statement."""
Item = TypeVar("Item")


def chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield the items in lists of as many as go into one statement."""
    left = iter(items)
    while some := list(islice(left, CHUNK)):
        yield some


@dataclass(frozen=True, slots=True)
class FeedTotals:
    """What a feed gave.

    Args:
        notes: Notes that are in batches.
        faults: Notes that could not be read.
        batches: That they are in.
        units: Files, or queries, that were read.
    """

    notes: int
    faults: int
    batches: int
    units: int


def load_feed(session: Session, feed: str) -> FeedRow:
    """Return how far a feed was taken; generation 0 where it never was."""
    return session.get(FeedRow, feed) or FeedRow(feed=feed, generation=0, plan="")


def advance_feed(session: Session, feed: str, *, generation: int, plan: str) -> None:
    """Enter the next generation of a feed with what it plans.

    Raises:
        InputError: Another process took from the feed meanwhile.
    """
    now = datetime.now(UTC)
    if generation == 0:
        first = FeedRow(feed=feed, generation=1, plan=plan, taken_at=now)
        if session.get(FeedRow, feed) is None:
            session.add(first)
            session.flush()
            return
    changed = session.execute(
        update(FeedRow)
        .where(col(FeedRow.feed) == feed, col(FeedRow.generation) == generation)
        .values(generation=generation + 1, plan=plan, taken_at=now)
    )
    if changed.rowcount != 1:  # type: ignore[attr-defined]  # of an update
        raise InputError(
            f"feed {feed}: another process took from it meanwhile; nothing was taken, run it again"
        )


def finish_feed(session: Session, feed: str) -> None:
    """Enter that all that was planned is landed."""
    session.execute(update(FeedRow).where(col(FeedRow.feed) == feed).values(plan=""))


def load_units(session: Session, feed: str, units: Sequence[str]) -> Mapping[str, FeedUnitRow]:
    """Return those of some units that were read before, by name."""
    asked = select(FeedUnitRow).where(
        FeedUnitRow.feed == feed, col(FeedUnitRow.unit).in_(list(units))
    )
    return {row.unit: row for row in session.exec(asked)}


def save_units(session: Session, feed: str, rows: Iterable[FeedUnitRow]) -> None:
    """Enter units as they were read, in place of what was known of them."""
    for some in chunks(rows):
        names = [row.unit for row in some]
        session.execute(
            delete(FeedUnitRow).where(
                col(FeedUnitRow.feed) == feed, col(FeedUnitRow.unit).in_(names)
            )
        )
        _insert(session, FeedUnitRow, some)


def unit_names(session: Session, feed: str) -> Iterator[str]:
    """Yield the units that were read before."""
    asked = sql_select(col(FeedUnitRow.unit)).where(col(FeedUnitRow.feed) == feed)
    yield from session.execute(asked, execution_options={"yield_per": CHUNK}).scalars()


def forget_units(session: Session, feed: str, units: Iterable[str]) -> None:
    """Delete units that are there no more."""
    for some in chunks(units):
        session.execute(
            delete(FeedUnitRow).where(
                col(FeedUnitRow.feed) == feed, col(FeedUnitRow.unit).in_(some)
            )
        )


def load_notes(session: Session, feed: str, notes: Sequence[str]) -> Mapping[str, FeedNoteRow]:
    """Return those of some notes that are known, by keyed id."""
    asked = select(FeedNoteRow).where(
        FeedNoteRow.feed == feed, col(FeedNoteRow.note).in_(list(notes))
    )
    return {row.note: row for row in session.exec(asked)}


def read_known_notes(session: Session, feed: str) -> Iterator[tuple[str, str, str, bool]]:
    """Yield keyed id, unit and batch of every known note, and whether it is a fault."""
    columns = (FeedNoteRow.note, FeedNoteRow.unit, FeedNoteRow.batch, FeedNoteRow.is_fault)
    asked = sql_select(*map(col, columns)).where(col(FeedNoteRow.feed) == feed)
    for row in session.execute(asked, execution_options={"yield_per": CHUNK}):
        yield row[0], row[1], row[2], row[3]


def save_notes(session: Session, feed: str, rows: Iterable[FeedNoteRow]) -> None:
    """Enter notes with their batches, in place of what was known of them."""
    for some in chunks(rows):
        _forget(session, feed, [row.note for row in some])
        _insert(session, FeedNoteRow, some)


def forget_notes(session: Session, feed: str, notes: Iterable[str]) -> None:
    """Delete what is known of notes."""
    for some in chunks(notes):
        _forget(session, feed, some)


def totals_of(session: Session, feed: str) -> FeedTotals:
    """Count what a feed gave."""
    mine = col(FeedNoteRow.feed) == feed
    notes, batches = session.execute(
        sql_select(func.count(), func.count(func.distinct(col(FeedNoteRow.batch)))).where(mine)
    ).one()
    faults = session.execute(
        sql_select(func.count()).where(mine, col(FeedNoteRow.is_fault))
    ).scalar_one()
    units = session.execute(
        sql_select(func.count()).where(col(FeedUnitRow.feed) == feed)
    ).scalar_one()
    return FeedTotals(notes - faults, faults, batches, units)


def _forget(session: Session, feed: str, notes: Sequence[str]) -> None:
    session.execute(
        delete(FeedNoteRow).where(col(FeedNoteRow.feed) == feed, col(FeedNoteRow.note).in_(notes))
    )


def _insert(session: Session, kind: type[StoredRow], rows: Sequence[StoredRow]) -> None:
    if rows:
        session.execute(insert(kind), [row.model_dump() for row in rows])
