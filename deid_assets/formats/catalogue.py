"""The table of formats. A reader or writer is imported when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import cast

from deid_assets.core.errors import InputError
from deid_assets.core.label_maps import I2B2_2014, PHI
from deid_assets.core.phi import LabelMap
from deid_assets.formats.annotated import Annotated, Draft, Fault
from deid_assets.formats.options import ReadOptions, WriteOptions
from deid_assets.formats.signatures import is_cda, is_fhir, is_omop
from deid_assets.formats.source import Source

Reader = Callable[[Source, ReadOptions], Iterator[Draft | Fault]]
Writer = Callable[[Path, Iterable[Annotated], WriteOptions], None]


@dataclass(frozen=True, slots=True)
class Format:
    """How one format is read and written.

    Args:
        name: How it is chosen.
        suffixes: Of its files, in lower case; the first is written.
        module: Has the function ``read``; loaded when first used.
        is_folder: Notes are files of a folder; else one file holds many.
        keeps: What survives a write and a read, of ``spans``, ``native_label``, ``score``, ``source``, ``patient_id``,
            ``lang`` and ``meta``. Text always does, byte for byte, or the writer raises;
            the writer of conll raises for spans that overlap, too.
        labels: Label map when none is given.
        writer_module: Has the function ``write``, where it is not in ``module``; ``None`` for a format that is only read.
        is_told: Whether a file with one of the suffixes is of this format, for suffixes that several formats have;
            ``None`` when both could be. A format without it has the files that no other format claims.
        may_lack_notes: A file without a note is no fault, as long as the folder has one.
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

    @property
    def reader(self) -> Reader:
        """From one file to its drafts."""
        return cast("Reader", import_module(self.module).read)

    @property
    def writer(self) -> Writer:
        """From a path and notes to the whole output, or none of it.

        Raises:
            InputError: The format is only read.
        """
        if self.writer_module is None:
            names = ", ".join(sorted(known.name for known in FORMATS.values() if known.writer_module is not None))
            raise InputError(f"{self.name} is read only; write one of {names}")
        return cast("Writer", import_module(self.writer_module or self.module).write)


_HERE = "deid_assets.formats"
_NONE: frozenset[str] = frozenset()
_SPANS = frozenset({"spans"})
_WHOSE = frozenset({"patient_id", "lang"})
_ALL = _SPANS | _WHOSE | {"native_label", "score", "source", "meta"}

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        known.name: known
        for known in (
            Format("jsonl", (".jsonl", ".ndjson"), f"{_HERE}.jsonl", is_folder=False, keeps=_ALL),
            Format("csv", (".csv",), f"{_HERE}.table", is_folder=False, keeps=_ALL),
            Format("parquet", (".parquet", ".pq"), f"{_HERE}.parquet", is_folder=False, keeps=_ALL),
            Format("txt", (".txt",), f"{_HERE}.text", is_folder=True, keeps=_NONE),
            Format("brat", (".txt", ".ann"), f"{_HERE}.brat", is_folder=True, keeps=_SPANS),
            Format("i2b2", (".xml",), f"{_HERE}.i2b2", is_folder=True, keeps=_SPANS, labels=I2B2_2014),
            Format(
                "conll",
                (".conll", ".iob", ".iob2", ".bio"),
                f"{_HERE}.conll",
                is_folder=False,
                keeps=frozenset({"spans", "lang"}),
                writer_module=f"{_HERE}.conll_writer",
            ),
            Format(
                "fhir",
                (".ndjson", ".json", ".jsonl"),
                f"{_HERE}.fhir",
                is_folder=False,
                keeps=_WHOSE,
                is_told=is_fhir,
                may_lack_notes=True,
            ),
            Format("cda", (".xml", ".cda"), f"{_HERE}.cda", is_folder=True, keeps=_WHOSE, is_told=is_cda),
            Format("docx", (".docx", ".docm"), f"{_HERE}.docx", is_folder=True, keeps=_NONE),
            Format("rtf", (".rtf",), f"{_HERE}.rtf", is_folder=True, keeps=_NONE),
            Format("eml", (".eml",), f"{_HERE}.eml", is_folder=True, keeps=_NONE),
            Format("pdf", (".pdf",), f"{_HERE}.pdf", is_folder=True, keeps=_NONE, writer_module=None),
            Format(
                "omop",
                (".parquet", ".pq", ".omop"),
                f"{_HERE}.omop",
                is_folder=True,
                keeps=frozenset({"patient_id"}),
                writer_module=f"{_HERE}.omop_writer",
                is_told=is_omop,
                may_lack_notes=True,
            ),
            Format("hl7", (".hl7", ".er7"), f"{_HERE}.hl7", is_folder=False, keeps=_WHOSE, may_lack_notes=True),
        )
    }
)
"""Every format by name."""
