"""The table of formats, and reading and writing through it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from deid_assets.core.errors import InputError
from deid_assets.core.label_maps import I2B2_2014, PHI
from deid_assets.core.phi import LabelMap
from deid_assets.formats import brat, conll, conll_writer, i2b2, jsonl, parquet, table, text
from deid_assets.formats.annotated import Annotated, Draft, Fault
from deid_assets.formats.assemble import assemble
from deid_assets.formats.fields import is_encodable
from deid_assets.formats.options import ReadOptions, WriteOptions
from deid_assets.formats.source import Source, files

_DEFAULT_READ = ReadOptions()
_DEFAULT_WRITE = WriteOptions()


@dataclass(frozen=True, slots=True)
class Format:
    """How one format is read and written.

    Args:
        name: How it is chosen.
        suffixes: Of its files, in lower case; the first is written.
        reader: From one file to its drafts.
        writer: From a path and notes to the whole output, or none of it.
        is_folder: Notes are files of a folder; else one file holds many.
        keeps: What survives a write and a read, of ``spans``, ``native_label``, ``score``, ``source``, ``patient_id``,
            ``lang`` and ``meta``. Text always does, byte for byte, or the writer raises;
            the writer of conll raises for spans that overlap, too.
        labels: Label map when none is given.
    """

    name: str
    suffixes: tuple[str, ...]
    reader: Callable[[Source, ReadOptions], Iterator[Draft | Fault]]
    writer: Callable[[Path, Iterable[Annotated], WriteOptions], None]
    is_folder: bool
    keeps: frozenset[str]
    labels: LabelMap = PHI


_ALL = frozenset({"spans", "native_label", "score", "source", "patient_id", "lang", "meta"})

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        known.name: known
        for known in (
            Format("jsonl", (".jsonl", ".ndjson"), jsonl.read, jsonl.write, is_folder=False, keeps=_ALL),
            Format("csv", (".csv",), table.read, table.write, is_folder=False, keeps=_ALL),
            Format("parquet", (".parquet", ".pq"), parquet.read, parquet.write, is_folder=False, keeps=_ALL),
            Format("txt", (".txt",), text.read, text.write, is_folder=True, keeps=frozenset()),
            Format("brat", (".txt", ".ann"), brat.read, brat.write, is_folder=True, keeps=frozenset({"spans"})),
            Format(
                "i2b2",
                (".xml",),
                i2b2.read,
                i2b2.write,
                is_folder=True,
                keeps=frozenset({"spans"}),
                labels=I2B2_2014,
            ),
            Format(
                "conll",
                (".conll", ".iob", ".iob2", ".bio"),
                conll.read,
                conll_writer.write,
                is_folder=False,
                keeps=frozenset({"spans", "lang"}),
            ),
        )
    }
)
"""Every format by name."""


def detect_format(path: Path) -> str:
    """Return the name of the format, by suffix or by what the folder and its subfolders hold.

    A folder with any ``.ann`` is brat. A single ``.txt`` or ``.xml`` is one note.

    Raises:
        InputError: Nothing known is there, or several formats are.
    """
    suffixes = {path.suffix.lower()}
    if path.is_dir():
        suffixes = {Path(name).suffix.lower() for _, _, names in os.walk(path) for name in names}
    if ".ann" in suffixes and path.is_dir():
        suffixes -= {".txt"}
    found = {known.name for known in FORMATS.values() if suffixes & {*known.suffixes}}
    if ".ann" not in suffixes:
        found -= {"brat"}
    if len(found) != 1:
        seen = f"could be {' or '.join(sorted(found))}" if found else "is none that is known"
        raise InputError(f"the format of {path} {seen}; name one of {', '.join(sorted(FORMATS))}")
    return found.pop()


def read_notes(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    labels: LabelMap | None = None,
    options: ReadOptions = _DEFAULT_READ,
) -> Iterator[Annotated | Fault]:
    """Yield each note as it is read, and each fault in its place.

    A note with a fault is withheld: it never comes with fewer spans than the source has. Memory grows with the
    longest note, a batch of rows and the ids, not with the number of notes.

    Args:
        path: A file, or a folder with files of one format in it and below.
        format: Name of the format; detected when not given.
        labels: From native labels to categories. When not given: the categories' own names; for i2b2, its labels.
        options: What the reader has to know about the source.

    Raises:
        InputError: The path is not there, or the format is unknown or unclear.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist; name a file or folder of notes")
    chosen = _chosen(format or detect_format(path))
    return _read(path, chosen, labels or chosen.labels, options)


