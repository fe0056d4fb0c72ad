"""Opinions of several detectors on a word, weighed into one probability."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deid_assets.extending import Phi, Span
from deid_encoder import EncoderDetector, EncoderTrainer
from deid_encoder.folder import read_about
from deid_encoder.stack import Opinions, Stack, fit_stack, score_found

pytest.importorskip("torch")


def drawn(seed: int, size: int = 20_000) -> tuple[Opinions, np.ndarray]:
    """Return opinions, and words marked as three weights and a bias say."""
    draws = np.random.default_rng(seed)
    own = 1 / (1 + np.exp(-draws.normal(0, 2, size)))
    second = 1 / (1 + np.exp(-draws.normal(0, 2, size)))
    found = draws.choice([0.0, 0.6, 0.95], size)
    opinions = Opinions(own.astype(np.float32), second.astype(np.float32), found.astype(np.float32))
    chances = Stack(0.8, 0.4, 1.5, -0.5).probabilities(opinions)
    return opinions, draws.random(size) < chances


def test_the_weights_by_which_words_were_marked_are_found_again() -> None:
    opinions, marked = drawn(1)
    stack = fit_stack([opinions], [marked])
    assert (stack.own, stack.second, stack.found, stack.bias) == pytest.approx(
        (0.8, 0.4, 1.5, -0.5), abs=0.08
    )


def test_weighed_opinions_are_likelier_right_than_the_best_of_them() -> None:
    stack = fit_stack(*([each] for each in drawn(2)))
    opinions, marked = drawn(3)

    def surprise(chances: np.ndarray) -> float:
        return float(-np.log(np.where(marked, chances, 1 - chances)).mean())

    weighed = surprise(stack.probabilities(opinions))
    assert weighed < surprise(opinions.own)
    assert weighed < surprise(opinions.second)


def test_words_that_one_opinion_tells_apart_whole_give_weights_that_are_numbers() -> None:
    own = np.array([0.0, 1.0] * 50, dtype=np.float32)
    nothing = np.zeros(100, dtype=np.float32)
    stack = fit_stack([Opinions(own, nothing + 0.5, nothing)], [own > 0.5])
    chances = stack.probabilities(Opinions(own, nothing + 0.5, nothing))
    assert np.isfinite(chances).all()
    assert ((chances > 0.5) == (own > 0.5)).all()


def test_a_word_has_the_score_of_the_likeliest_span_in_which_it_begins() -> None:
    words = [(0, 3), (4, 8), (9, 12)]
    spans = [Span(4, 8, Phi.NAME, 0.6, "rules"), Span(4, 6, Phi.NAME, 0.9, "rules")]
    assert score_found(words, spans).tolist() == pytest.approx([0, 0.9, 0])
    assert score_found([], spans).tolist() == []


def test_a_model_with_a_second_opinion_keeps_its_weights_and_asks_for_it(
    packaged: Path, tmp_path: Path
) -> None:
    from test_encoder import documents, nothing, task

    del packaged
    EncoderTrainer().train(task(epochs=14, batch_pieces=120, second="compact"), tmp_path, nothing)
    about = read_about(tmp_path)
    assert about.second == "compact"
    assert about.stack is not None
    detector = EncoderDetector(model=tmp_path)
    alone = EncoderDetector(model=tmp_path, alone=True)
    assert "compact" in detector.version
    assert "compact" not in alone.version
    note = documents(1, first=60)[0].note
    (spans,) = detector.detect([note])
    assert {(11, 14), (23, 26)} <= {(span.start, span.end) for span in spans}
    assert {span.source for span in spans} == {"encoder"}
