"""Several annotations on the same notes: annotated notes or spans files, each under a name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deid_assets.extending import ConfigError, InputError, Note, SpanSet, label_map
from deid_assets.extending.commands import (
    FORMATS,
    Fault,
    NoteSource,
    ReadOptions,
    SpansFile,
    Withheld,
)
from deid_evaluation.commands.inputs import NamedFile, ReferenceNotes, check_names, read_gold


@dataclass(frozen=True, slots=True)
class NoteReading:
    """Options for reading notes.

    Args:
        format_name: Format; detected where not given.
        labels: Label map; that of the format where not given.
        options: As ``--read`` says.
    """

    format_name: str | None
    labels: str | None
    options: ReadOptions

    def gold(self, path: Path, withheld: Withheld) -> ReferenceNotes:
        """Return annotated notes.

        Raises:
            InputError: There are none.
        """
        source = NoteSource(path, self.format_name, None, self.options)
        labels = label_map(self.labels) if self.labels else FORMATS[source.format_name].labels
        return read_gold(source, labels, withheld)

    def notes(self, path: Path, withheld: Withheld) -> dict[str, Note]:
        """Return notes without their annotations.

        Raises:
            InputError: None could be read.
        """
        found: dict[str, Note] = {}
        for one in NoteSource(path, self.format_name, None, self.options).read():
            if isinstance(one, Fault):
                withheld.fault(one)
            else:
                found[one.note.note_id] = one.note
        if not found:
            raise InputError(f"{path}: no note could be read; nothing was compared")
        return found


@dataclass(frozen=True, slots=True)
class Annotations:
    """Annotations of several annotators or systems.

    Args:
        spans: Name to note id to spans; all of the same notes.
        notes: Note id to note, where a file has their text, else empty.
    """

    spans: Mapping[str, Mapping[str, SpanSet]]
    notes: Mapping[str, Note] = field(repr=False)

    @property
    def names(self) -> list[str]:
        """Names of the annotators."""
        return list(self.spans)

    def of(self, note_id: str) -> dict[str, SpanSet]:
        """Return who marked what in a note."""
        return {name: found[note_id] for name, found in self.spans.items()}


def read_annotations(
    files: Sequence[str],
    *,
    reading: NoteReading,
    notes: Path | None,
    sources: Sequence[str],
    withheld: Withheld,
) -> Annotations:
    """Return annotations: of each file, or of each source of a single spans file.

    Args:
        files: ``FILE[=NAME]``, annotated notes or spans files.
        reading: How notes are read.
        notes: The notes, for spans files.
        sources: Detectors of the spans file to compare; all of them when empty.
        withheld: Where faults go. A note that one file withholds is left out of all.

    Raises:
        ConfigError: There are fewer than two annotations, or two of one name.
        InputError: A source is absent, or the files are not of the same notes.
        DigestError: A file is of another version of a text.
        OffsetError: A span ends after its note.
    """
    named = [NamedFile.parse(file) for file in files]
    check_names(named)
    texts = {} if notes is None else reading.notes(notes, withheld)
    spans: dict[str, dict[str, SpanSet]] = {}
    for one in named:
        if is_spans_file(one.path):
            found = SpansFile(one.path).rest()
            by_source = len(named) == 1
            spans |= _by_source(one.path, found, sources) if by_source else {one.shown: found}
        else:
            gold = reading.gold(one.path, withheld)
            spans[one.shown] = dict(gold.spans)
            texts = {**gold.notes, **texts}
    if len(spans) < 2:
        raise ConfigError(
            "agreement is between two or more; give several files, or a spans file of several"
            " detectors"
        )
    return Annotations(_same_notes(spans, texts, withheld, notes), texts)


def _by_source(
    path: Path, found: Mapping[str, SpanSet], sources: Sequence[str]
) -> dict[str, dict[str, SpanSet]]:
    if len(sources) == 1 or len(set(sources)) < len(sources):
        raise ConfigError(
            "agreement is between two detectors or more; give --source twice, with two names"
        )
    present = sorted({span.source for spans in found.values() for span in spans})
    if absent := sorted(set(sources) - set(present)):
        raise InputError(
            f"{path}: no span is from {', '.join(absent)}; it has {', '.join(present) or 'none'}"
        )
    return {source: of_source(found, source) for source in sources or present}


def of_source(found: Mapping[str, SpanSet], source: str) -> dict[str, SpanSet]:
    """Return the spans of one source, note by note; a note without any stays."""
    return {
        note_id: SpanSet(
            note_id, spans.digest, tuple(span for span in spans if span.source == source)
        )
        for note_id, spans in found.items()
    }


def _same_notes(
    spans: Mapping[str, Mapping[str, SpanSet]],
    texts: Mapping[str, Note],
    withheld: Withheld,
    notes: Path | None,
) -> dict[str, dict[str, SpanSet]]:
    """Return the notes that all have, in the order of the texts.

    What is missing is an error, not a silence.
    """
    every = {note_id for found in spans.values() for note_id in found}
    known = set.intersection(*(set(found) for found in spans.values()))
    if texts:
        if notes is not None and (strangers := sorted(texts.keys() - every)):
            raise InputError(f"note {strangers[0]!r} is not in the spans file; detect on all notes")
        if (unknown := sorted(every - texts.keys())) and not len(withheld):
            raise InputError(
                f"{len(unknown)} notes of the spans file are not in {notes or 'the notes'}, as"
                f" {unknown[0]!r}"
            )
        known &= texts.keys()
    missing = every - known
    if missing and not len(withheld):
        name = next(name for name, found in spans.items() if missing - found.keys())
        note = min(missing - spans[name].keys())
        raise InputError(
            f"{len(missing)} of {len(every)} notes are not in all files: {name} lacks {note!r};"
            " give all notes, with an empty list where nothing was found"
        )
    if not known:
        raise InputError("no note is in all files; nothing was compared")
    order = [note_id for note_id in texts if note_id in known] or sorted(known)
    for note_id in order if texts else ():
        for found in spans.values():
            found[note_id].check_against(texts[note_id])
    return {name: {note_id: found[note_id] for note_id in order} for name, found in spans.items()}


def is_spans_file(path: Path) -> bool:
    """Whether a file holds spans and no text.

    Raises:
        InputError: It is not there.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist; name annotated notes or a spans file")
    if path.suffix.lower() == ".parquet":
        from pyarrow import parquet  # noqa: PLC0415 - loaded where there is one

        names = set(parquet.read_schema(path).names)
        return "digest" in names and "text" not in names
    if path.suffix.lower() != ".jsonl":
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        first = next((line for line in file if line.strip()), "")
    try:
        record = json.loads(first)
    except ValueError:
        return False
    return isinstance(record, dict) and "digest" in record and "text" not in record