def _chosen(name: str) -> Format:
    if name not in FORMATS:
        raise InputError(f"unknown format {name!r}; choose one of {', '.join(sorted(FORMATS))}")
    return FORMATS[name]


def _read(path: Path, chosen: Format, labels: LabelMap, options: ReadOptions) -> Iterator[Annotated | Fault]:
    seen: set[str] = set()
    any_file = False
    for source in files(path, chosen.suffixes):
        any_file = True
        if isinstance(source, Fault):
            yield source
            continue
        is_empty = True
        for draft in _drafts(source, chosen, options):
            is_empty = False
            yield from _finished(draft, seen, labels, options)
        if is_empty and not _is_annotation(source):
            yield source.fault("empty-file", "holds no note; remove the file or export it again")
    if not any_file:
        yield Fault.at(".", "empty-file", f"no {' or '.join(chosen.suffixes)} file is in the folder; name another")


def _is_annotation(source: Source) -> bool:
    return source.path.suffix.lower() == ".ann"  # empty when nothing was found, and no note of its own


def _drafts(source: Source, chosen: Format, options: ReadOptions) -> Iterator[Draft | Fault]:
    try:
        if source.path.stat().st_size or _is_annotation(source):
            yield from chosen.reader(source, options)
    except OSError:
        yield source.fault("unreadable", "cannot be opened or read to its end; check its permissions")


def _finished(
    draft: Draft | Fault, seen: set[str], labels: LabelMap, options: ReadOptions
) -> Iterator[Annotated | Fault]:
    if isinstance(draft, Fault):
        yield draft
        return
    if draft.note_id in seen:
        reason = f"note {draft.note_id!r} came before; give every note its own id"
        yield Fault.at(draft.file, "duplicate-id", reason, line=draft.line, note_id=draft.note_id)
        return
    seen.add(draft.note_id)
    result = assemble(draft, labels, options)
    yield from result if isinstance(result, list) else [result]


def write_notes(
    path: Path,
    notes: Iterable[Annotated],
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    options: WriteOptions = _DEFAULT_WRITE,
) -> int:
    """Write notes and return how many; the output appears whole or not at all.

    Args:
        path: A file, which is replaced, or for a folder format a folder that is new or empty.
        notes: Taken one at a time.
        format: Name of the format; by the suffix of ``path`` when not given.
        options: How files are written.

    Raises:
        InputError: The format is unclear or cannot hold a note, or two notes have the same id.
        DigestError: Spans belong to another text.
        OffsetError: A span ends after its note.
    """
    chosen = _chosen(format or detect_format(path))
    if chosen.is_folder and path.suffix.lower() in chosen.suffixes:
        raise InputError(f"{chosen.name} writes one file per note; name a folder instead of {path.name}")
    seen: set[str] = set()
    chosen.writer(path, _checked(notes, seen), options)
    return len(seen)


def _checked(notes: Iterable[Annotated], seen: set[str]) -> Iterator[Annotated]:
    for annotated in notes:
        note, spans = annotated.note, annotated.spans
        if note.note_id in seen:
            raise InputError(f"note {note.note_id!r} comes twice; give every note its own id")
        seen.add(note.note_id)
        strings = [note.patient_id or "", note.lang or "", *note.meta, *note.meta.values()]
        if spans is not None:
            spans.checked(note)
            strings += [string for span in spans for string in (span.source, span.native_label)]
        if not all(is_encodable(string) for string in strings):
            raise InputError(f"note {note.note_id!r}: a field besides the text holds a lone surrogate; mend it")
        yield annotated
