"""Every format: what one is, those of text, which are always there, and those of plugins.

A plugin's declaration is imported when the first format is looked for; its readers only when they
are used. What cannot be loaded is listed with its fault and hides no other format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import cast

from deid_assets.core.errors import InputError, PluginError
from deid_assets.core.label_maps import PHI
from deid_assets.core.phi import LabelMap
from deid_assets.formats.annotated import Annotated, Fault, ParsedNote
from deid_assets.formats.options import FormatOptions, ReadOptions, WriteOptions
from deid_assets.formats.signatures import is_cda, is_fhir, is_omop
from deid_assets.formats.source import Source
from deid_assets.own_plugins import describe_missing
from deid_assets.plugins import FORMATS as GROUP
from deid_assets.plugins import Plugin, available, load_declaration

Reader = Callable[[Source, ReadOptions], Iterator[ParsedNote | Fault]]
Writer = Callable[[Path, Iterable[Annotated], WriteOptions], None]


@dataclass(frozen=True, slots=True)
class Format:
    """One format: how it is recognised, read and written.

    Args:
        name: How it is chosen.
        suffixes: Of its files, in lower case; the first is written.
        module: Has the function ``read``; loaded when first used.
        is_folder: Notes are files of a folder; else one file holds many.
        keeps: What survives a write and a read, of ``spans``, ``native_label``, ``score``,
            ``source``, ``patient_id``, ``lang`` and ``meta``. Text always does, byte for byte, or
            the writer raises; the writer of conll raises for spans that overlap, too.
        labels: Label map when none is given.
        writer_module: Has the function ``write``, where it is not in ``module``; ``None`` for a
            format that is only read.
        is_told: Whether a file with one of the suffixes is of this format, for suffixes that
            several formats have; ``None`` when both could be. A format without it has the files
            that no other format claims.
        may_lack_notes: A file without a note is no fault, as long as the folder has one.
        identities_module: Has the function ``identities``, where files of the format say who the
            patients are.
        options: What the reader takes of ``ReadOptions.of``; several formats of a plugin may share
            one.
        faults: Sentences ``<fault>; <remedy>`` by kind, of the faults that a plugin's reader gives.
            Of a reader that is not of this project these alone are shown, and the common ones of
            ``declared.KINDS``.
        pointers: Suffixes of files that name a source elsewhere, such as a database, and hold no
            notes themselves.
    """

    name: str
    suffixes: tuple[str, ...]
    module: str
    is_folder: bool
    keeps: frozenset[str]
    labels: LabelMap = PHI
    writer_module: str | None = ""
    is_told: Callable[[Path], bool | None] | None = None
    may_lack_notes: bool = False
    identities_module: str = ""
    options: type[FormatOptions] | None = None
    faults: Mapping[str, str] = field(default_factory=dict, hash=False)
    pointers: frozenset[str] = frozenset()

    @property
    def reader(self) -> Reader:
        """Return the reader: from one file to its parsed notes."""
        return cast("Reader", import_module(self.module).read)

    @property
    def writer(self) -> Writer:
        """Return the writer: from a path and notes to the whole output, or none of it."""
        return cast("Writer", import_module(self.writer_module or self.module).write)


_HERE = "deid_assets.formats"
_NONE: frozenset[str] = frozenset()
_ALL = frozenset({"spans", "patient_id", "lang", "native_label", "score", "source", "meta"})

BUILT_IN: Mapping[str, Format] = MappingProxyType(
    {
        known.name: known
        for known in (
            Format("jsonl", (".jsonl", ".ndjson"), f"{_HERE}.jsonl", is_folder=False, keeps=_ALL),
            Format("csv", (".csv",), f"{_HERE}.table", is_folder=False, keeps=_ALL),
            Format("parquet", (".parquet", ".pq"), f"{_HERE}.parquet", is_folder=False, keeps=_ALL),
            Format("txt", (".txt",), f"{_HERE}.text", is_folder=True, keeps=_NONE),
        )
    }
)
"""Formats of text by name."""


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
        return describe_missing(GROUP, self.name)


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
def load_installed() -> Installed:
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
        return load_installed().usable[name]

    def __iter__(self) -> Iterator[str]:
        return iter(load_installed().usable)

    def __len__(self) -> int:
        return len(load_installed().usable)


FORMATS: Mapping[str, Format] = _Usable()
"""Every format that can be used, by name."""


def list_file_formats() -> list[Format | Outside]:
    """Return every format that a file may be in, usable or not."""
    return [*FORMATS.values(), *absent()]


def absent() -> list[Outside]:
    """Return the formats of this project's plugins that cannot be used."""
    return [known for name, known in OUTSIDE.items() if name not in FORMATS]


def format_named(name: str) -> Format:
    """Return a format by its name.

    Raises:
        InputError: It is unknown, or cannot be used; the message says which plugin to install
            or repair.
    """
    if fault := fault_of(name):
        raise InputError(fault)
    return load_installed().usable[name]


def fault_of(name: str) -> str:
    """Why a format cannot be used, or nothing."""
    found = load_installed()
    if name in found.usable:
        return ""
    if name in found.faults:
        return f"format {name!r} cannot be used: {found.faults[name]}"
    return f"unknown format {name!r}; choose one of {', '.join(sorted(found.usable))}"


def points_elsewhere(files: Iterable[Path]) -> bool:
    """Whether one of the files names a source, such as a database, instead of holding notes."""
    suffixes = {suffix for known in FORMATS.values() for suffix in known.pointers}
    return any(path.suffix.lower() in suffixes for path in files)
