"""Masks as Devlin et al. (2019) draw them, and a loss that falls.

The vocabulary depends on the notes alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_tasks import TEXTS, TINY, documents, task, train, with_settings

from deid_assets import Note
from deid_assets.core.errors import TrainingError
from deid_assets.core.keys import Key
from deid_assets.core.redact import redact
from deid_assets.core.trainer import Epoch
from deid_assets.policies import load_policy
from deid_assets.testing import parse_marked
from deid_transformers.pretrain import mask_ids
from deid_transformers.settings import NewEncoder, Pretraining
from deid_transformers.streams import NOTHING, Sequences, Stream
from deid_transformers.vocabulary import SPECIAL, learn


@pytest.mark.parametrize("packed", [True, False])
def test_sequences_hold_text_of_two_notes_only_where_they_are_packed(packed: bool) -> None:
    ends = np.array([5, 12, 15, 30], dtype=np.int64)
    stream = Stream(np.arange(30), None, np.arange(0), before=2, mask=4, vocabulary=50, ends=ends)
    sequences = Sequences(stream, Pretraining(batch=2, length=8, packed=packed), seed=1)
    places = [
        row[row != NOTHING] for step in range(sequences.per_epoch) for row in sequences.places(step)
    ]
    crossed = [len(set(np.searchsorted(ends, row, side="right"))) > 1 for row in places]
    assert any(crossed) is packed
    if not packed:
        assert sorted(np.concatenate(places)) == list(range(30))


def test_a_sixth_is_to_be_predicted_and_most_of_that_is_masked() -> None:
    stream = Stream(np.arange(0), None, special=np.arange(6), before=2, mask=4, vocabulary=1000)
    ids = np.random.default_rng(0).integers(6, 1000, size=(200, 500))
    ids[:, ::10] = 3

    read, targets = mask_ids(ids, stream, share=0.15, rng=np.random.default_rng(1))

    chosen = targets != -100
    assert not chosen[:, ::10].any()
    assert chosen.sum() / (ids != 3).sum() == pytest.approx(0.15, abs=0.005)
    np.testing.assert_array_equal(targets[chosen], ids[chosen])
    np.testing.assert_array_equal(read[~chosen], ids[~chosen])
    hidden, left = (read[chosen] == 4).mean(), (read[chosen] == ids[chosen]).mean()
    assert hidden == pytest.approx(0.8, abs=0.02)
    assert left == pytest.approx(0.1, abs=0.02)


def test_the_loss_of_pre_training_falls(tmp_path: Path) -> None:
    raw = [Note(f"r{number}", document.note.text) for number, document in enumerate(documents())]
    pretraining = {"steps": 120, "batch": 8, "length": 24, "save_every": 20, "learning_rate": 5e-3}
    curve: list[Epoch] = []

    train(with_settings(task(raw=raw), pretrain=pretraining), tmp_path, curve)

    losses = [point.loss for point in curve if point.phase == -1]
    assert len(losses) == 6
    assert losses[-1] < 0.8 * losses[0]


def test_too_little_raw_text_is_said(tmp_path: Path) -> None:
    pretraining = {"steps": 1, "batch": 1, "length": 512, "training_notes": False}
    few = with_settings(
        task(raw=[Note("r", "Fever.")]), pretrain=pretraining, new={**TINY["new"], "positions": 512}
    )

    with pytest.raises(TrainingError, match="give more notes"):
        train(few, tmp_path)


@pytest.mark.parametrize("kind", ["wordpiece", "bpe"])
def test_the_same_notes_in_any_order_give_the_same_vocabulary(kind: str) -> None:
    settings = NewEncoder(tokenizer=kind, vocabulary=400)

    one, other = (learn(texts, settings) for texts in (TEXTS, TEXTS[::-1]))

    assert one.get_vocab() == other.get_vocab()


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_a_vocabulary_keeps_case_and_knows_every_digit(kind: str) -> None:
    tokenizer = learn(TEXTS, NewEncoder(tokenizer=kind, vocabulary=400))

    pieces = {piece.lstrip("\u2581\u0120") for piece in tokenizer.tokenize("Dr. Lee 2021")}

    assert {"2", "0", "1"} <= pieces
    assert any(piece.startswith(("D", "L")) for piece in pieces)
    assert set(SPECIAL) <= set(tokenizer.get_vocab())
    assert [tokenizer.convert_tokens_to_ids(name) for name in SPECIAL] == list(range(len(SPECIAL)))


def test_lower_case_is_an_option() -> None:
    tokenizer = learn(TEXTS, NewEncoder(lowercase=True, vocabulary=400))

    assert tokenizer.tokenize("LEE") == tokenizer.tokenize("lee")


def test_text_that_looks_like_a_special_sub_token_is_none(tmp_path: Path) -> None:
    from deid_assets.core.tagging import tokenize
    from deid_onnx.pieces import Pieces, PieceSettings

    learn(TEXTS, NewEncoder(vocabulary=400)).save_pretrained(tmp_path)
    settings = PieceSettings(before=2, after=3, pad=0, unknown=1, line=5)

    words = Pieces(tmp_path / "tokenizer.json", settings).of(
        "[SEP] [MASK] </s>", tokenize("[SEP] [MASK] </s>")
    )

    assert not {0, 2, 3, 4, 5} & {piece for word in words for piece in word}


@pytest.mark.long
def test_a_kept_encoder_writes_surrogates_and_is_one_to_start_from(tmp_path: Path) -> None:
    pretraining = {"steps": 60, "batch": 8, "length": 24, "learning_rate": 5e-3, "keep": True}

    model = train(with_settings(task(), pretrain=pretraining), tmp_path / "model")

    kept = model / "masked_lm"
    policy = tmp_path / "mine.toml"
    policy.write_text(
        f'name = "mine"\n[actions]\nNAME = {{ action = "surrogate_mlm", model = "{kept}" }}'
    )
    note, spans = parse_marked("Seen by Dr. <NAME>Lee</NAME>.")
    redacted = redact(note, spans, load_policy(policy), key=Key(b"a key for tests, 24 bytes")).text
    assert "Lee" not in redacted
    assert redacted.startswith("Seen by Dr. ")
    started = train(with_settings(task(), encoder=str(kept)), tmp_path / "other")
    assert (started / "tagger.json").exists()
    assert not (started / "masked_lm").exists()
