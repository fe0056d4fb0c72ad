"""The catalogue tells which batches have a text, by its keyed digest, on both databases."""

from __future__ import annotations

import pytest
from sqlmodel import Session

from deid_assets.core.errors import InputError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.store import records
from deid_assets.store.database import Database

KEY = Key(b"k" * 32)


def _put(session: Session, batch: str, texts: list[str]) -> list[Note]:
    notes = [Note(f"{batch}-{number}", text) for number, text in enumerate(texts)]
    records.save_batch(session, batch, corpus="default")
    records.save_notes(session, batch, notes, key=KEY)
    return notes


def test_batches_are_found_by_the_texts_that_they_have(database: Database) -> None:
    texts = [f"seen on day {number}" for number in range(2500)]
    with database.session() as session:
        notes = _put(session, "whole", texts)
        _put(session, "some", [*texts[:3], "another"])
        _put(session, "none", ["nothing of it"])
        session.commit()
    with database.session(read_only=True) as session:
        found = records.batches_with(session, notes, key=KEY)
        foreign = records.batches_with(session, notes, key=Key(b"o" * 32))

    assert found == {
        "whole": {note.digest for note in notes},
        "some": {note.digest for note in notes[:3]},
    }
    assert foreign == {}


def test_an_erased_batch_is_found_no_more(database: Database) -> None:
    with database.session() as session:
        notes = _put(session, "gone", ["a text"])
        records.erase_batch(session, "gone")
        session.commit()
    with database.session(read_only=True) as session:
        assert records.batches_with(session, notes, key=KEY) == {}


def test_a_doubled_row_is_refused_whole(database: Database) -> None:
    with database.session() as session:
        records.save_batch(session, "batch", corpus="default")
        with pytest.raises(InputError, match="a row is there twice"):
            records.save_notes(session, "batch", [Note("n", "a"), Note("n", "b")], key=KEY)
