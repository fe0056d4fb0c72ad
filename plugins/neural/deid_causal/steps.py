"""What trainings of causal models share.

That is pairs, batches, the loss on answers alone and AdamW.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from deid_training import optimize

IGNORED = -100


@dataclass(frozen=True, slots=True)
class Pair:
    """What a model reads and what it is to write.

    Args:
        prompt: Tokens before the answer.
        answer: Tokens of the answer, its end included.
    """

    prompt: list[int]
    answer: list[int]


@dataclass(frozen=True, slots=True)
class PairBatch:
    """Pairs of equal length after padding.

    Args:
        ids: Tokens, pair by position.
        mask: 1 where there is a token.
        targets: The tokens of answers, ``IGNORED`` elsewhere.
    """

    ids: torch.Tensor
    mask: torch.Tensor
    targets: torch.Tensor


def batch_of(pairs: Sequence[Pair], pad: int, device: torch.device) -> PairBatch:
    """Return pairs as tensors, padded on the right."""
    size = max(len(pair.prompt) + len(pair.answer) for pair in pairs)
    ids = torch.full((len(pairs), size), pad)
    mask = torch.zeros((len(pairs), size), dtype=torch.long)
    targets = torch.full((len(pairs), size), IGNORED)
    for row, pair in enumerate(pairs):
        whole, begin = [*pair.prompt, *pair.answer], len(pair.prompt)
        ids[row, : len(whole)] = torch.tensor(whole)
        mask[row, : len(whole)] = 1
        targets[row, begin : len(whole)] = torch.tensor(pair.answer)
    return PairBatch(ids.to(device), mask.to(device), targets.to(device))


def response_loss(model: Any, batch: PairBatch) -> tuple[torch.Tensor, int]:
    """Return the loss summed over the tokens of answers, and their number.

    Prompts are not learnt.
    """
    logits = model(input_ids=batch.ids, attention_mask=batch.mask, use_cache=False).logits[:, :-1]
    targets = batch.targets[:, 1:]
    loss = torch.nn.functional.cross_entropy(
        logits.float().flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="sum"
    )
    return loss, int((targets != IGNORED).sum())


def adamw(
    model: torch.nn.Module, *, learning_rate: float, weight_decay: float
) -> torch.optim.AdamW:
    """Return AdamW for a causal model, whose squared gradients are followed faster."""
    return optimize.adamw(
        model, learning_rate=learning_rate, weight_decay=weight_decay, second_moment=0.98
    )
