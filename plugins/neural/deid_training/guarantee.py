"""What a training with noise promises, and the least noise that keeps a promise.

Accounted by opacus for Gaussian noise on units that are drawn independently.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from deid_assets.extending import ConfigError, remedy

Accountant = Literal["rdp", "prv"]
ACCOUNTANTS: tuple[Accountant, ...] = ("rdp", "prv")
"""Rényi divergences (Mironov 2017) and privacy losses (Gopi et al. 2021).

Both bound from above, the second more tightly.
"""
MOST_NOISE = 10_000.0
"""More noise lowers epsilon no further: the orders that the accountant tries end."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What is promised: (epsilon, delta), for one unit more or less.

    Args:
        noise: Deviation of the noise, in units of the longest gradient.
        rate: Share of the units that a step reads, each drawn by itself.
        steps: Of the whole training.
        delta: Chance with which epsilon need not hold.
    """

    noise: float
    rate: float
    steps: int
    delta: float

    def epsilon(self, accountant: Accountant = "rdp") -> float:
        """Return epsilon; infinite where there is no noise.

        Raises:
            ConfigError: Opacus is not installed.
        """
        if not self.noise:
            return float("inf")
        found = _load_accountants()(accountant)
        found.history = [(self.noise, self.rate, self.steps)]
        with warnings.catch_warnings():
            # that the best order is at the edge of those tried: the bound still holds
            warnings.simplefilter("ignore")
            return float(found.get_epsilon(delta=self.delta))


def guarantee_for(epsilon: float, *, rate: float, steps: int, delta: float) -> Guarantee:
    """Return the guarantee with the least noise that keeps epsilon by the Rényi accountant.

    Raises:
        ConfigError: Epsilon or delta is out of range, no noise reaches it, or opacus is not
            installed.
    """
    if epsilon <= 0 or not 0 < delta < 1:
        raise ConfigError(
            f"epsilon {epsilon} and delta {delta}: epsilon is above 0, delta between 0 and 1"
        )
    if np.isinf(epsilon):
        return Guarantee(0.0, rate, steps, delta)
    low, high = 0.01, 1.0
    while Guarantee(high, rate, steps, delta).epsilon() > epsilon:
        low, high = high, 2 * high
        if high > MOST_NOISE:
            raise ConfigError(
                f"epsilon {epsilon:g} at delta {delta:g} is reached by no noise in {steps} steps;"
                " take a greater epsilon or delta, or fewer steps"
            )
    while high - low > 0.01 * high:
        middle = (low + high) / 2
        low, high = (
            (low, middle)
            if Guarantee(middle, rate, steps, delta).epsilon() <= epsilon
            else (middle, high)
        )
    return Guarantee(high, rate, steps, delta)


def _load_accountants() -> Callable[[str], Any]:
    try:
        from opacus.accountants import create_accountant  # noqa: PLC0415 - heavy
    except ModuleNotFoundError:
        raise ConfigError(
            f"epsilon is accounted by opacus, which is not installed; {remedy('causal[private]')}"
        ) from None
    load: Callable[[str], Any] = create_accountant
    return load
