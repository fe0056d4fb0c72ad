"""Sub-tokens without padding give the scores that the trained module gives, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_onnx.families.transformers import pack_feeds
from deid_onnx.kinds import KINDS, kind_of
from deid_onnx.pieces import SubTokenRow, pad_rows
from deid_transformers.packed import PackedEncoder, fits

SIZES = {
    "vocab_size": 60,
    "hidden_size": 24,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 40,
    "num_labels": 5,
    "initializer_range": 0.4,
}


def encoder(kind: str, *, layers: int, kinds: int = 2, **options: Any) -> Any:
    torch.manual_seed(1)
    made = {"bert": transformers.BertConfig, "roformer": transformers.RoFormerConfig}[kind](
        **SIZES,
        num_hidden_layers=layers,
        type_vocab_size=kinds,
        attn_implementation="eager",
        **options,
    )
    return transformers.AutoModelForTokenClassification.from_config(made).eval()


def rows_of(lengths: list[int], *, with_kinds: bool, seed: int) -> list[SubTokenRow]:
    rng = np.random.default_rng(seed)
    found = []
    for length in lengths:
        ids = rng.integers(3, SIZES["vocab_size"], length).tolist()
        words = np.sort(rng.choice(np.arange(1, length), size=max(1, length // 2), replace=False))
        found.append(
            SubTokenRow(
                ids, words, 0, 0, rng.integers(0, KINDS, length).tolist() if with_kinds else ()
            )
        )
    return found


@pytest.mark.parametrize("with_kinds", [True, False])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("kind", ["bert", "roformer"])
@settings(max_examples=10, deadline=None)
@given(lengths=st.lists(st.integers(2, 30), min_size=1, max_size=5), seed=st.integers(0, 1_000))
def test_packed_scores_are_the_scores_of_the_padded(
    kind, layers, with_kinds, lengths, seed
) -> None:
    model = encoder(kind, layers=layers, kinds=KINDS if with_kinds else 2)
    some = rows_of(lengths, with_kinds=with_kinds, seed=seed)
    feeds = {name: torch.from_numpy(array) for name, array in pack_feeds(some).items()}

    with torch.inference_mode():
        found = PackedEncoder(model, list(feeds))(*feeds.values()).numpy()
        whole = model(
            **{name: torch.from_numpy(array) for name, array in pad_rows(some, pad=0).items()}
        ).logits.numpy()

    wanted = np.concatenate([whole[number, row.firsts] for number, row in enumerate(some)])
    assert fits(model)
    np.testing.assert_allclose(found, wanted, atol=2e-4, rtol=1e-4)


def test_rows_of_a_batch_do_not_see_each_other() -> None:
    model = encoder("roformer", layers=2)
    some = rows_of([12, 7, 20], with_kinds=False, seed=4)

    def scores(given: list[SubTokenRow]) -> np.ndarray:
        feeds = {name: torch.from_numpy(array) for name, array in pack_feeds(given).items()}
        with torch.inference_mode():
            found: np.ndarray = PackedEncoder(model, list(feeds))(*feeds.values()).numpy()
        return found

    alone = np.concatenate([scores([row]) for row in some])
    np.testing.assert_allclose(scores(some), alone, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("bert", {"position_embedding_type": "relative_key"}),
        ("roformer", {"rotary_value": True}),
        ("bert", {"is_decoder": True}),
    ],
)
def test_what_is_computed_in_another_way_is_not_packed(kind, options) -> None:
    assert not fits(encoder(kind, layers=1, **options))


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (" Ana", " Eva", True),
        (" Ana", " ana", False),
        (" Ana", " ANA", False),
        (" Ana", "Ana", False),
        (" Moreno", " Rivera", True),
        (" 12", " 47", True),
        (" 12", " 112", False),
        (" 12345678901", " 1234567890123", True),
        (" É", " A", True),
        (" .", " :", False),
        (" ?", " %", True),
    ],
)
def test_words_that_look_alike_are_of_one_kind(one: str, other: str, is_same: bool) -> None:
    assert (kind_of(one) == kind_of(other)) is is_same


@given(st.text(min_size=1))
def test_every_word_has_a_kind_and_none_is_that_of_no_word(word: str) -> None:
    assert 0 < kind_of(word) < KINDS
