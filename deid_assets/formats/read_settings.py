"""How notes are read, as people write it: ``KEY=VALUE``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from deid_assets.core.errors import ConfigError
from deid_assets.formats.catalogue import absent, option_groups
from deid_assets.formats.options import (
    IGNORED,
    Archives,
    Columns,
    Conll,
    FormatOptions,
    ReadOptions,
)

_SETTINGS = (
    "encoding",
    "delimiter",
    "formulas",
    "offsets",
    "discontinuous",
    "max_note_chars",
    "ignore",
)
_COLUMNS: Mapping[str, str] = {
    "column.id": "note_id",
    "column.text": "text",
    "column.patient_id": "patient_id",
    "column.lang": "lang",
    "column.spans": "spans",
}
_GROUPS: Mapping[str, type[Any]] = {"conll": Conll, "archives": Archives}


def _defaults(groups: Mapping[str, type[Any]]) -> dict[str, Any]:
    return {
        f"{group}.{each.name}": each.default
        for group, options in groups.items()
        for each in fields(options)
    }


_GROUPED = _defaults(_GROUPS)
READ_SETTINGS = (*_SETTINGS, *_COLUMNS, *_GROUPED)
"""Keys of ``read_options`` that are always there, as ``--read`` and ``[read]`` of a ``batch.toml``
have them.
"""


def plugin_settings(options: type[FormatOptions] | None) -> list[str]:
    """Return the keys of ``read_options`` that set the options of a plugin's format."""
    return list(_defaults({options.group: options})) if options else []


def list_known_settings() -> tuple[str, ...]:
    """Return every key of ``read_options``, those of installed plugins among them."""
    return (*READ_SETTINGS, *_defaults(option_groups()))


def limits_of(options: ReadOptions) -> dict[str, float]:
    """Return what bounds the cost of reading, by key: sizes and counts, and times."""
    groups = {"archives": options.archives} | {
        group: options.of(kind) for group, kind in option_groups().items()
    }
    limits: dict[str, float] = {"max_note_chars": options.max_note_chars}
    for group, chosen in groups.items():
        for each in fields(chosen):
            if each.name.startswith("max_") or each.name.endswith("timeout_s"):
                limits[f"{group}.{each.name}"] = getattr(chosen, each.name)
    return limits


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
        grouped = _GROUPED if name in READ_SETTINGS else _defaults(option_groups())
        if not equals or name not in (*READ_SETTINGS, *grouped):
            raise _report_unknown(setting, name)
        if name in _COLUMNS:
            columns[_COLUMNS[name]] = value
        elif name in grouped:
            group, _, key = name.partition(".")
            groups.setdefault(group, {})[key] = _convert(name, value, grouped[name])
        elif name == "ignore":
            chosen[name] = (*chosen.get(name, IGNORED), *filter(None, value.split(",")))
        elif name == "max_note_chars":
            chosen[name] = int(value) if value.isdecimal() else 0  # which ReadOptions refuses
        else:
            chosen[name] = "\t" if (name, value) == ("delimiter", "tab") else value
    made = {group: options(**groups.pop(group)) for group, options in _GROUPS.items()}
    of_plugins = tuple(option_groups()[group](**values) for group, values in groups.items())
    return ReadOptions(
        **chosen, **made, columns=Columns(**columns), annotations=annotations, formats=of_plugins
    )


def _report_unknown(setting: str, name: str) -> ConfigError:
    group = name.partition(".")[0]
    keys = ", ".join(list_known_settings())
    lacking = next((f"; {known.fault}" for known in absent() if known.group == group), "")
    return ConfigError(f"--read {setting!r} must read KEY=VALUE with KEY one of {keys}{lacking}")


def _convert(name: str, value: str, default: Any) -> str | bool | int | float:
    """Return a value of the kind that the setting has by default; where that is none, a number."""
    if isinstance(default, str):
        return value
    if isinstance(default, bool) and value in ("true", "false"):
        return value == "true"
    number = re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", value)
    if number and not isinstance(default, bool):
        return float(value) if isinstance(default, float) else int(float(value))
    wanted = "true or false" if isinstance(default, bool) else "a number"
    raise ConfigError(f"--read {name}={value!r}: give {wanted}")
