"""Every word keeps sub-tokens of its own, whatever the tokenizer; windows tile the words."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers_here import KINDS, SENTENCES, train

from deid_assets.core.errors import PluginError
from deid_assets.core.tagging import tokenize
from deid_onnx.pieces import (
    Pieces,
    PieceSettings,
    SubTokenRow,
    batches,
    pad_rows,
    rows,
    word_windows,
)

SETTINGS = PieceSettings(before=2, after=3, pad=0, unknown=1, window=64, overlap=16, word=16)
_MADE: dict[str, Path] = {}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    if not _MADE:
        _MADE.update({kind: train(kind, tmp_path_factory.mktemp(kind)) for kind in KINDS})
    return _MADE


@pytest.mark.parametrize("kind", KINDS)
def test_words_cut_one_by_one_give_the_sub_tokens_of_the_whole_text(
    kind: str, made: dict[str, Path]
) -> None:
    text = "The patient was admitted by Ana Moreno"
    whole = json.loads(made[kind].read_text())
    whole |= {"truncation": None, "padding": None}
    expected = Tokenizer.from_str(json.dumps(whole)).encode(text, add_special_tokens=False).ids

    words = Pieces(made[kind], SETTINGS).of(text, tokenize(text))

    assert [piece for word in words for piece in word] == expected
    assert len(words) == 7


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_word_that_is_glued_to_another_is_not_cut_as_after_a_blank(
    kind: str, made: dict[str, Path]
) -> None:
    text = "tel tel(tel"
    words = Pieces(made[kind], SETTINGS).of(text, tokenize(text))

    assert words[0] == words[1]
    assert words[3] != words[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "text",
    [
        "a\x00b \x07 \u200b \u200d x",
        "\ufeffname\u00a0: O\u2019Brien\u2028ID 12345678Z",
        "Cafe\u0301 \U0001f468\u200d\u2695\ufe0f 漢字",
        "x" * 500 + " y",
        "\u0301\u0301 \ufffd",
    ],
    ids=["control", "exotic blanks", "astral", "endless word", "marks alone"],
)
def test_no_word_is_lost(kind: str, text: str, made: dict[str, Path]) -> None:
    tokens = tokenize(text)

    words = Pieces(made[kind], SETTINGS).of(text, tokens)

    assert len(words) == len(tokens)
    assert all(1 <= len(word) <= SETTINGS.word for word in words)
    assert not {SETTINGS.before, SETTINGS.after, SETTINGS.pad} & {
        piece for word in words for piece in word
    }


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(text=st.text(max_size=60))
def test_every_word_of_any_text_is_owned_by_one_row(
    kind: str, text: str, made: dict[str, Path]
) -> None:
    tokens = tokenize(text)
    small = PieceSettings(before=2, after=3, pad=0, unknown=1, window=16, overlap=5, word=6)
    words = Pieces(made[kind], small).of(text, tokens)

    found = rows(words, small, source=0)

    owned = [row.word + place for row in found for place in range(len(row.firsts))]
    assert owned == list(range(len(tokens)))
    for row in found:
        assert len(row.ids) <= 16
        assert [row.ids[first] for first in row.firsts] == [
            word[0] for word in words[row.word :][: len(row.firsts)]
        ]


@pytest.mark.skipif(
    "DEID_CORPORA" not in os.environ, reason="set DEID_CORPORA to the folder of the corpora"
)
@pytest.mark.parametrize("kind", KINDS)
def test_every_word_of_real_notes_is_owned_by_one_row(kind: str, made: dict[str, Path]) -> None:
    pieces = Pieces(made[kind], SETTINGS)
    for path in sorted(Path(os.environ["DEID_CORPORA"]).glob("annotated/*/train.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines()[:20]:
            text = json.loads(line)["text"]
            tokens = tokenize(text)
            owned = [
                row.word + place
                for row in rows(pieces.of(text, tokens), SETTINGS, source=0)
                for place in range(len(row.firsts))
            ]
            assert owned == list(range(len(tokens))), path.parent.name


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 7), max_size=80), st.integers(8, 30), st.integers(0, 14))
def test_windows_own_each_word_once_and_show_it_its_neighbours(
    sizes: list[int], room: int, overlap: int
) -> None:
    overlap = min(overlap, room // 2, room - 8)
    found = word_windows(sizes, room=room, overlap=overlap)

    assert [
        number for window in found for number in range(window.own_start, window.own_stop)
    ] == list(range(len(sizes)))
    for window in found:
        assert sum(sizes[window.start : window.stop]) <= room
        assert window.start <= window.own_start <= window.own_stop <= window.stop
    for left, right in itertools.pairwise(found):
        assert sum(sizes[right.start : left.stop]) <= overlap


def test_what_fits_is_one_window() -> None:
    (window,) = word_windows([2] * 10, room=20, overlap=5)

    assert (window.start, window.stop, window.own_start, window.own_stop) == (0, 10, 0, 10)
    assert word_windows([], room=20, overlap=5) == []


def test_a_line_end_stands_behind_the_word_before_it(made: dict[str, Path]) -> None:
    text = "Edad: 47\r\nSexo"
    with_lines = PieceSettings(before=2, after=3, pad=0, unknown=1, line=4)
    plain = Pieces(made["wordpiece"], SETTINGS).of(text, tokenize(text))

    words = Pieces(made["wordpiece"], with_lines).of(text, tokenize(text))

    assert words == [plain[0], plain[1], [*plain[2], 4], plain[3]]


@given(
    st.lists(st.integers(1, 50), max_size=40), st.integers(1, 120), st.sampled_from([0.0, 0.8, 1.0])
)
def test_batches_hold_each_row_once_and_are_no_larger_than_allowed(
    lengths: list[int], positions: int, alike: float
) -> None:
    found = batches(lengths, positions=positions, alike=alike, least=20)

    assert sorted(number for batch in found for number in batch) == list(range(len(lengths)))
    assert all(
        len(batch) == 1 or len(batch) * max(lengths[n] for n in batch) <= positions
        for batch in found
    )


def test_rows_of_unlike_length_are_not_padded_to_the_longest() -> None:
    lengths = [200, 190, 60, 55, 50, 12, 11, 10]

    padding = [
        sum(len(batch) * max(lengths[n] for n in batch) for batch in found)
        for found in (batches(lengths, positions=4096, alike=0.0), batches(lengths, positions=4096))
    ]

    assert padding == [1600, 616]
    assert batches(lengths, positions=4096) == [[0, 1], [2, 3, 4], [5, 6, 7]]


def test_padding_is_masked() -> None:
    arrays = pad_rows(
        [SubTokenRow(ids, np.zeros(0, np.int64), 0, 0) for ids in ([2, 7, 3], [2, 3])], pad=9
    )

    np.testing.assert_array_equal(arrays["input_ids"], [[2, 7, 3], [2, 3, 9]])
    np.testing.assert_array_equal(arrays["attention_mask"], [[1, 1, 1], [1, 1, 0]])


def test_words_are_remembered_without_end_to_memory(
    made: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deid_onnx.pieces._REMEMBERED", 3)
    pieces = Pieces(made["wordpiece"], SETTINGS)

    for text in SENTENCES[:3] * 2:
        assert len(pieces.of(text, tokenize(text))) == len(tokenize(text))


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no such file"), ("{", "no tokenizer"), ("{}", "no tokenizer"), ("[]", "no tokenizer")],
)
def test_a_broken_tokenizer_is_one_clear_line(
    content: str | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)

    with pytest.raises(PluginError, match=message):
        Pieces(path, SETTINGS)


def test_a_window_with_no_room_is_refused() -> None:
    with pytest.raises(PluginError, match="room for the overlap and one word"):
        PieceSettings(before=2, after=3, pad=0, unknown=1, window=32, overlap=20, word=16)
