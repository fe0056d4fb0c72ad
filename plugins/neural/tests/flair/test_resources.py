"""Embeddings that were made elsewhere.

Vectors, sub-words, language models, and pickles that would run code.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import PluginError
from deid_flair.settings import SubWords, WordVectors
from deid_onnx.families import flair as reading
from deid_onnx.families.flair.words import fnv, ngrams

WORDS = ("lee", "berg", "00")


def written(folder: Path, *, header: bool) -> Path:
    rows = [f"{word} {number} {number}.5 -1" for number, word in enumerate(WORDS)]
    path = folder / "vectors.txt"
    path.write_text("\n".join([*(["3 3"] if header else []), *rows, ""]))
    return path


@pytest.mark.parametrize("header", [True, False])
def test_glove_and_word2vec_text_is_read(tmp_path, header) -> None:
    from deid_flair.vectors import read_words

    described, words, rows = read_words(written(tmp_path, header=header), trust=False)

    assert (described["width"], words) == (3, list(WORDS))
    np.testing.assert_array_equal(rows, [[0, 0.5, -1], [1, 1.5, -1], [2, 2.5, -1], [0, 0, 0]])


def test_a_word_is_found_as_published_vectors_may_write_it() -> None:
    table = reading.VectorTable({word: row for row, word in enumerate(WORDS)})

    rows = table.feeds([], ["Lee", "LEE", "17", "unheard", "berg"])["rows"]

    assert rows.tolist() == [[0], [0], [2], [3], [1]]


@pytest.fixture(scope="module")
def fasttext():
    from gensim.models import FastText

    sentences = [["Ana", "Berg", "in", "Łódź"], ["Ana", "walks"]] * 20
    return FastText(
        sentences,
        vector_size=8,
        min_count=1,
        bucket=97,
        min_n=2,
        max_n=4,
        epochs=1,
        workers=1,
        seed=1,
    )


def test_fasttext_binary_gives_gensims_vector_for_any_word(fasttext, tmp_path) -> None:
    from gensim.models.fasttext import save_facebook_model

    from deid_flair.vectors import read_words

    save_facebook_model(fasttext, str(tmp_path / "cc.bin"))
    described, words, rows = read_words(tmp_path / "cc.bin", trust=False)
    table = reading.part(described, words)

    for word in ("Ana", "Łódź", "Anna", "unheard-of", "ß", "😀"):
        feeds = table.feeds([], [word])
        found = (rows[feeds["rows"][0]].sum(0) * feeds["share"][0]).astype(np.float32)
        np.testing.assert_allclose(found, fasttext.wv[word], atol=1e-5, err_msg=word)


@given(
    st.text(
        st.characters(exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"]), min_size=1, max_size=12
    )
)
def test_ngrams_fall_into_fasttexts_buckets(word: str) -> None:
    from gensim.models.fasttext import ft_ngram_hashes

    assert [fnv(gram) % 1_000 for gram in ngrams(word, 3, 6)] == ft_ngram_hashes(word, 3, 6, 1_000)


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    import sentencepiece

    folder = tmp_path_factory.mktemp("pieces")
    text = "the patient was seen by doctor berg in rome and walks well 00 days later áéíóú\n" * 5
    (folder / "text").write_text(
        text + "a rare word of other letters: ñandú, señor, 000, thepatientwas\n"
    )
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text"),
        model_prefix=str(folder / "bpe"),
        model_type="bpe",
        vocab_size=90,
        character_coverage=1.0,
        minloglevel=2,
    )
    return folder, sentencepiece.SentencePieceProcessor(model_file=str(folder / "bpe.model"))


@settings(deadline=None)
@given(st.text("theapinwsbydocrgmvlw0áñéx", min_size=1, max_size=14))
def test_words_are_cut_as_sentencepiece_cuts_them(pieces, word: str) -> None:
    _, processor = pieces
    ranks = {processor.id_to_piece(row): row for row in range(processor.get_piece_size())}

    rows = reading.BytePairs(ranks, processor.unk_id()).feeds([], [word])["rows"][0]

    expected = processor.encode(word)
    assert rows.tolist() == [expected[0], expected[-1]]


def test_a_bpemb_release_is_read_from_its_two_files(pieces) -> None:
    from gensim.models import KeyedVectors

    from deid_flair.vectors import read_pieces

    folder, processor = pieces
    names = [processor.id_to_piece(row) for row in range(processor.get_piece_size())]
    vectors = KeyedVectors(4)
    vectors.add_vectors(names, np.arange(4 * len(names), dtype=np.float32).reshape(-1, 4))
    vectors.save_word2vec_format(str(folder / "bpe.w2v.bin"), binary=True, sort_attr=None)

    described, vocabulary, rows = read_pieces(folder / "bpe.model", folder / "bpe.w2v.bin")

    assert (described["kind"], vocabulary, rows.shape) == ("bpemb", names, (len(names) + 1, 4))


def test_vectors_of_another_release_are_refused(pieces, tmp_path) -> None:
    from deid_flair.vectors import read_pieces

    folder, _ = pieces
    with pytest.raises(PluginError, match="give the two files of one release"):
        read_pieces(folder / "bpe.model", written(tmp_path, header=True))


def test_trained_word_vectors_have_one_for_unheard_words() -> None:
    from deid_flair.vectors import train_words

    lines = [["Ana", "Berg", "walks"], ["Dr", "Berg"]] * 10
    described, words, rows = train_words(
        lines, WordVectors(train=True, width=8, buckets=50), seed=1
    )
    feeds = reading.part(described, words).feeds([], ["Bergson"])

    assert np.abs(rows[feeds["rows"][0]].sum(0) * feeds["share"][0]).max() > 0


def test_the_pieces_of_words_that_were_read_have_vectors() -> None:
    from deid_flair.vectors import train_pieces

    lines = [["Ana", "Berg", "walks", "17", "days"], ["Dr", "Berg", "walks"]] * 20
    described, vocabulary, rows = train_pieces(
        lines, SubWords(train=True, vocabulary=30, width=4, epochs=1), seed=1
    )
    found = reading.part(described, vocabulary).feeds([], ["Ana", "Berg", "walks"])["rows"]

    assert rows.shape == (len(vocabulary) + 1, 4)
    assert (np.abs(rows[found]).sum(2) > 0).all()


@pytest.fixture
def flairs_file(tmp_path):
    from flair.models import LanguageModel

    from deid_flair.parts import dictionary

    model = LanguageModel(dictionary(["<unk>", "\n", " ", "a", "b"]), True, 6, 1, embedding_size=4)
    model.eval()
    model.save(tmp_path / "lm.pt")
    return model, tmp_path / "lm.pt"


def test_a_language_model_of_flair_is_read_without_running_code(flairs_file) -> None:
    from deid_flair.language_models import load_flair

    model, path = flairs_file
    found = load_flair(path, trust=False)

    theirs = model.get_representation(["ab ba"], "\n", " ")
    assert found.get_representation(["ab ba"], "\n", " ").equal(theirs)


class Malicious:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("name", ["lm.pt", "vectors.gensim"])
def test_code_in_a_file_is_not_run_and_the_file_is_refused(tmp_path, name) -> None:
    import torch

    from deid_flair.language_models import load_flair
    from deid_flair.vectors import read_words

    mark, path = tmp_path / "ran", tmp_path / name
    if name == "lm.pt":
        torch.save({"state_dict": Malicious(mark)}, path)
    else:
        path.write_bytes(pickle.dumps(Malicious(mark)))

    with pytest.raises(PluginError, match="trust = true"):
        (load_flair if name == "lm.pt" else read_words)(path, trust=False)
    assert not mark.exists()


def test_a_pretrained_language_model_can_be_stacked(task, train, flairs_file, tmp_path) -> None:
    from deid_flair import FlairDetector

    embeddings = [{"kind": "flair", "model": str(flairs_file[1])}, {"kind": "onehot", "width": 4}]
    train(task(embeddings=embeddings, max_epochs=1), tmp_path / "m")

    assert FlairDetector(model=tmp_path / "m").labels


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_language_model_goes_on_from_its_last_epoch(tmp_path, optimizer) -> None:
    from deid_flair import language_models
    from deid_flair.quiet import quiet
    from deid_flair.settings import CharacterModel

    wanted = CharacterModel(
        train=True,
        hidden=6,
        epochs=3,
        batch_size=2,
        sequence_length=9,
        optimizer=optimizer,
        learning_rate=0.02,
        dropout=0.3,
    )
    lines = [f"Dr Ana Berg walks on day {day} .\n" for day in range(60)]

    def run(name: str):
        return language_models.train(lines, wanted, backward=True, seed=1, state=tmp_path / name)

    with quiet():
        whole = list(run("whole"))
        cut = run("cut")
        begun = [next(cut), next(cut)]
        cut.close()
        rest = list(run("cut"))

    assert [*begun, *rest] == whole
    assert len(rest) == 1
    assert (tmp_path / "cut").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("fine_tune", [False, True])
def test_a_language_model_changes_with_the_tagger_only_where_asked(
    task, train, flairs_file, tmp_path, fine_tune
) -> None:
    from safetensors.torch import load_file

    embeddings = [{"kind": "flair", "model": str(flairs_file[1]), "fine_tune": fine_tune}]
    train(task(embeddings=embeddings, max_epochs=1), tmp_path / "m")

    name = "embeddings.list_embedding_0.lm.rnn.weight_hh_l0"
    same = load_file(tmp_path / "m" / "model.safetensors")[name].equal(
        flairs_file[0].rnn.weight_hh_l0
    )
    assert same is not fine_tune


def test_a_language_model_kept_by_one_recipe_serves_another(task, train, tmp_path) -> None:
    lm = {
        "kind": "flair",
        "train": True,
        "hidden": 8,
        "epochs": 1,
        "batch_size": 2,
        "sequence_length": 20,
        "cache": str(tmp_path / "kept"),
    }
    train(task(embeddings=[lm], max_epochs=1), tmp_path / "one")
    written_at = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "kept").iterdir()}
    train(task(embeddings=[{**lm, "direction": "backward"}], max_epochs=1), tmp_path / "two")

    assert len(written_at) == 2
    assert {
        path.name: path.stat().st_mtime_ns for path in (tmp_path / "kept").iterdir()
    } == written_at


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("encoder")
    vocabulary = {
        word: row
        for row, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "Ana", "Berg"))
    }
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=64,
    ).save_pretrained(folder)
    config = BertConfig(len(vocabulary), 8, 1, 2, 16, max_position_embeddings=64)
    BertModel(config).save_pretrained(folder)
    return folder


def test_a_transformer_can_be_stacked_but_not_exported(
    task, train, encoder, documents, tmp_path
) -> None:
    from deid_flair import FlairDetector, FlairTrainer

    embeddings = [{"kind": "transformer", "model": str(encoder)}, {"kind": "onehot", "width": 4}]
    train(task(embeddings=embeddings, max_epochs=1), tmp_path / "m")

    assert list(FlairDetector(model=tmp_path / "m").detect([documents[0].note]))
    with pytest.raises(PluginError, match="'transformer', which cannot be exported"):
        FlairTrainer().export(tmp_path / "m", tmp_path / "onnx")
