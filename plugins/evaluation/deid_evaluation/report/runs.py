"""Recipes compared over runs or folds, as ``deid train`` writes them (``training.comparison``).

Read and checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deid_assets.extending import InputError

Finite = float | None


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class _Difference(_Section):
    recipe: str
    mean: float
    deviation: float
    u: float
    p: float
    p_corrected: float
    effect: float


class _Row(_Section):
    recipe: str
    over: Literal["runs", "folds"]
    f1: tuple[float, ...] = Field(min_length=1)
    mean: float
    deviation: Finite
    seconds: float
    six: Mapping[str, Finite]
    six_deviation: Mapping[str, Finite]
    each: tuple[Mapping[str, Finite], ...]
    difference: _Difference | None = None


class _Document(_Section):
    document: Literal["deid-assets/recipe-runs"] = Field(alias="schema")
    version: Literal[1]
    rows: tuple[_Row, ...] = Field(min_length=1)


def read_runs(path: Path) -> dict[str, Any]:
    """Return a document that ``deid train`` wrote, checked.

    Raises:
        InputError: It is not one.
    """
    try:
        return _Document.model_validate_json(path.read_bytes()).model_dump(
            mode="json", by_alias=True
        )
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({type(error).__name__})") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        raise InputError(
            f"{path}: {where}: {first['msg']}; give the runs.json that deid train writes for"
            " several recipes or folds"
        ) from None
