"""The fields of JSON Lines, CSV and Parquet, as one record of Python values."""

from __future__ import annotations

import json
from collections.abc import Mapping

from deid_assets.core.note import Note
from deid_assets.core.span import MAX_SPANS, Span, SpanSet
from deid_assets.formats.annotated import Annotation, ParsedNote, Problem, RecordError
from deid_assets.formats.options import Columns, ReadOptions
from deid_assets.system import strict_json

_MAX_OFFSET = 2**53
"""Beyond it, JSON readers of other languages round."""


def parse_json(text: str) -> object:
    """Return the value of a JSON text, stricter than ``json.loads``.

    Raises:
        RecordError: Not JSON, or JSON with NaN, infinity, a key twice, or nesting too deep to read.
    """
    try:
        return strict_json.loads(text)
    except json.JSONDecodeError as error:
        raise RecordError(
            "malformed", f"not JSON from character {error.pos}; write one object per line"
        ) from None
    except strict_json.StrictError as error:
        raise RecordError("malformed", f"{error}; write plain JSON") from None
    except ValueError:
        raise RecordError("malformed", "a number is too long to read; write plain JSON") from None


def draft_of(record: object, options: ReadOptions, *, file: str, line: int) -> ParsedNote:
    """Return the parsed note of one record.

    Args:
        record: An object with the named columns; ``None`` and absent are the same.
        options: Names of the fields, and whether annotations are read.
        file: Relative name of the source.
        line: Line or row.

    Raises:
        RecordError: A field is missing or of the wrong type. Broken annotations are the parsed
            note's problems.
    """
    given, columns = _mapping(record, "the record"), options.columns
    # By our own names, which messages show: those of the source may be anything.
    fields = {
        name: given.get(column) for name, column in zip(Columns().known, columns.known, strict=True)
    }
    raw_spans = fields["spans"] if options.annotations else None
    annotations, problems = (None, ()) if raw_spans is None else annotations_of(raw_spans)
    meta = _meta(fields["meta"])
    meta |= {
        name: value
        for name in columns.into_meta
        if (value := optional_string(given, name)) is not None
    }
    return ParsedNote(
        file,
        require_string(fields, "id", flag="column.id"),
        require_string(fields, "text", encodable=False, flag="column.text"),
        annotations,
        problems,
        line,
        optional_string(fields, "patient_id"),
        optional_string(fields, "lang"),
        meta,
    )


def annotations_of(raw_spans: object) -> tuple[tuple[Annotation, ...], tuple[Problem, ...]]:
    """Return the annotations of a list of spans, and the problems of those that cannot be read.

    Raises:
        RecordError: It is not a list.
    """
    if not isinstance(raw_spans, list):
        raise RecordError(
            "malformed", f"the spans are {_kind(raw_spans)}; write a list, [] for none"
        )
    check_spans_count(len(raw_spans))
    annotations: list[Annotation] = []
    problems: list[Problem] = []
    for number, raw_span in enumerate(raw_spans):
        try:
            annotations.append(_annotation(raw_span, number))
        except RecordError as error:
            problems.append(Problem(error.kind, error.reason))
    return tuple(annotations), tuple(problems)


def check_spans_count(count: int) -> None:
    """Check that a note has no more spans than one may have.

    Raises:
        RecordError: It has more.
    """
    if count > MAX_SPANS:
        raise RecordError(
            "too-large", f"{count} spans, more than {MAX_SPANS}; cut the note into several"
        )


def _annotation(raw_span: object, number: int) -> Annotation:
    fields = _mapping(raw_span, f"span {number}")
    score = 1.0 if fields.get("score") is None else fields["score"]
    if type(score) not in (int, float) or not 0 <= score <= 1:  # type: ignore[operator]
        raise RecordError(
            "malformed",
            f"span {number}: the score is no number from 0 to 1; fix it or leave it out",
        )
    return Annotation(
        ((_offset(fields, "start", number), _offset(fields, "end", number)),),
        require_string(fields, "label", owner=f"span {number}: "),
        optional_string(fields, "text", encodable=False),
        float(score),  # type: ignore[arg-type]
        optional_string(fields, "source") or "gold",
        optional_string(fields, "native_label") or "",
    )


