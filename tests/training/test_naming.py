"""What a model's folder says of its training notes confirms no guess at them to who has not the
key.
"""

import hashlib

import pytest

from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans
from deid_assets.core.trainer import Document
from deid_assets.training.corpora import Corpus

NOTES = [Note(f"n{number}", f"Ann Lee, record 400000{number}, has a cough.") for number in range(3)]


@pytest.fixture
def key(monkeypatch):
    def have(value):
        monkeypatch.delenv("DEID_KEY", raising=False)
        if value:
            monkeypatch.setenv("DEID_KEY", value)

    return have


def corpus():
    return Corpus(
        "c", tuple(Document(note, DisjointSpans(note.note_id, note.digest, ())) for note in NOTES)
    )


def test_the_digest_of_a_corpus_is_another_under_another_key_and_known_again_without(key):
    found = []
    for value in ("", "5a" * 32, "a5" * 32):
        key(value)
        found.append(corpus().digest)
        assert corpus().digest == found[-1]
        assert corpus().is_named(found[0]), "a card that was written without a key"
        assert corpus().is_named(found[-1])

    assert len(set(found)) == 3
    assert not corpus().is_named(found[1])
    key("5a" * 32)
    content = "\n".join(f"{note.note_id} {note.digest} ()" for note in NOTES)
    assert corpus().digest != hashlib.sha256(content.encode()).hexdigest()
    key("")
    assert corpus().digest == hashlib.sha256(content.encode()).hexdigest()
