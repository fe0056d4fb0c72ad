"""The CRF's loss against every sequence written out.

The schedule of the learning rate; optimiser states.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import torch

from deid_assets.core.errors import TrainingError
from deid_assets.core.tagging import TagScheme, tag_set
from deid_training.checkpoint import Checkpoint, optimizer_tensors, restore_optimizer
from deid_training.optimize import adamw, generator, linear_rate
from deid_transformers.crf import LinearChain


@pytest.mark.parametrize("scheme", list(TagScheme))
def test_the_loss_is_the_share_of_the_path_among_all(scheme: TagScheme) -> None:
    tags = tag_set(["A"], scheme)
    generator(5)
    chain = LinearChain(tags, scheme)
    for parameter in chain.parameters():
        torch.nn.init.normal_(parameter)
    emissions = torch.randn(2, 4, len(tags))
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    gold = torch.tensor([[0, 1, 2, 0], [0, 0, 0, 0]])
    if scheme is TagScheme.BIOES:
        gold[0] = torch.tensor([tags.index(tag) for tag in ("O", "B-A", "E-A", "O")])
    decoded = chain.chain()

    loss = chain.loss(emissions, gold, mask)

    expected = torch.zeros(())
    for row, size in enumerate((4, 2)):
        scores = {
            path: (
                float(decoded.start[path[0]] + decoded.end[path[-1]])
                + sum(float(decoded.transitions[a, b]) for a, b in itertools.pairwise(path))
                + sum(float(emissions[row, at, tag]) for at, tag in enumerate(path))
            )
            for path in itertools.product(range(len(tags)), repeat=size)
        }
        expected += (
            torch.logsumexp(torch.tensor(list(scores.values())), 0)
            - scores[tuple(gold[row, :size].tolist())]
        )
    assert float(loss.detach()) == pytest.approx(float(expected), rel=1e-4)


def test_the_rate_goes_up_over_a_tenth_and_down_to_nothing() -> None:
    rates = [linear_rate(step, steps=100, warm_up=0.1) for step in range(100)]

    assert rates[:10] == pytest.approx([(step + 1) / 10 for step in range(10)])
    assert rates[10:] == pytest.approx([(100 - step) / 90 for step in range(10, 100)])
    assert linear_rate(0, steps=10, warm_up=0.0) == 1.0


def test_an_optimiser_goes_on_where_it_was() -> None:
    def made() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        generator(1)
        model = torch.nn.Linear(3, 2)
        return model, adamw(model, learning_rate=0.1, weight_decay=0.1)

    def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        model(torch.ones(1, 3)).pow(2).sum().backward()
        optimizer.step()

    model, optimizer = made()
    step(model, optimizer)
    kept, moments = (
        {name: value.clone() for name, value in model.state_dict().items()},
        optimizer_tensors(optimizer),
    )
    moments = {name: value.clone() for name, value in moments.items()}
    step(model, optimizer)
    other, second = made()
    other.load_state_dict(kept)
    restore_optimizer(second, moments)
    step(other, second)

    assert all(
        torch.equal(left, right)
        for left, right in zip(model.parameters(), other.parameters(), strict=True)
    )


def test_a_checkpoint_is_the_last_one_of_its_task(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, "task")
    assert checkpoint.read() is None

    for number in range(3):
        checkpoint.save({"epoch": number}, model={"w": torch.full((2,), float(number))}, best={})
    state = checkpoint.read()

    assert state is not None
    assert state["epoch"] == 2
    assert checkpoint.tensors(state, "model")["w"].tolist() == [2.0, 2.0]
    assert checkpoint.tensors(state, "best") == {}
    assert len(list(tmp_path.iterdir())) == 2
    assert Checkpoint(tmp_path, "other").read() is None
    (tmp_path / str(state["folder"]) / "model.safetensors").write_bytes(b"x")
    with pytest.raises(TrainingError, match="remove the folder"):
        checkpoint.tensors(state, "model")
