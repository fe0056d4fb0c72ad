"""Which examples an epoch reads, and what of them is hidden."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_onnx.pieces import SubTokenRow
from deid_transformers.examples import EpochOptions, SequenceExample, read_batches

MASK, BEFORE, AFTER, PAD = 4, 2, 3, 0


def example(number: int, *, words: int, tagged: bool) -> SequenceExample:
    """Return a sequence of words of two sub-tokens each, numbered so that it is known again."""
    ids = [BEFORE, *[100 + number] * (2 * words), AFTER]
    tags = np.full(words, int(tagged), dtype=np.int64)
    return SequenceExample(SubTokenRow(ids, np.arange(words) * 2 + 1, 0, 0), tags)


def read(examples: list[SequenceExample], reading: EpochOptions, seed: int) -> list[int]:
    """Return the numbers of the examples that an epoch reads, sorted."""
    batches = read_batches(examples, reading, rng=np.random.default_rng(seed))
    return sorted(int(row.max()) - 100 for batch in batches for row in batch.ids.numpy())


@given(
    tagged=st.lists(st.booleans(), min_size=1, max_size=40),
    keep=st.sampled_from([0.1, 0.5, 1.0]),
    size=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_every_sequence_with_a_span_is_read_and_a_share_of_the_others(
    tagged, keep, size, seed
) -> None:
    examples = [
        example(number, words=number % 5 + 1, tagged=one) for number, one in enumerate(tagged)
    ]
    reading = EpochOptions(size=size, pad=PAD, keep_empty=keep)

    found = read(examples, reading, seed)

    assert len(found) == len(set(found)) == reading.count(examples)
    assert {number for number, one in enumerate(tagged) if one} <= set(found)
    empty = len(tagged) - sum(tagged)
    assert len(found) - sum(tagged) == max(round(keep * empty), int(not any(tagged)))


def test_another_epoch_reads_others() -> None:
    examples = [example(number, words=2, tagged=False) for number in range(60)]
    reading = EpochOptions(size=8, pad=PAD, keep_empty=0.2)

    assert read(examples, reading, 1) != read(examples, reading, 2)
    assert read(examples, reading, 1) == read(examples, reading, 1)


@pytest.mark.parametrize(
    ("hide", "least", "most"), [(0.0, 0, 0), (0.25, 0.15, 0.35), (0.9, 0.8, 1.0)]
)
def test_whole_words_are_hidden_and_nothing_else(hide, least, most) -> None:
    examples = [example(number, words=9, tagged=True) for number in range(40)]
    hidden = words = 0
    for batch in read_batches(
        examples, EpochOptions(size=8, pad=PAD, mask=MASK, hide=hide), rng=np.random.default_rng(3)
    ):
        ids = batch.ids.numpy()
        assert (ids[:, 0] == BEFORE).all()
        assert (ids[:, -1] == AFTER).all()
        assert batch.tags.all()
        is_hidden = (ids[:, 1:-1] == MASK).reshape(len(ids), -1, 2)
        assert (is_hidden[..., 0] == is_hidden[..., 1]).all()
        hidden, words = (
            hidden + int(is_hidden[..., 0].sum()),
            words + is_hidden.shape[0] * is_hidden.shape[1],
        )
    assert least <= hidden / words <= most
