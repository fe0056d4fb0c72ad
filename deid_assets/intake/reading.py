"""Options for reading a batch.

The settings, its ``batch.toml``, and the options of ``deid batches retry``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from pydantic import ValidationError

from deid_assets.config import Settings
from deid_assets.config.settings import ReadingSettings
from deid_assets.core.errors import ConfigError
from deid_assets.core.label_maps import LABEL_MAPS, label_map
from deid_assets.core.phi import LabelMap
from deid_assets.formats import ReadOptions
from deid_assets.formats.catalogue import fault_of, load_installed
from deid_assets.formats.read_settings import limits_of, list_known_settings, read_options

BATCH_TOML = "batch.toml"
_MAX_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class ReadingPlan:
    """Options for reading a batch.

    Args:
        format: Name of the format; detected from the files where ``None``.
        labels: Label map of its annotations.
        lang: Of notes that name no language; detected from their text where ``None``.
        sender: Who sent it; empty where nobody said.
        options: What the readers have to know.
    """

    format: str | None
    labels: LabelMap
    lang: str | None
    sender: str
    options: ReadOptions


def how_to_read(
    settings: Settings, overrides: Mapping[str, object], folder: Path | None = None
) -> ReadingPlan:
    """Return how a batch is read.

    ``batch.toml`` overrides settings, and overrides given later override both.

    Who sends a batch may lower limits, not raise them.

    Args:
        settings: Of the installation.
        overrides: The options of ``deid batches retry``.
        folder: What arrived, where it is a folder, with or without a ``batch.toml``.

    Raises:
        ConfigError: A key is not known or has a value that is not allowed.
    """
    defaults = settings.intake.model_dump(exclude_defaults=True)
    sent = _of_folder(folder) if folder else {}
    told = [_check("settings, intake", defaults)]
    told += [
        _check_of_sender(sent, limits=limits_of(_options(defaults))),
        _check("deid batches retry", overrides),
    ]
    values: dict[str, object] = {}
    read: dict[str, object] = {}
    for own in told:
        values |= own.model_dump(exclude_defaults=True)
        read |= flat(own.read)
    reading = ReadingSettings.model_validate({**values, "read": read})
    return ReadingPlan(
        reading.format or None,
        label_map(reading.labels or settings.labels),
        reading.lang or None,
        reading.sender,
        _options({"read": read}),
    )


def _options(own: Mapping[str, object]) -> ReadOptions:
    return read_options(
        [f"{key}={value}" for key, value in flat(own.get("read")).items()], annotations=True
    )


def flat(read: object) -> dict[str, str]:
    """Return reading options as the command line has them.

    ``{"column": {"id": "nr"}}`` is ``column.id=nr``.
    """
    found: dict[str, str] = {}
    for key, value in read.items() if isinstance(read, Mapping) else ():
        if isinstance(value, Mapping):
            found |= {f"{key}.{name}": text for name, text in flat(value).items()}
        elif isinstance(value, list | tuple):
            found[str(key)] = ",".join(map(str, value))
        else:
            found[str(key)] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def _of_folder(folder: Path) -> dict[str, object]:
    path = folder / BATCH_TOML
    if not path.is_file() or path.is_symlink():
        return {}
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ConfigError(
                f"{BATCH_TOML}: larger than {_MAX_BYTES} bytes; write format, lang, labels and read"
                " only"
            )
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise ConfigError(f"{BATCH_TOML}: is not TOML in UTF-8; fix it") from None


def _check(where: str, own: Mapping[str, object]) -> ReadingSettings:
    reading = _read_as_model(where, own)
    if reading.format and (reason := fault_of(reading.format)):
        raise ConfigError(f"{where}: {reason}")
    if reading.labels:
        label_map(reading.labels)
    _options(own)
    return reading


def _check_of_sender(own: Mapping[str, object], *, limits: Mapping[str, float]) -> ReadingSettings:
    """Return what a ``batch.toml`` says.

    No message holds a value of it: it is shown where no text may be.
    """
    reading = _read_as_model(BATCH_TOML, own)
    if reading.format and reading.format not in {
        *load_installed().usable,
        *load_installed().faults,
    }:
        raise ConfigError(
            f"{BATCH_TOML}: format is unknown; choose one of {', '.join(load_installed().usable)}"
        )
    if reading.format and (reason := fault_of(reading.format)):
        raise ConfigError(f"{BATCH_TOML}: {reason}")
    if reading.labels and reading.labels not in LABEL_MAPS:
        raise ConfigError(
            f"{BATCH_TOML}: labels names no label map; choose one of"
            f" {', '.join(sorted(LABEL_MAPS))}"
        )
    for key, value in flat(reading.read).items():
        _check_option(key, value, limits=limits)
    try:
        _options(own)
    except ConfigError:
        raise ConfigError(
            f"{BATCH_TOML}: the keys of [read] contradict each other; leave one out"
        ) from None
    return reading


def _check_option(key: str, value: str, *, limits: Mapping[str, float]) -> None:
    if key not in list_known_settings():
        raise ConfigError(
            f"{BATCH_TOML}: a key of [read] is not known; write one of"
            f" {', '.join(list_known_settings())}"
        )
    if key.startswith("conll."):  # columns that go together
        return
    try:
        asked = limits_of(read_options([f"{key}={value}"], annotations=True))
    except ConfigError:
        raise ConfigError(
            f"{BATCH_TOML}: the value of {key} in [read] is not allowed; `deid detect --read"
            f" {key}=…` says why"
        ) from None
    if key in limits and asked[key] > limits[key]:
        raise ConfigError(
            f"{BATCH_TOML}: {key} in [read] is above the limit of {limits[key]:,}; lower it, or"
            " have it raised with `deid batches retry --read` or in the settings, [intake.read]"
        )


def _read_as_model(where: str, own: Mapping[str, object]) -> ReadingSettings:
    known = list(ReadingSettings.model_fields)
    for key in own:
        if key not in known:
            nearest = get_close_matches(str(key), known, n=1)
            raise ConfigError(
                f"{where}: a key is not known; write {nearest[0] if nearest else ', '.join(known)}"
            )
    try:
        return ReadingSettings.model_validate(own)
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        raise ConfigError(f"{where}: {fault['loc'][0]}: {fault['msg']}") from None
