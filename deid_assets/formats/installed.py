"""Every format that is installed: those of text, and those of plugins, found by entry point.

A plugin's declaration is imported when the first format is looked for; its readers only when they
are used. What cannot be loaded is listed with its fault and hides no other format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from deid_assets.core.errors import InputError, PluginError
from deid_assets.formats.catalogue import BUILT_IN, Format
from deid_assets.formats.options import FormatOptions
from deid_assets.formats.signatures import is_cda, is_fhir, is_omop
from deid_assets.own_plugins import missing
from deid_assets.plugins import FORMATS as GROUP
from deid_assets.plugins import Plugin, available, load_declaration


@dataclass(frozen=True, slots=True)
class Outside:
    """A format of a plugin of this project.

    Known by its files, so that an error names the plugin where it is missing.

    Args:
        name: As in ``Format``.
        suffixes: As in ``Format``.
        is_told: As in ``Format``.
        group: Of its options.
    """

    name: str
    suffixes: tuple[str, ...]
    is_told: Callable[[Path], bool | None] | None = None
    group: str = ""

    @property
    def fault(self) -> str:
        """Why it is not there."""
        return missing(GROUP, self.name)


_GROUPS = frozenset({"column", "conll", "archives"})
"""Of the options that are always there."""
OUTSIDE: Mapping[str, Outside] = MappingProxyType(
    {
        known.name: known
        for known in (
            Outside("brat", (".txt", ".ann")),
            Outside("i2b2", (".xml",)),
            Outside("conll", (".conll", ".iob", ".iob2", ".bio")),
            Outside("cda", (".xml", ".cda"), is_cda),
            Outside("fhir", (".ndjson", ".json", ".jsonl"), is_fhir),
            Outside("hl7", (".hl7", ".er7")),
            Outside("omop", (".parquet", ".pq", ".omop"), is_omop),
            Outside("docx", (".docx", ".docm"), group="documents"),
            Outside("eml", (".eml",), group="documents"),
            Outside("pdf", (".pdf",), group="documents"),
            Outside("rtf", (".rtf",), group="documents"),
        )
    }
)
"""Formats of this project's own plugins, by name."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What is installed.

    Args:
        usable: Formats by name.
        faults: Why a format cannot be used, by its name.
    """

    usable: Mapping[str, Format]
    faults: Mapping[str, str]


@cache
def installed() -> Installed:
    """Return the formats that this process reads and writes, as they were when the first was looked
    for.
    """
    usable, faults = dict(BUILT_IN), {}
    for name, plugin in available(GROUP).items():
        if name in BUILT_IN:
            faults[f"{name} of {plugin.distribution}"] = (
                f"deid-assets has a format {name}; rename that of the plugin"
            )
            continue
        try:
            found = _declaration(plugin)
            _check_group(found, usable)
            usable[name] = found
        except PluginError as error:
            faults[name] = str(error)
    faults |= {
        name: known.fault
        for name, known in OUTSIDE.items()
        if name not in usable and name not in faults
    }
    return Installed(MappingProxyType(usable), MappingProxyType(faults))


def _declaration(plugin: Plugin) -> Format:
    found = load_declaration(plugin, "format")
    if not isinstance(found, Format) or found.name != plugin.name:
        raise PluginError(f"format {plugin.name!r}: its entry point names no Format of that name")
    return found


def _check_group(found: Format, usable: Mapping[str, Format]) -> None:
    group = found.options.group if found.options else "own"
    others = [
        known.options for known in usable.values() if known.options and known.options.group == group
    ]
    if (
        not re.fullmatch("[a-z][a-z_]*", group)
        or group in _GROUPS
        or any(each != found.options for each in others)
    ):
        raise PluginError(
            f"format {found.name!r}: its options' group {group!r} is no word or is taken; rename it"
        )


def option_groups() -> dict[str, type[FormatOptions]]:
    """Return the options of plugins' formats, by group."""
    return {known.options.group: known.options for known in FORMATS.values() if known.options}


class _Usable(Mapping[str, Format]):
    """The usable formats; a plugin's declaration is imported when one is asked for."""

    def __getitem__(self, name: str) -> Format:
        return installed().usable[name]

    def __iter__(self) -> Iterator[str]:
        return iter(installed().usable)

    def __len__(self) -> int:
        return len(installed().usable)


FORMATS: Mapping[str, Format] = _Usable()
"""Every format that can be used, by name."""


def known_by_files() -> list[Format | Outside]:
    """Return every format that a file may be in, usable or not."""
    return [*FORMATS.values(), *absent()]


def absent() -> list[Outside]:
    """Return the formats of this project's plugins that cannot be used."""
    return [known for name, known in OUTSIDE.items() if name not in FORMATS]


def format_named(name: str) -> Format:
    """Return a format by its name.

    Raises:
        InputError: It is unknown, or cannot be used; the message says which plugin to install or
            mend.
    """
    if fault := fault_of(name):
        raise InputError(fault)
    return installed().usable[name]


def fault_of(name: str) -> str:
    """Why a format cannot be used, or nothing."""
    found = installed()
    if name in found.usable:
        return ""
    if name in found.faults:
        return f"format {name!r} cannot be used: {found.faults[name]}"
    return f"unknown format {name!r}; choose one of {', '.join(sorted(found.usable))}"
