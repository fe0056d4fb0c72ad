"""A file that only says where notes are is taken in as what was read there, and anew when there is
more.
"""

import os
import sqlite3
from contextlib import closing

import pytest

from deid_assets.config import Settings
from deid_assets.formats import Annotated, Fault
from deid_assets.intake.arrivals import repeat_line
from deid_assets.intake.landing import take_in
from deid_assets.intake.reader import read_batch
from deid_assets.intake.splitting import split_arrivals
from deid_assets.intake.states import batch_ids
from deid_assets.store.files import StoreFiles


@pytest.fixture
def database(tmp_path, monkeypatch):
    path = tmp_path / "cdm.db"
    with closing(sqlite3.connect(path)) as cdm:
        cdm.execute(
            "CREATE TABLE note (note_id, person_id, language_concept_id, note_source_value,"
            " note_text)"
        )
        cdm.commit()
    monkeypatch.setenv("CDM_URL", f"sqlite:///{path}")
    monkeypatch.setenv("DEID_HOME", str(tmp_path / "home"))
    return path


def add(database, note_id, text):
    with closing(sqlite3.connect(database)) as cdm:
        cdm.execute("INSERT INTO note VALUES (?, ?, 4180186, NULL, ?)", (note_id, note_id, text))
        cdm.commit()


def drop(settings, name="cdm.omop"):
    path = settings.landing / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('url_env = "CDM_URL"\n')
    take_in(settings, settle_s=0)
    return split_arrivals(settings)


def files_of(settings):
    return StoreFiles(settings.store, key=settings.receipt_key())


def ids_of(settings, batch):
    files = files_of(settings)
    return [
        found.what.note.note_id
        for found in read_batch(settings, files, batch)
        if isinstance(found.what, Annotated)
    ]


def test_a_pointer_that_is_dropped_again_takes_in_what_was_added_and_else_nothing(database):
    settings = Settings.load()
    add(database, 1, "first")

    (first,) = drop(settings)
    assert repeat_line(files_of(settings), first) == ""
    assert drop(settings, "again/other.omop") == []
    assert repeat_line(files_of(settings), first).startswith("dropped again once, last at ")
    add(database, 2, "second")
    (second,) = drop(settings)

    assert batch_ids(settings) == sorted([first, second])
    assert (ids_of(settings, first), ids_of(settings, second)) == (["1"], ["1", "2"])
    assert not [*(settings.store / "restricted" / "landing" / ".large").iterdir()]


def test_a_batch_stays_what_was_read_when_the_database_changes(database):
    settings = Settings.load()
    add(database, 1, "first")
    (batch,) = drop(settings)

    add(database, 2, "second")
    database.unlink()

    assert ids_of(settings, batch) == ["1"]


def test_a_database_that_cannot_be_read_is_a_fault_and_is_read_when_it_can(database, monkeypatch):
    settings = Settings.load()
    add(database, 1, "first")
    url = os.environ["CDM_URL"]
    monkeypatch.delenv("CDM_URL")
    (unread,) = drop(settings)
    files = StoreFiles(settings.store, key=settings.receipt_key())
    (fault,) = [found.what for found in read_batch(settings, files, unread)]
    assert isinstance(fault, Fault)

    monkeypatch.setenv("CDM_URL", url)
    (read,) = drop(settings)
    assert ids_of(settings, read) == ["1"]
