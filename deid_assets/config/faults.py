"""Faults of settings, a line each, with the name that was probably meant."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from deid_assets.core.errors import ConfigError, did_you_mean


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a file of settings holds.

    Raises:
        ConfigError: It cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); check DEID_CONFIG") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None


RENAMED = {"line_up": "ensemble"}
"""Settings of earlier versions to what they are called now."""


def faults_in(error: ValidationError, model: type[BaseModel]) -> Iterator[str]:
    """Yield what pydantic found, in our words where a name is wrong."""
    for fault in error.errors(include_input=False, include_url=False):
        key = ".".join(str(part) for part in fault["loc"])
        if fault["type"] == "extra_forbidden":
            *tables, name = (str(part) for part in fault["loc"])
            if name in RENAMED:
                yield f"{key}: is called {RENAMED[name]!r} now; rename it"
            else:
                yield (
                    f"{key}: there is no such"
                    f" setting{did_you_mean(name, _settings_in(model, tables))}"
                )
        else:
            yield f"{key}: {fault['msg']}"


def raise_all(where: Path | str, faults: Iterator[str]) -> None:
    """Raise what is wrong, if anything is.

    Raises:
        ConfigError: With a line for each fault.
    """
    if lines := [f"{where}: {fault}" for fault in faults]:
        raise ConfigError("\n".join(lines))


def _settings_in(model: type[BaseModel], tables: list[str]) -> list[str]:
    """Return the names of the settings in a table of a model."""
    inner: Any = model
    for name in tables:
        field = getattr(inner, "model_fields", {}).get(name)
        inner = field.annotation if field else None
    return list(getattr(inner, "model_fields", {}))
