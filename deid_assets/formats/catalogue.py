"""What a format is, and the formats of text, which are always there.

A reader is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import cast

from deid_assets.core.label_maps import PHI
from deid_assets.core.phi import LabelMap
from deid_assets.formats.annotated import Annotated, Fault, ParsedNote
from deid_assets.formats.options import FormatOptions, ReadOptions, WriteOptions
from deid_assets.formats.source import Source

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
