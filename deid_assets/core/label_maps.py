"""Label maps of public corpora, read from ``label_maps.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from deid_assets.core.errors import ConfigError
from deid_assets.core.phi import LabelMap, Phi

PHI = LabelMap("phi", {label.value: label for label in Phi})
"""The categories themselves."""


def _read() -> dict[str, LabelMap]:
    tables = tomllib.loads(Path(__file__).with_name("label_maps.toml").read_text("utf-8"))
    maps = {}
    for name, table in tables.items():
        labels = {native: Phi(label) if label else None for native, label in table.items()}
        maps[name] = LabelMap(name, labels)
    return maps


LABEL_MAPS: Mapping[str, LabelMap] = {PHI.name: PHI, **_read()}


def label_map(name: str) -> LabelMap:
    """Return a label map by name.

    Raises:
        ConfigError: There is no such label map.
    """
    if name not in LABEL_MAPS:
        raise ConfigError(
            f"unknown label map {name!r}; choose one of {', '.join(sorted(LABEL_MAPS))}"
        )
    return LABEL_MAPS[name]
