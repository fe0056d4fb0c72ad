"""Several trained models side by side, by the curves in their folders.

At one epoch, and each at its best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deid_assets.extending import InputError
from deid_assets.extending.measuring import plateau
from deid_generative.folder import ModelFolder

RATES = ("note_recall", "recall", "precision", "f1", "bleu_corpus")


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model of a table.

    Args:
        name: Of its folder.
        epoch: That the rates are of.
        plateau: First epoch from which its F1 gains no more.
        rates: Of the development notes, by the names in ``RATES``; none where one is not defined.
    """

    name: str
    epoch: int
    plateau: int
    rates: Mapping[str, float | None]


def at_epoch(models: Mapping[str, ModelFolder], epoch: int) -> list[ModelRow]:
    """Return every model at one epoch, as Table 3 of Dorémus et al. (2025) does.

    Raises:
        InputError: A model has no curve, or was not trained so long.
    """
    rows = []
    for name, points in _curves(models).items():
        point = next((one for one in points if one["epoch"] == epoch), None)
        if point is None:
            raise InputError(
                f"model {name} has {len(points)} epochs, not {epoch}; give a smaller --epoch"
            )
        rows.append(_row(name, points, point))
    return rows


def at_best(models: Mapping[str, ModelFolder]) -> list[ModelRow]:
    """Return every model at its own best epoch, by development F1.

    The first of several that are alike.

    Raises:
        InputError: A model has no curve.
    """
    curves = _curves(models)
    best = {
        name: max(points, key=lambda one: float(one["measures"]["f1"]))
        for name, points in curves.items()
    }
    return [_row(name, curves[name], point) for name, point in best.items()]


def _curves(models: Mapping[str, ModelFolder]) -> dict[str, list[Mapping[str, Any]]]:
    curves = {
        name: [one for one in model.curve if one.get("measures")] for name, model in models.items()
    }
    if empty := [name for name, points in curves.items() if not points]:
        raise InputError(f"model {empty[0]} was judged on no development note; train it with --dev")
    return curves


def _row(name: str, points: Sequence[Mapping[str, Any]], point: Mapping[str, Any]) -> ModelRow:
    found = point["measures"]
    values = {key: one["value"] if isinstance(one := found[key], dict) else one for key in RATES}
    return ModelRow(name, int(point["epoch"]), plateau(points), values)
