"""A measured number, which never stands without its interval and what chance gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from deid_assets.core.errors import InputError
from deid_assets.evaluation.intervals import wilson

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A number with its 95 % interval and the value that chance gives.

    Args:
        name: What was measured, in a few words.
        value: The number.
        low: Lower end of the interval, at most ``value``.
        high: Upper end, at least ``value``.
        chance: What an attacker who knows nothing gets, or why there is no such value.
        units: How many independent units it was measured on, at least 2: one has no interval.
        unit: What these are.
        group: What it was measured of where there are several, such as a policy.

    Raises:
        InputError: A part is missing, is no number, or does not fit the others.
    """

    name: str
    value: float
    low: float
    high: float
    chance: float | str
    units: int
    unit: str = "notes"
    group: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("a measurement has no name; say what was measured")
        if not all(
            isinstance(part, int | float) and isfinite(part)
            for part in (self.value, self.low, self.high)
        ):
            raise InputError(
                f"measurement {self.name!r} has no interval; measure on more units, or leave it out"
            )
        if not self.low - _ROUNDING <= self.value <= self.high + _ROUNDING:
            raise InputError(
                f"measurement {self.name!r} lies outside its interval; compute both from the same"
                " data"
            )
        if self.chance == "" or (not isinstance(self.chance, str) and not isfinite(self.chance)):
            raise InputError(
                f"measurement {self.name!r} lacks what chance gives; name it, or say why there is"
                " none"
            )
        if self.units < 2:
            raise InputError(
                f"measurement {self.name!r} is of {self.units} {self.unit}; an interval needs two"
                " or more"
            )

    @classmethod
    def share(
        cls, name: str, hits: int, trials: int, *, chance: float | str, **about: Any
    ) -> Measurement:
        """Return a proportion of independent trials with Wilson's interval.

        Raises:
            InputError: There are fewer than two trials, or more hits than trials.
        """
        low, high = wilson(hits, trials)
        return cls(
            name=name, value=hits / trials, low=low, high=high, chance=chance, units=trials, **about
        )

    @classmethod
    def of_draws(
        cls,
        name: str,
        value: float,
        draws: Iterable[float],
        *,
        chance: float | str,
        units: int,
        **about: Any,
    ) -> Measurement:
        """Return a statistic with the percentile interval of its bootstrap draws (Efron 1979),
        widened to hold it.

        Args:
            name: What was measured.
            value: On all units.
            draws: On resamples of them, at least 100 that are numbers; others are left out.
            chance: As above.
            units: How many units were resampled.
            about: ``unit`` and ``group``.

        Raises:
            InputError: Fewer than 100 draws are numbers.
        """
        from deid_assets.evaluation.resampling import (  # noqa: PLC0415 - reports are made without numpy
            percentiles,
        )

        drawn = [draw for draw in draws if isfinite(draw)]
        if len(drawn) < 100:
            raise InputError(
                f"measurement {name!r} has {len(drawn)} usable draws; an interval needs 100"
            )
        low, high = percentiles(drawn)
        return cls(
            name=name,
            value=float(value),
            low=min(low, float(value)),
            high=max(high, float(value)),
            chance=chance,
            units=units,
            **about,
        )

    def to_json(self) -> dict[str, Any]:
        """Return it under plain names."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Measurement:
        """Return what ``to_json`` wrote.

        Raises:
            InputError: It is something else.
        """
        try:
            return cls(**fields)
        except TypeError:
            raise InputError(
                "a measurement has other fields than it must; write it with this version"
            ) from None

    def __str__(self) -> str:
        at_chance = "" if isinstance(self.chance, str) else f" (chance {self.chance:.3f})"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]{at_chance}"
