"""Neighbours and projections of a trained tagger's vectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deid_assets.core.errors import InputError, PluginError
from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans
from deid_flair import analysis


@pytest.fixture(scope="module")
def tagger(model):
    return analysis.network(model)


def test_neighbours_are_sorted_by_cosine_and_counted(tagger, documents) -> None:
    known = analysis.counts(documents)
    found = analysis.neighbours(tagger, "Oslo", known=known, most=5)

    cosines = [each.cosine for each in found]
    assert cosines == sorted(cosines, reverse=True)
    assert len(found) == 5
    assert "Oslo" not in [each.word for each in found]
    assert all(-1.001 <= each.cosine <= 1.001 for each in found)
    assert [each.count for each in found] == [known[each.word] for each in found]


def test_a_neighbour_shows_no_word_in_its_repr(tagger) -> None:
    (found,) = analysis.neighbours(tagger, "Oslo", known={}, most=1)

    assert found.word not in repr(found)


def test_the_cosines_are_those_of_the_vectors(tagger) -> None:
    part = tagger.parts[0]
    vectors = {word: analysis._vectors(part, [word])[0] for word in part.vocabulary}
    (best,) = analysis.neighbours(tagger, "Rome", known={}, most=1)

    a, b = vectors["Rome"], vectors[best.word]
    assert best.cosine == pytest.approx(float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)), abs=1e-5)


def two_languages(documents):
    """The same notes once more as another language: its centroids are the first's."""
    for each in documents:
        note = Note(f"{each.note.note_id}-it", each.note.text, lang="it")
        yield replace(each, note=note, spans=DisjointSpans(note.note_id, note.digest, each.spans.spans))


def test_each_layer_is_projected_with_its_tokens_labels_and_languages(tagger, documents) -> None:
    both = [*documents, *two_languages(documents)]
    found = analysis.projections(tagger, both, tokens=90)

    assert [each.layer for each in found] == ["embeddings", "reprojected", "encoder"]
    for each in found:
        assert each.points.shape == (90, 3)
        assert len(each.labels) == len(each.languages) == 90
        assert {(label, lang) for label, lang in zip(each.labels, each.languages, strict=True)} == {
            (label, lang) for label in ("CITY", "NAME", "O") for lang in ("en", "it")
        }
        assert 0 < sum(each.explained) <= 1.0001
        np.testing.assert_allclose(each.points.mean(axis=0), 0, atol=1e-3)


def test_languages_with_the_same_notes_are_not_apart(tagger, documents) -> None:
    found = analysis.projections(tagger, [*documents, *two_languages(documents)], tokens=10**6)

    assert all(each.apart == pytest.approx({"CITY": 0, "NAME": 0, "O": 0}, abs=1e-5) for each in found)


def test_training_parts_the_categories(tagger, documents) -> None:
    first, *_, last = analysis.projections(tagger, documents, tokens=10**6)

    def spread(each) -> float:
        centres = [
            each.points[[label == wanted for label in each.labels]].mean(axis=0) for wanted in ("CITY", "NAME", "O")
        ]
        return float(np.std(centres) / np.std(each.points))

    assert spread(last) > spread(first)


def test_the_picture_is_written(tagger, documents, tmp_path) -> None:
    analysis.draw(analysis.projections(tagger, [*documents, *two_languages(documents)]), tmp_path / "space.png")

    assert (tmp_path / "space.png").read_bytes().startswith(b"\x89PNG")


def test_a_tagger_without_word_vectors_and_too_little_text_are_refused(task, train, tagger, tmp_path) -> None:
    train(task(max_epochs=1), tmp_path / "m")

    with pytest.raises(PluginError, match="no embedding of the kind 'word'"):
        analysis.neighbours(analysis.network(tmp_path / "m"), "Oslo", known={})
    with pytest.raises(InputError, match="0 tokens are too few"):
        analysis.projections(tagger, [])
