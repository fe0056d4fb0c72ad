"""Corpora of recipes: named, split by patient, folded."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets import DisjointSpans, Note, Phi, Span
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.trainer import Document
from deid_assets.training import read_corpus
from deid_assets.training.corpora import folds, owner, split


def documents(owners):
    found = []
    for number, name in enumerate(owners):
        note = Note(f"n{number}", f"Lee {number}", patient_id=name)
        found.append(Document(note, DisjointSpans.of(note, [Span(0, 3, Phi.NAME)])))
    return found


owners = st.lists(st.sampled_from([None, "a", "b", "c", "d"]), min_size=1, max_size=20)


@given(owners, st.floats(0.01, 0.99), st.integers(0, 5))
def test_a_split_divides_patients(names, share, seed):
    whole = documents(names)
    if len({owner(document) for document in whole}) < 2:
        with pytest.raises(InputError, match="one patient"):
            split(whole, share=share, seed=seed)
        return
    train, held = split(whole, share=share, seed=seed)
    assert train
    assert held
    assert sorted(one.note.note_id for one in train + held) == sorted(one.note.note_id for one in whole)
    assert not {owner(one) for one in train} & {owner(one) for one in held}


@given(owners, st.integers(2, 4))
def test_folds_test_every_note_once(names, count):
    whole = documents(names)
    if len({owner(document) for document in whole}) < count:
        with pytest.raises(InputError, match="folds of"):
            folds(whole, count=count, seed=1)
        return
    made = folds(whole, count=count, seed=1)
    assert sorted(one.note.note_id for _, test in made for one in test) == sorted(one.note.note_id for one in whole)
    assert all(not {owner(one) for one in train} & {owner(one) for one in test} for train, test in made)


def test_synthetic_corpora_are_named_by_language_number_and_seed():
    corpus = read_corpus("synthetic:en:3:9")
    assert len(corpus.documents) == 3
    assert corpus.digest == read_corpus("synthetic:en:3:9").digest
    assert corpus.digest != read_corpus("synthetic:en:3:8").digest


@pytest.mark.parametrize("name", ["synthetic:en", "synthetic:en:x", "synthetic:en:1:2:3"])
def test_a_misspelt_synthetic_corpus_is_told(name):
    with pytest.raises(ConfigError, match="must read synthetic:LANG:NOTES"):
        read_corpus(name)


def test_a_corpus_must_be_whole(tmp_path):
    path = tmp_path / "notes.jsonl"
    good = json.dumps({"id": "a", "text": "Lee", "spans": [{"start": 0, "end": 3, "label": "NAME"}]})
    path.write_text(good + "\n")
    assert read_corpus(str(path)).spans == 1

    path.write_text(good + "\n" + json.dumps({"id": "b", "text": "Ray"}) + "\n")
    with pytest.raises(InputError, match="note 'b' is not annotated"):
        read_corpus(str(path))

    path.write_text(good + "\n{\n")
    with pytest.raises(InputError, match="a training corpus must be whole"):
        read_corpus(str(path))

    with pytest.raises(InputError, match="no such file"):
        read_corpus(str(tmp_path / "absent.jsonl"))
    with pytest.raises(ConfigError, match="asset graph only"):
        read_corpus("gold")
