"""The ``[settings]`` of a recipe, checked: what trainers share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from deid_assets.core.errors import ConfigError

Settings = TypeVar("Settings", bound=BaseModel)


def check_settings(model: type[Settings], given: Mapping[str, Any], *, trainer: str) -> Settings:
    """Return a trainer's settings checked and completed.

    Raises:
        ConfigError: A key is unknown or a value is not allowed; the message names each.
    """
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, fault['loc'])) or 'settings'}: {fault['msg']}"
            for fault in error.errors()
        ]
        raise ConfigError(f"settings of the trainer {trainer!r}: {'; '.join(faults)}") from None
