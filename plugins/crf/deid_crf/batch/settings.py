"""The ``[settings]`` of a recipe for a batch CRF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from deid_assets.extending import ConfigError
from deid_crf.batch.coarse import FOUND

WHERE = "[settings] of batch_crf"
LEAST: Mapping[str, float] = {"NAME": 0.85, "LOCATION": 0.5, "DATE": 0.7, "ORGANIZATION": 0.5}
"""Thresholds that cost eight development corpora half a point of precision on average
(benchmarks/LEAVE_ONE_OUT.md).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """Settings of a batch CRF.

    Args:
        predictions_of: Detector whose labels are learnt, and are a feature of the given CRF.
        least: Category to the least mean probability at which a token is taken for it; one that is
            not named is not looked for.
        max_iterations: Of each of the three CRFs.
        min_patients: Of a batch, what fewer patients' notes have is left out of the model.
        characters: Most text of each half that is learnt from, drawn by patient.
        min_spans, min_owners: What each half must have at least, to be learnt from: spans of the
            four categories, and patients, or notes of nobody.
    """

    predictions_of: str = "rules"
    least: Mapping[str, float] = field(default_factory=lambda: dict(LEAST))
    max_iterations: int = 30
    min_patients: int = 1
    characters: int = 1_000_000
    min_spans: int = 20
    min_owners: int = 5

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> BatchSettings:
        """Return checked settings.

        Raises:
            ConfigError: A key is unknown or a value is not allowed.
        """
        known = [each.name for each in fields(cls)]
        if strangers := sorted(given.keys() - set(known)):
            raise ConfigError(
                f"{WHERE}: unknown {', '.join(strangers)}; choose of {', '.join(known)}"
            )
        settings = cls(**given)
        if not isinstance(settings.predictions_of, str) or not settings.predictions_of:
            raise ConfigError(
                f"{WHERE}: predictions_of must name the detector to learn from, such as rules"
            )
        object.__setattr__(settings, "least", check_least(settings.least, where=WHERE))
        for name in ("max_iterations", "min_patients", "characters", "min_spans", "min_owners"):
            value = getattr(settings, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ConfigError(f"{WHERE}: {name} must be a whole number from 1")
        return settings

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON has them."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {
            "least": dict(self.least)
        }


def check_least(given: object, *, where: str) -> dict[str, float]:
    """Return the least probability of each category.

    Raises:
        ConfigError: No table of numbers from 0 to 1 by category, or none at all.
    """
    names = [label.value for label in FOUND]
    if not isinstance(given, Mapping) or not given or not given.keys() <= set(names):
        raise ConfigError(
            f"{where}: least must have a number for one or more of {', '.join(names)}"
        )
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
            raise ConfigError(f"{where}: least.{name} must be a number from 0 to 1")
    return {name: float(given[name]) for name in names if name in given}
