"""Inputs of so many words: every token once, in training and in use, in notes of any length."""

import pytest

from deid_assets.core.tagging import input_ranges, read_grouping, tokenize
from deid_assets.core.trainer import inputs


@pytest.mark.parametrize("words", [0, 1, 127, 128, 129, 5_000])
def test_every_token_is_in_one_chunk_and_no_word_is_cut(words):
    text = " ".join(
        f"w{number}, (12/03)\nEnd." if number % 7 == 0 else f"w{number}" for number in range(words)
    )
    tokens = tokenize(text)
    parts = input_ranges(text, tokens, "128 words")

    assert [number for part in parts for number in part] == list(range(len(tokens)))
    sizes = [len(text[tokens[part.start][0] : tokens[part.stop - 1][1]].split()) for part in parts]
    assert all(size == 128 for size in sizes[:-1])
    assert all(0 < size <= 128 for size in sizes)


def test_a_short_note_is_one_input_as_without_chunks():
    text = "Ann Lee was seen."
    tokens = tokenize(text)
    assert inputs(text, tokens, grouping="128 words") == inputs(text, tokens, grouping=1000)


def test_a_chunk_that_is_too_long_for_a_network_is_cut_and_loses_nothing():
    text = "a.b.c.d " * 300
    tokens = tokenize(text)
    parts = inputs(text, tokens, grouping="128 words", longest=100)
    assert max(map(len, parts)) <= 100
    assert [number for part in parts for number in part] == list(range(len(tokens)))


@pytest.mark.parametrize("value", ["0 words", "words", "128 Words", 0, -1, "128 words ", None, 1.5])
def test_what_is_no_grouping_is_refused(value):
    with pytest.raises(ValueError, match=r"grouping|literal"):
        read_grouping(value)
