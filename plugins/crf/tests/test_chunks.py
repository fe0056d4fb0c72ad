"""A CRF that is trained and reads in chunks of words."""

from __future__ import annotations

import pytest

from deid_assets import DisjointSpans, Note, Phi, Span, plugins
from deid_assets.core.detector import detect
from deid_assets.core.errors import ConfigError
from deid_assets.core.trainer import Document
from deid_assets.training import Corpus, Materials, Recipe, load_recipe, train_model

FILLER = "the lungs are clear and the heart is of normal size "


def long_note(number: int, name: str) -> Document:
    """A note of about 600 words, with a name in every chunk."""
    start = f"Note {number}. "
    text = start + (FILLER * 10 + f"Seen by Dr {name} today. ") * 6
    places = [at for at in range(len(text)) if text.startswith(f"Dr {name}", at)]
    note = Note(f"n{number}", text, patient_id=f"p{number}")
    return Document(
        note, DisjointSpans.of(note, [Span(at + 3, at + 3 + len(name), Phi.NAME) for at in places])
    )


def recipe(**changes: object) -> Recipe:
    settings = {"predictions_of": "", "max_iterations": 20, "min_patients": 1}
    return Recipe.model_validate({"name": "mine", "plugin": "crf", "settings": settings, **changes})


def test_a_note_of_many_chunks_is_read_whole(tmp_path) -> None:
    names = ("Anders", "Bering", "Calder", "Dorset", "Emsley", "Forbes")
    corpus = Corpus("mine", tuple(long_note(number, name) for number, name in enumerate(names)))
    card = train_model(
        recipe(grouping="128 words"), Materials(corpora=[corpus]), tmp_path / "model"
    )
    assert card.grouping == "128 words"

    tested = long_note(9, "Bering")
    detector = plugins.load("mine", plugin="crf", options={"model": str(tmp_path / "model")})
    (found,) = detect(detector, [tested.note])
    assert [(span.start, span.end) for span in found] == [
        (span.start, span.end) for span in tested.spans
    ]


def test_a_grouping_that_is_none_is_refused(tmp_path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('name = "x"\nplugin = "crf"\ngrouping = "many words"\n')
    with pytest.raises(ConfigError, match=r"wrong\.toml: grouping"):
        load_recipe(wrong)
