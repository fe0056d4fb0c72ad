"""The loop: resumed runs, accumulated gradients, the best weights, and when it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from deid_assets.extending import Epoch, TrainingError

torch = pytest.importorskip("torch")

from deid_training.checkpoint import Checkpoint, copy_trained_weights  # noqa: E402
from deid_training.learner import (  # noqa: E402
    EpochScore,
    Learner,
    LoopSettings,
    Loss,
    stretches,
)
from deid_training.loop import Loop  # noqa: E402
from deid_training.optimize import adamw, generator, linear_rate  # noqa: E402

ROWS = 12
EPOCHS = 4


class KilledError(Exception):
    """Stands for a kill at a moment of a run."""


class SumLearner(Learner[torch.Tensor]):
    """Learns sums of numbers, under dropout, behind a layer that stays as it is.

    Args:
        scores: Of the epochs, or none.
        parts: Of each batch.
        factor: Of every loss.
    """

    def __init__(
        self,
        scores: Sequence[float] = (),
        *,
        parts: int = 1,
        factor: float = 1.0,
        dropout: float = 0.2,
    ) -> None:
        generator(7)
        frozen = torch.nn.Linear(3, 3).requires_grad_(requires_grad=False)
        layers = (frozen, torch.nn.Dropout(dropout), torch.nn.Linear(3, 1))
        self.model = torch.nn.Sequential(*layers)
        self.optimizer = adamw(self.model, learning_rate=0.05, weight_decay=0.01)
        self.rates: list[float] = []
        self._scores = scores
        self._parts = parts
        self._factor = factor
        self._numbers = torch.from_numpy(generator(8).normal(size=(ROWS, 3))).float()

    def batches(self, epoch: int) -> Iterator[list[torch.Tensor]]:
        order = generator(1, epoch).permutation(ROWS)
        for first in range(0, ROWS, 6):
            rows = self._numbers[order[first : first + 6]]
            yield list(rows.chunk(self._parts))

    def loss(self, part: torch.Tensor) -> Loss:
        self.rates.append(self.optimizer.param_groups[0]["lr"])
        wrong = self.model(part)[:, 0] - part.sum(1)
        return Loss(self._factor * wrong.pow(2).sum(), len(part), divisor=6)

    def rate(self, step: int) -> float:
        return linear_rate(step, steps=EPOCHS * 2, warm_up=0.25)

    def judge(self, epoch: int, loss: float) -> EpochScore:
        del loss
        return EpochScore(self._scores[epoch - 1] if self._scores else None)


def same(one: Learner[torch.Tensor], other: Learner[torch.Tensor]) -> bool:
    left = copy_trained_weights(one.model)
    right = copy_trained_weights(other.model)
    return all(torch.equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize("scores", [(), (0.1, 0.3, 0.2, 0.1)])
@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_killed_run_ends_as_one_that_was_not(
    at: int, scores: Sequence[float], tmp_path: Path
) -> None:
    whole: list[Epoch] = []
    unbroken = SumLearner(scores)
    Loop(unbroken, LoopSettings(EPOCHS), report=whole.append).run()

    def kill(epoch: Epoch) -> None:
        if epoch.epoch == at:
            raise KilledError

    checkpoint = Checkpoint(tmp_path, "task")
    with pytest.raises(KilledError):
        Loop(SumLearner(scores), LoopSettings(EPOCHS), checkpoint, kill).run()
    again: list[Epoch] = []
    resumed = SumLearner(scores)
    progress = Loop(resumed, LoopSettings(EPOCHS), checkpoint, again.append).run()

    assert same(resumed, unbroken)
    assert len(resumed.rates) == (EPOCHS - at) * 2, "what was done is not done again"
    assert [(one.epoch, one.loss) for one in again] == [(one.epoch, one.loss) for one in whole]
    assert progress.best_epoch == (2 if scores else EPOCHS)


def test_a_checkpoint_has_what_is_trained_alone_and_another_layout_is_not_resumed(
    tmp_path: Path,
) -> None:
    checkpoint = Checkpoint(tmp_path, "task")
    Loop(SumLearner(), LoopSettings(EPOCHS), checkpoint).run()
    state = checkpoint.read()
    assert state is not None
    assert set(checkpoint.tensors(state, "model")) == {"2.weight", "2.bias"}

    path = tmp_path / "state.json"
    path.write_text(json.dumps({**state, "layout": 0}))
    learner = SumLearner()
    Loop(learner, LoopSettings(EPOCHS), checkpoint).run()
    assert len(learner.rates) == EPOCHS * 2


def test_gradients_of_parts_add_up_to_that_of_the_batch() -> None:
    one = SumLearner(dropout=0.0)
    three = SumLearner(parts=3, dropout=0.0)
    losses = [Loop(each, LoopSettings(EPOCHS)).run().curve[-1]["loss"] for each in (one, three)]

    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    left = copy_trained_weights(one.model)
    right = copy_trained_weights(three.model)
    assert all(torch.allclose(left[name], right[name], atol=1e-5) for name in left)


def test_rates_follow_the_schedule() -> None:
    learner = SumLearner()
    Loop(learner, LoopSettings(EPOCHS)).run()
    shares = [linear_rate(step, steps=8, warm_up=0.25) for step in range(8)]
    assert learner.rates == pytest.approx([0.05 * share for share in shares])


def test_the_weights_of_the_first_best_epoch_are_left() -> None:
    plateau = SumLearner((0.1, 0.4, 0.4, 0.2))
    progress = Loop(plateau, LoopSettings(EPOCHS)).run()
    second = SumLearner((0.0, 0.1, 0.0, 0.0))
    Loop(second, LoopSettings(EPOCHS)).run()
    third = SumLearner((0.0, 0.1, 0.2, 0.0))
    Loop(third, LoopSettings(EPOCHS)).run()

    assert progress.best_epoch == 2
    assert same(plateau, second)
    assert not same(plateau, third)


@pytest.mark.parametrize(
    ("scores", "least", "epochs"),
    [
        ((0.5, 0.4, 0.3, 0.6), 0.0, 3),
        ((0.0, 0.0, 0.0, 0.0), 0.0, 4),
        ((-0.5, -0.6, -0.7, -0.1), -float("inf"), 3),
    ],
)
def test_patience_begins_where_something_is_learnt(
    scores: Sequence[float], least: float, epochs: int
) -> None:
    settings = LoopSettings(EPOCHS, patience=2, least=least)
    assert len(Loop(SumLearner(scores), settings).run().curve) == epochs


def test_a_loss_that_is_no_number_is_said_with_the_remedy_and_no_step_is_made() -> None:
    learner = SumLearner(factor=float("nan"))
    before = copy_trained_weights(learner.model)
    with pytest.raises(TrainingError, match="the loss is no number; choose another rate"):
        Loop(learner, LoopSettings(EPOCHS, remedy="choose another rate")).run()
    after = copy_trained_weights(learner.model)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_gradient_is_no_longer_than_the_clip() -> None:
    def length(clip: float | None) -> float:
        learner = SumLearner()
        Loop(learner, LoopSettings(epochs=1, clip=clip)).run()
        gradients = [each.grad.flatten() for each in learner.list_clipped()]
        return float(torch.cat(gradients).norm())

    assert length(0.01) == pytest.approx(0.01, rel=1e-3)
    assert length(None) > 0.1


def test_without_dropout_every_epoch_sees_the_same_loss_where_nothing_is_learnt() -> None:
    def losses(*, has_dropout: bool) -> set[float]:
        learner = SumLearner()
        learner.optimizer.param_groups[0]["lr"] = learner.optimizer.param_groups[1]["lr"] = 0.0
        settings = LoopSettings(EPOCHS, has_dropout=has_dropout)
        return {round(point["loss"], 4) for point in Loop(learner, settings).run().curve}

    assert len(losses(has_dropout=False)) == 1
    assert len(losses(has_dropout=True)) == EPOCHS


def test_steps_are_cut_where_any_number_ends() -> None:
    assert stretches(10, 4, None) == [range(4), range(4, 8), range(8, 10)]
    assert stretches(6, 4, 3) == [range(3), range(3, 4), range(4, 6)]
    assert stretches(4, 4) == [range(4)]
