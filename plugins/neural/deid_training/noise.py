"""Gradients that are clipped unit by unit, and noise on their sum (DP-SGD, Abadi et al. 2016)."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
import torch

from deid_assets.extending import TrainingError

_KEEPS_BELOW = 1e-6
"""Added to a length, so that rounding leaves no gradient above the longest."""


def secret_generator() -> np.random.Generator:
    """Return random numbers that nobody can draw again: the operating system seeds them."""
    return np.random.default_rng(secrets.randbits(256))


def draw_units(count: int, rate: float, rng: np.random.Generator) -> list[int]:
    """Return the units of a step, each drawn by itself with the same chance (Poisson sampling)."""
    return [int(number) for number in np.flatnonzero(rng.random(count) < rate)]


class NoisySum:
    """The sum of the units' gradients, each clipped to a length, with noise.

    Args:
        parameters: That are trained.
        clip: Longest gradient of a unit, over all parameters.
        noise: Deviation of the noise, in units of ``clip``.
        divisor: What the noisy sum is divided by: the units that a step has on average, never
            those that it has.
        rng: Of the noise.
    """

    def __init__(
        self,
        parameters: Sequence[torch.nn.Parameter],
        *,
        clip: float,
        noise: float,
        divisor: float,
        rng: np.random.Generator,
    ) -> None:
        self._parameters = parameters
        self._clip = clip
        self._noise = noise
        self._divisor = divisor
        self._rng = rng
        self._sums = self._zeros()

    def add_unit(self) -> None:
        """Clip the gradient that the parameters have, which is one unit's, add it and clear it.

        Raises:
            TrainingError: It is no number.
        """
        gradients = [
            None if each.grad is None else each.grad.detach().float() for each in self._parameters
        ]
        lengths = [torch.linalg.vector_norm(each) for each in gradients if each is not None]
        length = float(torch.linalg.vector_norm(torch.stack(lengths))) if lengths else 0.0
        if not np.isfinite(length):
            raise TrainingError("a gradient is no number; lower learning_rate")
        share = min(1.0, self._clip / (length + _KEEPS_BELOW))
        for parameter, total, gradient in zip(self._parameters, self._sums, gradients, strict=True):
            if gradient is not None:
                total.add_(gradient, alpha=share)
            parameter.grad = None

    def write_gradients(self) -> None:
        """Give the parameters the noisy mean as their gradient, and begin the next sum.

        A step without a unit is noise alone, as the accountant assumes.
        """
        deviation = self._noise * self._clip
        for parameter, total in zip(self._parameters, self._sums, strict=True):
            drawn = deviation * self._rng.standard_normal(tuple(total.shape))
            noise = torch.from_numpy(np.asarray(drawn)).to(total)
            parameter.grad = ((total + noise) / self._divisor).to(parameter.dtype)
        self._sums = self._zeros()

    def _zeros(self) -> list[torch.Tensor]:
        return [torch.zeros_like(each, dtype=torch.float32) for each in self._parameters]
