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
    assert sorted(one.note.note_id for one in train + held) == sorted(
        one.note.note_id for one in whole
    )
    assert not {owner(one) for one in train} & {owner(one) for one in held}


@given(owners, st.integers(2, 4))
def test_folds_test_every_note_once(names, count):
    whole = documents(names)
    if len({owner(document) for document in whole}) < count:
        with pytest.raises(InputError, match="folds of"):
            folds(whole, count=count, seed=1)
        return
    made = folds(whole, count=count, seed=1)
    assert sorted(one.note.note_id for _, test in made for one in test) == sorted(
        one.note.note_id for one in whole
    )
    assert all(
        not {owner(one) for one in train} & {owner(one) for one in test} for train, test in made
    )


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
    good = json.dumps(
        {"id": "a", "text": "Lee", "spans": [{"start": 0, "end": 3, "label": "NAME"}]}
    )
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


I2B2 = """<?xml version="1.0" encoding="UTF-8" ?>
<deIdi2b2><TEXT><![CDATA[Seen by Lee on day {day}.]]></TEXT>
<TAGS><NAME id="P0" start="8" end="11" text="Lee" TYPE="DOCTOR" comment="" /></TAGS></deIdi2b2>
"""


def test_files_named_as_in_i2b2_say_whose_notes_they_are(tmp_path):
    from deid_assets.training.corpora import check_apart

    names = {
        "train": ("110-01", "110-02", "111-01"),
        "test": ("110-03",),
        "other": ("112-01",),
        "ours": ("letter-1",),
    }
    for day, (role, files) in enumerate(names.items()):
        (tmp_path / role).mkdir()
        for file in files:
            (tmp_path / role / f"{file}.xml").write_text(I2B2.format(day=f"{day} {file}"))
    read = {role: read_corpus(str(tmp_path / role)).documents for role in names}

    assert [document.note.patient_id for document in read["train"]] == ["110", "110", "111"]
    assert [document.note.patient_id for document in read["ours"]] == [None]
    check_apart(read["train"], read["other"], role="test")
    with pytest.raises(InputError, match="note '110-03': its patient is among the test notes"):
        check_apart(read["train"], read["test"], role="test")
