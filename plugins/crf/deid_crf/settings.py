"""The ``[settings]`` of a recipe for this tagger."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from deid_assets.extending import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class CrfSettings:
    """Settings of a CRF.

    Args:
        c1: Weight of the L1 norm, 0 or more; the greater, the smaller the model.
        c2: Weight of the squared L2 norm, 0 or more.
        max_iterations: Of L-BFGS (with c1, of OWL-QN; Andrew and Gao 2007).
        min_patients: What fewer patients' notes have is left out of the model; a note that names no
            patient counts as one.
        window: Words to either side of a token that count, 0 to 8.
        keep_empty: Share of the sentences used in training among those without a span and without a
            prediction.
        predictions_of: Detector whose predictions are features, in training and in use; or empty.
        prediction_dropout: Share of the predicted spans that are left out in training, so that the
            tagger also learns to find what the detector of ``predictions_of`` does not.
        gazetteers: Compiled lists (``.gaz``), copied into the model folder.
        min_score: Less probable spans are not returned, unless the detector's options say
            otherwise.
    """

    c1: float = 0.05
    c2: float = 0.05
    max_iterations: int = 50
    min_patients: int = 2
    window: int = 3
    keep_empty: float = 0.25
    predictions_of: str = "rules"
    prediction_dropout: float = 0.0
    gazetteers: tuple[str, ...] = ()
    min_score: float = 0.0

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> CrfSettings:
        """Return checked settings.

        Raises:
            ConfigError: A key is unknown or a value is not allowed.
        """
        known = {each.name: each.default for each in fields(cls)}
        if strangers := sorted(given.keys() - known.keys()):
            raise ConfigError(
                f"[settings] of crf: unknown {', '.join(strangers)}; choose of {', '.join(known)}"
            )
        settings = cls(
            **{name: _convert(name, value, known[name]) for name, value in given.items()}
        )
        for name, (least, most) in _RANGES.items():
            if not least <= getattr(settings, name) <= most:
                raise ConfigError(
                    f"[settings] of crf: {name} is {getattr(settings, name)}; choose {least} to"
                    f" {most:g}"
                )
        for path in settings.gazetteers:
            if not Path(path).is_file() or Path(path).suffix != ".gaz":
                raise ConfigError(
                    f"[settings] of crf: no compiled list at {path}; make it with deid gazetteer"
                    " build"
                )
        return settings

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON has them."""
        return {**asdict(self), "gazetteers": list(self.gazetteers)}


_RANGES: Mapping[str, tuple[float, float]] = {
    "c1": (0.0, math.inf),
    "c2": (0.0, math.inf),
    "max_iterations": (1, 10_000),
    "min_patients": (1, 1_000),
    "window": (0, 8),
    "keep_empty": (0.0, 1.0),
    "prediction_dropout": (0.0, 1.0),
    "min_score": (0.0, 1.0),
}


def _convert(name: str, value: Any, default: Any) -> Any:
    """Return the value in the type of the default.

    Whole numbers pass for fractions, booleans for nothing.
    """
    if isinstance(default, tuple):
        if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
            return tuple(value)
        raise ConfigError(f"[settings] of crf: {name} must be a list of texts")
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not type(default):
        raise ConfigError(f"[settings] of crf: {name} must be of type {type(default).__name__}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"[settings] of crf: {name} must be a finite number")
    return value
