"""Spans files: what detectors found, tied to the notes by id and digest, without text.

A plain digest confirms a guess at a note to whoever holds the file; with a key it is sealed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from deid_assets.core.errors import InputError, OffsetError, ProvenanceError
from deid_assets.core.label_maps import PHI
from deid_assets.core.span import Span, SpanSet
from deid_assets.formats import jsonl, parquet
from deid_assets.formats.annotated import Annotation, Fault, Problem, RecordError, is_note_id
from deid_assets.formats.assemble import bad_offsets, phi_of
from deid_assets.formats.fields import (
    annotations_of,
    is_encodable,
    parse_json,
    require_string,
    span_record,
    to_json,
)
from deid_assets.formats.options import ReadOptions
from deid_assets.formats.source import Source
from deid_assets.system.atomic import atomic_file

_DIGEST = re.compile(r"[0-9a-f]{64}")
_SEALED = re.compile(r"[0-9a-f]{96}")
_FIELDS = ("id", "digest", "spans")


class Seal(Protocol):
    """Makes of a digest what only the holder of a key can tell it from, and back."""

    def seal(self, digest: str, /) -> str:
        """Return 96 hexadecimal digits for the 64 of a digest."""

    def open(self, sealed: str, /) -> str:
        """Return the digest.

        Raises:
            ProvenanceError: It was altered, or sealed with another key.
        """


def read_spans(
    path: Path, *, seal: Seal | None = None, on_plain: Callable[[], None] = lambda: None
) -> Iterator[SpanSet | Fault]:
    """Yield the spans of each note in turn, or every fault that withholds them.

    JSON Lines or Parquet by suffix.

    Args:
        path: The file.
        seal: Opens digests that are sealed; without it they are faults.
        on_plain: Called once where a digest is plain, as in files written without a key.

    Raises:
        InputError: The file is not there, or its suffix is neither.
    """
    as_parquet = _is_parquet(path)
    if not path.is_file():
        raise InputError(f"{path} is not a file; name a spans file")
    return _read(Source(path, path.parent), as_parquet=as_parquet, digests=_Digests(seal, on_plain))


@dataclass
class _Digests:
    """Opens the digests of one file."""

    seal: Seal | None
    on_plain: Callable[[], None]
    told: bool = False

    def plain(self, written: str) -> str:
        """Return the digest; a ``RecordError`` is raised for what is none, or cannot be opened."""
        if _DIGEST.fullmatch(written):
            if not self.told:
                self.told = True
                self.on_plain()
            return written
        if not _SEALED.fullmatch(written):
            raise RecordError(
                "malformed", "the digest is no SHA-256 in lower case, plain or sealed"
            )
        try:
            if self.seal is not None:
                return self.seal.open(written)
        except ProvenanceError:
            pass
        raise RecordError(
            "encrypted",
            "the digest is sealed; set DEID_KEY to the key that the file was written with",
        )


def _read(source: Source, *, as_parquet: bool, digests: _Digests) -> Iterator[SpanSet | Fault]:
    if not source.path.stat().st_size:
        yield source.fault("empty-file", "has no content; write the file again")
        return
    seen: set[str] = set()
    found = parquet.rows(source, _FIELDS, ()) if as_parquet else jsonl.lines(source, ReadOptions())
    for place in found:
        if isinstance(place, Fault):
            yield place
            continue
        line, content = place
        try:
            record = parse_json(content) if isinstance(content, str) else content
            yield from _span_set(record, source, seen, line=line, digests=digests)
        except RecordError as error:
            yield source.fault(error.kind, error.reason, line=line)


def _span_set(
    record: Any, source: Source, seen: set[str], *, line: int, digests: _Digests
) -> Iterator[SpanSet | Fault]:
    if not isinstance(record, dict) or record.get("spans") is None:
        raise RecordError(
            "missing-field", "no object with id, digest and spans; [] says that nothing was found"
        )
    note_id, written = require_string(record, "id"), require_string(record, "digest")
    if not is_note_id(note_id):
        raise RecordError("malformed", "the id is not printable; write another")
    digest = digests.plain(written)
    if note_id in seen:
        reason = f"note {note_id!r} has spans on an earlier line; keep one of the two"
        yield source.fault("duplicate-id", reason, line=line, note_id=note_id)
        return
    seen.add(note_id)
    annotations, unread = annotations_of(record["spans"])
    spans: list[Span] = []
    problems = list(unread)
    for annotation in annotations:
        span = _span(annotation)
        if isinstance(span, Span):
            spans.append(span)
        else:
            problems.append(span)
    for problem in problems:
        yield source.fault(problem.kind, problem.reason, line=line, note_id=note_id)
    if not problems:
        yield SpanSet(note_id, digest, tuple(spans))


def _span(annotation: Annotation) -> Span | Problem:
    label = phi_of(annotation, PHI)
    start, end = annotation.fragments[0]
    if label is None or isinstance(label, Problem):
        return label or Problem("unknown-label", "the label is ignored; write a category")
    try:
        return Span(start, end, label, annotation.score, annotation.source, annotation.native_label)
    except OffsetError:
        return bad_offsets(start, end, line=None)


def write_spans(path: Path, span_sets: Iterable[SpanSet], *, seal: Seal | None = None) -> int:
    """Write the spans of each note, JSON Lines or Parquet by suffix, and return how many notes.

    The file appears whole or not at all; with a seal, its digests tell nothing to who has not the
    key.

    Raises:
        InputError: The suffix is neither, or a note comes twice.
    """
    seen: set[str] = set()
    if _is_parquet(path):
        with parquet.table_writer(path, parquet.spans_schema()) as add:
            for record in _records(span_sets, seen, seal):
                add(record)
    else:
        with atomic_file(path) as file:
            for record in _records(span_sets, seen, seal):
                file.write(f"{to_json(record)}\n".encode())
    return len(seen)


def _records(
    span_sets: Iterable[SpanSet], seen: set[str], seal: Seal | None
) -> Iterator[dict[str, object]]:
    for span_set in span_sets:
        if span_set.note_id in seen:
            raise InputError(f"note {span_set.note_id!r} comes twice; merge its spans first")
        seen.add(span_set.note_id)
        if not all(is_encodable(span.source + span.native_label) for span in span_set):
            raise InputError(
                f"note {span_set.note_id!r}: a source or native label holds a lone surrogate;"
                " fix it"
            )
        spans = [span_record(span, full=True) for span in span_set]
        digest = span_set.digest if seal is None else seal.seal(span_set.digest)
        yield {"id": span_set.note_id, "digest": digest, "spans": spans}


def _is_parquet(path: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix not in (".jsonl", ".ndjson", ".parquet", ".pq"):
        raise InputError(f"{path.name}: a spans file ends in .jsonl or .parquet; rename it")
    return suffix in (".parquet", ".pq")
