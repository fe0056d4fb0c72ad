"""A feed is taken: what is new becomes batches, what changed takes its place, what is deleted goes.

A killed run has taken all or nothing; the next completes it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.config.feeds import FeedSettings
from deid_assets.feeds.comparing import FeedComparison, FeedCounts, check_deletions
from deid_assets.feeds.identity import FeedKeys
from deid_assets.feeds.kinds import feed_settings, feeds_folder, open_feed
from deid_assets.feeds.source import NoteFeed
from deid_assets.feeds.spool import Spool
from deid_assets.feeds.staging import Stage
from deid_assets.store.atomic import lock_folder, make_folder
from deid_assets.store.database import Database
from deid_assets.store.feeds import (
    FeedTotals,
    advance_feed,
    finish_feed,
    forget_notes,
    forget_units,
    load_feed,
    save_notes,
    save_units,
    totals_of,
    unit_names,
)
from deid_assets.store.files import StoreFiles
from deid_assets.store.generation import check_store
from deid_assets.store.tables import FeedNoteRow, FeedUnitRow
from deid_assets.store.zones import Zone


@dataclass(frozen=True, slots=True)
class FeedRun:
    """What one run of a feed took.

    Args:
        feed: Its name.
        counts: Notes by what was found of them.
        batches: That were made or changed.
        completed: Batches of an earlier run that was killed, which this one landed.
    """

    feed: str
    counts: FeedCounts
    batches: tuple[str, ...]
    completed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FeedStatus:
    """What is known of a feed.

    Args:
        feed: Its name.
        settings: As the settings declare it.
        totals: What it gave.
        taken_at: When it was last run to its end; ``None`` where it never was.
        is_unfinished: Whether a killed run left batches that the next one lands.
    """

    feed: str
    settings: FeedSettings
    totals: FeedTotals
    taken_at: datetime | None
    is_unfinished: bool


def run_feed(
    settings: Settings, name: str, *, again: bool = False, accept_deletions: bool = False
) -> FeedRun:
    """Take what is new, changed or deleted in a feed.

    Args:
        settings: Of the installation.
        name: Of the feed.
        again: Also read what did not change by its watermark or version.
        accept_deletions: Take deletions however many they are.

    Raises:
        ConfigError: The feed's settings are wrong.
        InputError: There is no such feed, its source failed, or too many notes are gone from it;
            nothing was taken.
        ProvenanceError: What is stored was altered.
    """
    check_store(settings.store)
    declared = feed_settings(settings, name)
    folder = feeds_folder(settings) / name
    make_folder(settings.store, folder, Zone.RESTRICTED)
    keys = FeedKeys(settings.key(), name)
    files = StoreFiles(settings.store, key=settings.receipt_key())
    stage = Stage(settings, name, keys, files, folder / "staged")
    with lock_folder(folder), _open_database(settings) as database:
        completed = _complete(database, stage, name)
        _empty(folder)
        feed = open_feed(settings, name)
        work = folder / "spool"
        work.mkdir(mode=0o700)
        try:
            with Spool(work) as spool:
                counts, generation = _compare(
                    database,
                    declared,
                    name,
                    feed,
                    keys=keys,
                    spool=spool,
                    again=again,
                    accept_deletions=accept_deletions,
                )
                plan = stage.make(spool, counts, generation=generation + 1, notes=declared.notes)
                _enter(database, name, spool, generation=generation, plan=plan)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        batches = _complete(database, stage, name)
    return FeedRun(name, counts, tuple(batches), tuple(completed))


def feed_status(settings: Settings, name: str) -> FeedStatus:
    """Return what is known of a feed.

    Raises:
        InputError: There is no such feed.
    """
    declared = feed_settings(settings, name)
    with _open_database(settings) as database, database.session(read_only=True) as session:
        row = load_feed(session, name)
        return FeedStatus(
            name,
            declared,
            totals_of(session, name),
            row.taken_at if row.generation else None,
            bool(row.plan),
        )


@contextmanager
def _open_database(settings: Settings) -> Iterator[Database]:
    database = Database(settings.sql_url)
    try:
        database.upgrade()
        yield database
    finally:
        database.close()


def _complete(database: Database, stage: Stage, name: str) -> list[str]:
    """Land what is entered and not landed yet, and return its batches."""
    with database.session(read_only=True) as session:
        plan = load_feed(session, name).plan
    landed = stage.land(plan) if plan else []
    if plan:
        with database.session() as session:
            finish_feed(session, name)
            session.commit()
    stage.clear()
    return landed


def _empty(folder: Path) -> None:
    """Remove what a run left that was killed before its notes were entered."""
    for path in folder.iterdir():
        shutil.rmtree(path)


def _compare(
    database: Database,
    declared: FeedSettings,
    name: str,
    feed: NoteFeed,
    *,
    keys: FeedKeys,
    spool: Spool,
    again: bool,
    accept_deletions: bool,
) -> tuple[FeedCounts, int]:
    """Return what was found, and the generation that it was compared with."""
    counts = FeedCounts()
    with database.session(read_only=True) as session:
        generation = load_feed(session, name).generation
        comparison = FeedComparison(name, feed, keys, session, spool, counts)
        comparison.read(again=again)
        if declared.scan:
            known = comparison.find_deleted()
        else:
            totals = totals_of(session, name)
            known = totals.notes + totals.faults
    if not accept_deletions:
        check_deletions(name, counts.deleted, known, limit=declared.deleted_limit)
    return counts, generation


def _enter(database: Database, name: str, spool: Spool, *, generation: int, plan: str) -> None:
    """Enter in one transaction what was found, how far was read, and what is to be landed."""
    with database.session() as session:
        advance_feed(session, name, generation=generation, plan=plan)
        save_notes(
            session,
            name,
            (
                FeedNoteRow(
                    feed=name,
                    note=one.note,
                    unit=one.unit,
                    digest=one.digest,
                    batch=one.batch,
                    is_fault=one.is_fault,
                )
                for one in spool.read_taken()
            ),
        )
        forget_notes(session, name, spool.read_deleted())
        gone = [unit for unit in unit_names(session, name) if not spool.has_unit(unit)]
        forget_units(session, name, gone)
        save_units(
            session,
            name,
            (
                FeedUnitRow(feed=name, unit=unit, version=version, mark=mark)
                for unit, version, mark in spool.read_units()
            ),
        )
        session.commit()
