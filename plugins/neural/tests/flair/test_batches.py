"""What an epoch is cut into, and how fast it learns where epochs are counted beforehand."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_flair.annealing import cycle
from deid_flair.training import shuffle_batches


@given(st.lists(st.integers(1, 300), max_size=200), st.integers(1, 8), st.integers(0, 9))
def test_an_epoch_holds_every_input_once_and_each_batch_its_longest_first(
    sizes, size, seed
) -> None:
    lines = [["x"] * length for length in sizes]
    random.seed(seed)
    batches = shuffle_batches(lines, size)

    assert sorted(number for batch in batches for number in batch) == list(range(len(lines)))
    assert all(len(batch) <= size for batch in batches)
    assert all(sizes[left] >= sizes[right] for batch in batches for left, right in pairwise(batch))


def test_batches_are_of_like_length_and_in_no_order_of_length() -> None:
    draw = random.Random(1)
    lines = [["x"] * draw.randint(1, 200) for _ in range(2_000)]
    random.seed(1)
    batches = shuffle_batches(lines, 16)
    longest = [len(lines[batch[0]]) for batch in batches]

    assert sum(longest) * 16 < 1.1 * sum(map(len, lines))
    assert longest not in (sorted(longest), sorted(longest, reverse=True))


def test_another_seed_gives_other_batches() -> None:
    lines = [["x"]] * 50
    made = []
    for seed in (1, 1, 2):
        random.seed(seed)
        made.append(shuffle_batches(lines, 4))

    assert made[0] == made[1] != made[2]


@pytest.mark.parametrize(
    ("done", "rate"), [(0.0, 0.0), (0.05, 1.0), (0.1, 2.0), (0.55, 1.0), (1.0, 0.0)]
)
def test_a_cycle_rises_for_a_tenth_and_falls_to_nothing(done, rate) -> None:
    assert cycle(2.0, done) == pytest.approx(rate)


def test_a_cycle_lasts_all_its_epochs_whatever_its_metric(task, train, tmp_path) -> None:
    wanted = task(max_epochs=5, schedule="cycle", optimizer="adamw", learning_rate=0.02, patience=0)
    curve = train(wanted, tmp_path / "whole")
    rates = [epoch.learning_rate for epoch in curve]

    assert len(curve) == 5
    assert max(rates) <= 0.02
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < 0.003
