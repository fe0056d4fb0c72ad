"""AdamW with a linear schedule, and seeds for every part of a run."""

from __future__ import annotations

import numpy as np
import torch


def adamw(
    model: torch.nn.Module,
    *,
    learning_rate: float,
    weight_decay: float,
    second_moment: float = 0.999,
) -> torch.optim.AdamW:
    """Return AdamW (Loshchilov and Hutter 2019) over the parameters of a model that are trained.

    Vectors, that is biases and norms, do not decay.

    Args:
        model: On its device.
        learning_rate: At its highest.
        weight_decay: Of matrices.
        second_moment: How slowly the mean of squared gradients follows, beta 2.
    """
    wanted = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {
            "params": [parameter for parameter in wanted if parameter.ndim > 1],
            "weight_decay": weight_decay,
        },
        {"params": [parameter for parameter in wanted if parameter.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=learning_rate,
        betas=(0.9, second_moment),
    )


def linear_rate(step: int, *, steps: int, warm_up: float, falls: bool = True) -> float:
    """Return the share of the highest learning rate at a step: up over the warm-up, then down to 0.

    Args:
        step: From 0.
        steps: In all.
        warm_up: Share of the steps that go up.
        falls: Whether it goes down; otherwise it stays.
    """
    rising = round(steps * warm_up)
    if step < rising:
        return (step + 1) / rising
    return max(0.0, (steps - step) / max(1, steps - rising)) if falls else 1.0


def device_of(model: torch.nn.Module) -> torch.device:
    """Return where a model is."""
    return next(model.parameters()).device


def precision(model: torch.nn.Module, *, bf16: bool) -> torch.autocast:
    """Return a context in which matrices are multiplied in bfloat16, where that is wanted."""
    return torch.autocast(device_of(model).type, dtype=torch.bfloat16, enabled=bf16)


def generator(*key: int) -> np.random.Generator:
    """Return random numbers that depend on the key alone, and seed PyTorch with it as well.

    A resumed run draws what an uninterrupted one draws, without stored generator states.
    """
    sequence = np.random.SeedSequence([part & 0xFFFFFFFF for part in key])
    torch.manual_seed(int(sequence.generate_state(1, np.uint64)[0]))
    return np.random.default_rng(sequence)
