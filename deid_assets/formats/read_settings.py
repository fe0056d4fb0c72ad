"""How notes are read, as people write it: ``KEY=VALUE``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from deid_assets.core.errors import ConfigError
from deid_assets.formats.options import Archives, Columns, Conll, Documents, ReadOptions
from deid_assets.formats.selection import IGNORED

_SETTINGS = ("encoding", "delimiter", "formulas", "offsets", "discontinuous", "max_note_chars", "ignore")
_COLUMNS: Mapping[str, str] = {
    "column.id": "note_id",
    "column.text": "text",
    "column.patient_id": "patient_id",
    "column.lang": "lang",
    "column.spans": "spans",
}
_GROUPS: Mapping[str, type[Any]] = {"conll": Conll, "documents": Documents, "archives": Archives}
_GROUPED: Mapping[str, Any] = {
    f"{group}.{setting.name}": setting.default for group, options in _GROUPS.items() for setting in fields(options)
}
READ_SETTINGS = (*_SETTINGS, *_COLUMNS, *_GROUPED)
"""Keys of ``read_options``, as ``--read`` and the table ``[read]`` of a ``batch.toml`` have them."""


def read_options(settings: Sequence[str], *, annotations: bool) -> ReadOptions:
    """Return how notes are read, from ``KEY=VALUE`` settings.

    Raises:
        ConfigError: A setting is unknown, or its value is not one of those allowed.
    """
    chosen: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    groups: dict[str, dict[str, Any]] = {group: {} for group in _GROUPS}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or name not in READ_SETTINGS:
            raise ConfigError(f"--read {setting!r} must read KEY=VALUE with KEY one of {', '.join(READ_SETTINGS)}")
        if name in _COLUMNS:
            columns[_COLUMNS[name]] = value
        elif name in _GROUPED:
            group, _, key = name.partition(".")
            groups[group][key] = _typed(name, value)
        elif name == "ignore":
            chosen[name] = (*chosen.get(name, IGNORED), *filter(None, value.split(",")))
        elif name == "max_note_chars":
            chosen[name] = int(value) if value.isdecimal() else 0  # which ReadOptions refuses
        else:
            chosen[name] = "\t" if (name, value) == ("delimiter", "tab") else value
    made = {group: options(**groups[group]) for group, options in _GROUPS.items()}
    return ReadOptions(**chosen, **made, columns=Columns(**columns), annotations=annotations)


def _typed(name: str, value: str) -> str | bool | int | float:
    """Return a value of the kind that the setting has by default; where that is none, a number."""
    default = _GROUPED[name]
    if isinstance(default, str):
        return value
    if isinstance(default, bool) and value in ("true", "false"):
        return value == "true"
    number = re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", value)
    if number and not isinstance(default, bool):
        return float(value) if isinstance(default, float) else int(float(value))
    wanted = "true or false" if isinstance(default, bool) else "a number"
    raise ConfigError(f"--read {name}={value!r}: give {wanted}")
