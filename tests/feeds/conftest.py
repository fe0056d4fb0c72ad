"""Feeds of real databases, with the batches that they became."""

from __future__ import annotations

import datetime as dt
import importlib.util
import json
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from deid_assets.feeds.running import run_feed
from deid_assets.formats import Annotated, Fault
from deid_assets.intake.reader import read_batch
from deid_assets.intake.states import batch_ids

_STORE = Path(__file__).parents[1] / "store" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("store_fixtures", _STORE)
_STORE_FIXTURES = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_STORE_FIXTURES)
postgres_server = _STORE_FIXTURES.postgres_server

NOTES = sa.Table(
    "notes",
    sa.MetaData(),
    sa.Column("note_id", sa.BigInteger, primary_key=True),
    sa.Column("body", sa.Text),
    sa.Column("person", sa.BigInteger),
    sa.Column("lang", sa.String(8)),
    sa.Column("changed_at", sa.DateTime(timezone=True)),
    sa.Column("is_deleted", sa.Boolean),
)


class Source:
    """A table of notes in a database, and the feed of an installation that reads it.

    Args:
        url: Of the database.
        installation: Whose settings are written.
    """

    def __init__(self, url: str, installation) -> None:
        self.url, self.installation = url, installation
        engine_url = sa.make_url(url)
        if engine_url.drivername == "postgresql":
            engine_url = engine_url.set(drivername="postgresql+psycopg")
        self.engine = sa.create_engine(engine_url, poolclass=sa.NullPool)
        with self.engine.begin() as connection:
            NOTES.drop(connection, checkfirst=True)
            NOTES.create(connection)

    def put(self, note_id, body, *, at, person=None, deleted=False):
        """Insert or replace a row, changed at a second of the day."""
        row = {
            "note_id": note_id,
            "body": body,
            "person": person,
            "lang": "en",
            "changed_at": dt.datetime(2024, 11, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=at),
            "is_deleted": deleted,
        }
        with self.engine.begin() as connection:
            connection.execute(sa.delete(NOTES).where(NOTES.c.note_id == note_id))
            connection.execute(sa.insert(NOTES), [row])

    def remove(self, *note_ids):
        with self.engine.begin() as connection:
            connection.execute(sa.delete(NOTES).where(NOTES.c.note_id.in_(note_ids)))

    def configure(self, **options):
        """Declare the feed ``ward`` beside the other settings."""
        declared = {
            "kind": "sql",
            "url": self.url,
            "query": "SELECT * FROM notes",
            "id": "note_id",
            "text": "body",
            "patient": "person",
            "language": "lang",
            "watermark": "changed_at",
            "notes": 10,
            **options,
        }
        configure(self.installation, declared)

    def run(self, **options):
        return run_feed(self.installation.settings(), "ward", **options)

    def entries(self):
        return entries_in(self.installation)

    def texts(self):
        return texts_in(self.installation)

    def faults(self):
        return faults_in(self.installation)


def configure(installation, declared):
    """Declare the feed ``ward`` beside the default settings."""
    lines = []
    for key, value in declared.items():
        shown = str(value).lower() if isinstance(value, bool) else value
        lines.append(
            f"{key} = {json.dumps(shown)}"
            if isinstance(shown, str) and shown not in ("true", "false")
            else f"{key} = {shown}"
        )
    rest = "\n".join(lines)
    installation.configure(f"{installation.default_settings}\n[feeds.ward]\n{rest}\n")


def entries_in(installation):
    """Batch to what it holds, as the graph reads it, with what was signed checked."""
    opened = installation.opened()
    return {
        batch: [found.what for found in read_batch(opened.settings, opened.files, batch)]
        for batch in batch_ids(opened.settings)
    }


def texts_in(installation):
    """Note id to text over all batches; an id that stands in two is an error."""
    found = {}
    for entries in entries_in(installation).values():
        for entry in entries:
            if isinstance(entry, Annotated):
                assert entry.note.note_id not in found
                found[entry.note.note_id] = entry.note.text
    return found


def faults_in(installation):
    """Kinds of fault over all batches."""
    return sorted(
        entry.kind
        for entries in entries_in(installation).values()
        for entry in entries
        if isinstance(entry, Fault)
    )


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def source(request, installation, tmp_path):
    """A table of notes in either database, and a feed of it."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'warehouse.db'}"
    else:
        url = request.getfixturevalue("postgres_server")
    made = Source(url, installation)
    made.configure()
    return made


@pytest.fixture
def table(installation, tmp_path):
    """A table of notes in SQLite, and a feed of it."""
    made = Source(f"sqlite:///{tmp_path / 'warehouse.db'}", installation)
    made.configure()
    return made


@pytest.fixture
def source_of(installation):
    """A function that makes a table of notes in a database, and a feed of it."""

    def made(url):
        return Source(url, installation)

    return made


@pytest.fixture
def texts_of(installation):
    """A function that gives note id to text over all batches."""
    return partial(texts_in, installation)


@pytest.fixture
def faults_of(installation):
    """A function that gives the kinds of fault over all batches."""
    return partial(faults_in, installation)
