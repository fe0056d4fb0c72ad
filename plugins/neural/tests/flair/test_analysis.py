"""Neighbours in a tagger's table of words, and the vectors of its tokens."""

from __future__ import annotations

import numpy as np
import pytest

from deid_assets.core.errors import InputError, PluginError
from deid_assets.core.note import Note
from deid_assets.core.tagging import tokenize
from deid_assets.core.trainer import VectorSource, VocabularySource
from deid_flair import FlairTrainer, analysis


@pytest.fixture(scope="module")
def tagger(model):
    return analysis.network(model)


def test_neighbours_are_sorted_by_cosine_and_counted(tagger) -> None:
    known = {"Rome": 6, "Paris": 5}
    found = analysis.neighbours(tagger, "Oslo", known=known, most=5)

    cosines = [each.cosine for each in found]
    assert cosines == sorted(cosines, reverse=True)
    assert len(found) == 5
    assert "Oslo" not in [each.word for each in found]
    assert all(-1.001 <= each.cosine <= 1.001 for each in found)
    assert [each.count for each in found] == [known.get(each.word, 0) for each in found]


def test_an_analysis_reaches_the_whole_vocabulary(model, tagger) -> None:
    """As `deid analyse --word` asks: words with a vector, each with the rows of the table."""
    assert isinstance(FlairTrainer(), VocabularySource)
    found = FlairTrainer().neighbours(model, ["Oslo", "Rome"], known={"Rome": 6}, most=3)

    assert list(found) == ["Oslo", "Rome"]
    expected = analysis.neighbours(tagger, "Oslo", known={"Rome": 6}, most=3)
    assert [(row["word"], row["count"]) for row in found["Oslo"]] == [
        (each.word, each.count) for each in expected
    ]


def test_a_neighbour_shows_no_word_in_its_repr(tagger) -> None:
    (found,) = analysis.neighbours(tagger, "Oslo", known={}, most=1)

    assert found.word not in repr(found)


def test_the_cosines_are_those_of_the_vectors(tagger) -> None:
    part = tagger.parts[0]
    vectors = {word: analysis._vectors(part, [word])[0] for word in part.vocabulary}
    (best,) = analysis.neighbours(tagger, "Rome", known={}, most=1)

    a, b = vectors["Rome"], vectors[best.word]
    assert best.cosine == pytest.approx(
        float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)), abs=1e-5
    )


def test_each_layer_has_a_vector_for_each_token(model, documents) -> None:
    notes = [documents[0].note, Note("blank", " \n "), documents[1].note]
    found = list(FlairTrainer().vectors(model, notes))

    for note, layers in zip(notes, found, strict=True):
        assert list(layers) == ["embeddings", "reprojected", "encoder"]
        assert {len(rows) for rows in layers.values()} == {len(tokenize(note.text))}
    assert found[0]["encoder"].shape[1] == 2 * 16
    assert (
        found[0]["embeddings"].shape[1]
        == found[0]["reprojected"].shape[1]
        == found[1]["embeddings"].shape[1]
    )


def test_the_last_layer_is_what_the_tags_are_scored_from(tagger, model, documents) -> None:
    import torch

    from deid_assets.core.trainer import inputs

    note = documents[0].note
    (layers,) = analysis.vectors(model, [note])
    tokens = tokenize(note.text)
    with torch.no_grad():
        scores = tagger.tagger.linear(torch.from_numpy(layers["encoder"])).numpy()[
            :, : len(tagger.tags)
        ]
    lines = [
        [note.text[start:end] for start, end in tokens[part.start : part.stop]]
        for part in inputs(note.text, tokens, grouping=1)
    ]
    wanted = np.concatenate([tagger.scores([line])[0] for line in lines])
    np.testing.assert_allclose(scores, wanted, atol=1e-4)


def test_training_brings_tokens_of_one_label_together(model, documents) -> None:
    vectors = pytest.importorskip("deid_tagger_analysis.vectors")
    space = vectors.read_space(FlairTrainer(), model, documents, native=False)
    every, *by_label = vectors.alike(space)

    assert isinstance(FlairTrainer(), VectorSource)
    assert every["layers"]["encoder"] > every["layers"]["embeddings"]
    assert every["layers"]["encoder"] > 0.8 > every["chance"]
    assert [row["label"] for row in by_label] == ["CITY", "NAME", "O"]
    assert vectors.apart(space) == []


def test_a_tagger_without_word_vectors_or_bi_lstm_has_fewer_layers(
    task, train, tmp_path, documents
) -> None:
    train(task(max_epochs=1, encoder="linear", reproject=False), tmp_path / "m")

    (layers,) = analysis.vectors(tmp_path / "m", [documents[0].note])
    assert list(layers) == ["embeddings"]
    with pytest.raises(PluginError, match="no embedding of the kind 'word'"):
        analysis.neighbours(analysis.network(tmp_path / "m"), "Oslo", known={})


def test_too_little_text_is_refused(model) -> None:
    vectors = pytest.importorskip("deid_tagger_analysis.vectors")
    with pytest.raises(InputError, match="0 words are too few"):
        vectors.read_space(FlairTrainer(), model, [], native=False)
