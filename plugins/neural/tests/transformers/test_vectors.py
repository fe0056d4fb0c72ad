"""Token vectors of a tagger: a row per token, and the very states that the tags are read from."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_tasks import documents

from deid_assets import Note
from deid_assets.core.errors import PluginError
from deid_assets.core.tagging import tokenize
from deid_assets.core.trainer import VectorSource
from deid_onnx.folder import read_folder
from deid_onnx.pieces import TOKENIZER_FILE, Pieces, PieceSettings
from deid_transformers import TransformersDetector, TransformersTrainer
from deid_transformers.encoder import load_tagger

LONG = Note("long", "Seen by Dr. Lee on 3 May 2021. " * 20)


def test_each_layer_has_a_vector_for_each_token_of_any_note(model) -> None:
    notes = [documents()[0].note, Note("blank", "  \n"), LONG]
    found = list(TransformersTrainer().vectors(model, notes))

    assert isinstance(TransformersTrainer(), VectorSource)
    for note, layers in zip(notes, found, strict=True):
        assert list(layers) == ["embeddings", "encoder"]
        assert {rows.shape for rows in layers.values()} == {(len(tokenize(note.text)), 32)}
        # no token was passed over
        assert all(np.linalg.norm(rows, axis=1).all() for rows in layers.values())


@pytest.mark.parametrize("note", [documents()[4].note, LONG], ids=["short", "in windows"])
def test_the_tags_are_read_from_the_last_layer(model, note) -> None:
    (layers,) = TransformersTrainer().vectors(model, [note])
    head = load_tagger(model, read_folder(model).tags).classifier
    with torch.inference_mode():
        scores = head(torch.from_numpy(layers["encoder"])).numpy()

    tagger = TransformersDetector(model=model, threads=1, device="cpu").tagger
    wanted = np.concatenate(tagger.network.emissions(tagger.inputs(note)))
    np.testing.assert_allclose(scores, wanted, atol=1e-4)


def test_the_first_layer_is_the_mean_over_the_sub_tokens_of_a_word(model) -> None:
    folder = read_folder(model)
    note = Note("one", "Hospitalisation")
    (layers,) = TransformersTrainer().vectors(model, [note])

    encoder = load_tagger(model, folder.tags)
    pieces = Pieces(model / TOKENIZER_FILE, PieceSettings(**folder.settings["inputs"]))
    (word,) = pieces.of(note.text, tokenize(note.text))
    ids = torch.tensor([[pieces.settings.before, *word, pieces.settings.after]])
    looks = torch.tensor([[0, *pieces.kinds(note.text, tokenize(note.text)) * len(word), 0]])
    with torch.inference_mode():
        states = (
            encoder(input_ids=ids, token_type_ids=looks, output_hidden_states=True)
            .hidden_states[0][0]
            .numpy()
        )
    assert len(word) > 1
    np.testing.assert_allclose(
        layers["embeddings"][0], states[1 : 1 + len(word)].mean(axis=0), atol=1e-5
    )


def test_the_folder_of_another_plugin_is_refused(model, tmp_path) -> None:
    text = (
        (model / "tagger.json").read_text().replace('"plugin": "transformers"', '"plugin": "flair"')
    )
    (tmp_path / "tagger.json").write_text(text)

    with pytest.raises(PluginError, match="trained by 'flair'"):
        list(TransformersTrainer().vectors(tmp_path, [LONG]))
