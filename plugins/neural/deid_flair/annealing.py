"""The learning rate of a phase, and when the phase ends."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Annealing:
    """A rate that falls while nothing improves, as Flair's trainer lets it fall.

    ``patience`` epochs without improvement are waited for; the next one lowers the rate. The phase
    ends when the rate is below ``lowest``. With the published settings (0.1, 0.5, 3, 0.0001), a
    flat metric lowers the rate ten times and ends the phase after 41 epochs.

    Args:
        rate: Of the next epoch.
        factor: Multiplies the rate.
        patience: Epochs.
        lowest: Least rate that is trained with.
        best: Best metric so far; greater is better.
        waited: Epochs since the best one or since the rate was lowered.
    """

    rate: float
    factor: float
    patience: int
    lowest: float
    best: float | None = None
    waited: int = 0

    def step(self, metric: float) -> bool:
        """Take the metric of an epoch, and return whether it is the best so far."""
        improved = self.best is None or metric > self.best
        if improved:
            self.best, self.waited = metric, 0
        else:
            self.waited += 1
        if self.waited > self.patience:
            self.rate, self.waited = self.rate * self.factor, 0
        return improved

    @property
    def ended(self) -> bool:
        """Whether the rate is below the lowest."""
        return self.rate < self.lowest


_WARM = 0.1
"""Share of a phase in which the rate of ``cycle`` rises (Smith and Topin 2017 rise for longer)."""


def cycle(rate: float, done: float) -> float:
    """Return the rate at a point of a phase whose epochs are counted beforehand.

    A rise in a line, a fall to nothing.

    Args:
        rate: The highest.
        done: Share of the phase's steps that are done, in [0, 1].
    """
    return rate * (done / _WARM if done < _WARM else (1 - done) / (1 - _WARM))