def _offset(fields: Mapping[str, object], name: str, number: int) -> int:
    if fields.get(name) is None:
        raise RecordError(
            "missing-field", f"span {number}: no {name}; every span has start, end and label"
        )
    offset = fields[name]
    if type(offset) is not int or abs(offset) > _MAX_OFFSET:
        # bool is a subclass of int, and no offset
        raise RecordError(
            "offset", f"span {number}: {name} is {_kind(offset)}; write a whole number below 2**53"
        )
    return offset


def require_string(
    fields: Mapping[str, object],
    name: str,
    *,
    owner: str = "",
    encodable: bool = True,
    flag: str = "",
) -> str:
    """Return a string field; ``flag`` is the reading option that says which field it is.

    Raises:
        RecordError: The field is absent, null or no string.
    """
    value = optional_string(fields, name, owner=owner, encodable=encodable)
    if value is None:
        remedy = (
            f"add it, or name the field that holds it with --read {flag}=NAME" if flag else "add it"
        )
        raise RecordError("missing-field", f"{owner}no {name!r}; {remedy}")
    return value


def optional_string(
    fields: Mapping[str, object], name: str, *, owner: str = "", encodable: bool = True
) -> str | None:
    """Return a string field or ``None``.

    Raises:
        RecordError: The field is no string, or holds a lone surrogate though it must not.
    """
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise RecordError("malformed", f"{owner}{name!r} is {_kind(value)}; write a string")
    if encodable and not is_encodable(value):
        raise RecordError(
            "undecodable",
            f"{owner}{name!r} holds a lone surrogate; decode the source as UTF-8 or UTF-16",
        )
    return value


def is_encodable(value: str) -> bool:
    """Whether a string is free of lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _meta(value: object) -> dict[str, str]:
    if value is None:
        return {}
    fields = _mapping(value, "meta")
    strings = [string for pair in fields.items() for string in pair]
    if not all(isinstance(string, str) and is_encodable(string) for string in strings):
        raise RecordError("malformed", "meta has a value that is no string; quote it")
    return {name: str(entry) for name, entry in fields.items()}


def _mapping(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise RecordError("malformed", f"{what} is {_kind(value)}; write an object")
    return value


def _kind(value: object) -> str:
    names = {
        dict: "an object",
        list: "a list",
        type(None): "null",
        bool: "a bool",
        float: "a float",
        str: "a string",
    }
    return names.get(type(value), "a number" if isinstance(value, int) else "of another type")


def note_record(note: Note, spans: SpanSet | None, columns: Columns) -> dict[str, object]:
    """Return the record of a note; optional fields that are not set are left out."""
    record: dict[str, object] = {
        columns.note_id: note.note_id,
        columns.lang: note.lang,
        columns.text: note.text,
    }
    if spans is not None:
        record[columns.spans] = [span_record(span) for span in spans]
    if note.patient_id is not None:
        record[columns.patient_id] = note.patient_id
    if note.meta:
        record[columns.meta] = dict(note.meta)
    return record


def span_record(span: Span, *, full: bool = False) -> dict[str, object]:
    """Return the record of a span, without text.

    Score and source when ``full`` or not those of gold.
    """
    record: dict[str, object] = {"start": span.start, "end": span.end, "label": span.label.value}
    if span.native_label:
        record["native_label"] = span.native_label
    if full or span.score != 1.0:
        record["score"] = span.score
    if full or span.source != "gold":
        record["source"] = span.source
    return record


def to_json(record: object) -> str:
    """Return JSON on one line, with characters written as themselves."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False)
