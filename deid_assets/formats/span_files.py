"""Spans files: what detectors found, tied to the notes by id and digest, without text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from deid_assets.core.errors import InputError, OffsetError
from deid_assets.core.label_maps import PHI
from deid_assets.core.span import Span, SpanSet
from deid_assets.formats import jsonl, parquet
from deid_assets.formats.annotated import Annotation, Fault, Problem, RecordError, is_note_id
from deid_assets.formats.assemble import bad_offsets, phi_of
from deid_assets.formats.fields import annotations_of, is_encodable, parse_json, required_string, span_record, to_json
from deid_assets.formats.options import ReadOptions
from deid_assets.formats.source import Source
from deid_assets.system.atomic import atomic_file

_DIGEST = re.compile(r"[0-9a-f]{64}")
_FIELDS = ("id", "digest", "spans")


def read_spans(path: Path) -> Iterator[SpanSet | Fault]:
    """Yield the spans of each note in turn, or every fault that withholds them; JSON Lines or Parquet by suffix.

    Raises:
        InputError: The file is not there, or its suffix is neither.
    """
    as_parquet = _is_parquet(path)
    if not path.is_file():
        raise InputError(f"{path} is not a file; name a spans file")
    return _read(Source(path, path.parent), as_parquet=as_parquet)


def _read(source: Source, *, as_parquet: bool) -> Iterator[SpanSet | Fault]:
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
            yield from _span_set(parse_json(content) if isinstance(content, str) else content, source, seen, line=line)
        except RecordError as error:
            yield source.fault(error.kind, error.reason, line=line)


def _span_set(record: Any, source: Source, seen: set[str], *, line: int) -> Iterator[SpanSet | Fault]:
    if not isinstance(record, dict) or record.get("spans") is None:
        raise RecordError("missing-field", "no object with id, digest and spans; [] says that nothing was found")
    note_id, digest = required_string(record, "id"), required_string(record, "digest")
    if not is_note_id(note_id) or not _DIGEST.fullmatch(digest):
        raise RecordError("malformed", "the id is not printable, or the digest not a SHA-256 in lower case")
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


def write_spans(path: Path, span_sets: Iterable[SpanSet]) -> int:
    """Write the spans of each note, JSON Lines or Parquet by suffix, and return how many notes.

    The file appears whole or not at all.

    Raises:
        InputError: The suffix is neither, or a note comes twice.
    """
    seen: set[str] = set()
    if _is_parquet(path):
        with parquet.table_writer(path, parquet.spans_schema()) as add:
            for record in _records(span_sets, seen):
                add(record)
    else:
        with atomic_file(path) as file:
            for record in _records(span_sets, seen):
                file.write(f"{to_json(record)}\n".encode())
    return len(seen)


def _records(span_sets: Iterable[SpanSet], seen: set[str]) -> Iterator[dict[str, object]]:
    for span_set in span_sets:
        if span_set.note_id in seen:
            raise InputError(f"note {span_set.note_id!r} comes twice; merge its spans first")
        seen.add(span_set.note_id)
        if not all(is_encodable(span.source + span.native_label) for span in span_set):
            raise InputError(f"note {span_set.note_id!r}: a source or native label holds a lone surrogate; mend it")
        spans = [span_record(span, full=True) for span in span_set]
        yield {"id": span_set.note_id, "digest": span_set.digest, "spans": spans}


def _is_parquet(path: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix not in (".jsonl", ".ndjson", ".parquet", ".pq"):
        raise InputError(f"{path.name}: a spans file ends in .jsonl or .parquet; rename it")
    return suffix in (".parquet", ".pq")
