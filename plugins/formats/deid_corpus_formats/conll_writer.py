"""Writing CoNLL: the columns FORM, START, END and TAG behind tabs.

Above them stands the note as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from deid_assets.extending import InputError, Note, Span, SpanSet
from deid_assets.extending.formats import Annotated, TagScheme, WriteOptions, atomic_file, to_json
from deid_corpus_formats.tags import OUTSIDE, UNTAGGED, tag_of
from deid_corpus_formats.tokens import UNSPECIFIED, overlap_of, pieces

_HEADER = "# global.columns = FORM START END TAG\n"


def write(path: Path, notes: Iterable[Annotated], options: WriteOptions) -> None:
    """Write a block of comments and one row per token for each note; offsets are code points.

    The line ``# text_json`` holds the text, so that it is read back byte for byte. A span that cuts
    a token splits it. A token that a column cannot hold is written ``_``. A sentence ends at a line
    break outside of spans.

    Raises:
        InputError: Two spans of a note overlap: a token has one tag.
    """
    with atomic_file(path) as file:
        file.write(_HEADER.encode())
        for annotated in notes:
            file.writelines(line.encode() for line in _lines(annotated, options.conll_scheme))


def _lines(annotated: Annotated, scheme: TagScheme) -> Iterator[str]:
    note, spans = annotated.note, annotated.spans
    if note.lang is not None and not (
        note.lang.isprintable() and note.lang.strip(" ") == note.lang != ""
    ):
        raise InputError(
            f"note {note.note_id!r}: the language is no code of ISO 639-1; fix it or leave it out"
        )
    _check_disjoint(note, spans)
    yield f"# newdoc id = {note.note_id}\n"
    if note.lang is not None:
        yield f"# lang = {note.lang}\n"
    yield f"# text_json = {to_json(note.text)}\n"
    rows = list(_rows(note.text, spans, scheme))
    if not rows and spans is not None:
        yield "# annotated = yes\n"
    yield from rows
    yield "\n"


def _check_disjoint(note: Note, spans: SpanSet | None) -> None:
    overlap = overlap_of(spans.spans) if spans is not None else None
    if overlap:
        left, right = overlap
        raise InputError(
            f"note {note.note_id!r}: spans [{left.start}, {left.end}) and [{right.start},"
            f" {right.end}) overlap, and a token has one tag; resolve them first, or write jsonl,"
            " csv or parquet"
        )


def _rows(text: str, spans: SpanSet | None, scheme: TagScheme) -> Iterator[str]:
    cursor = 0
    before: Span | None = None
    for start, end, span in pieces(text, spans.spans if spans is not None else ()):
        gap = text[cursor:start]
        is_first = span is None or span.start == start
        if cursor and is_first and ("\n" in gap or "\r" in gap):
            before = None
            yield "\n"
        form = text[start:end]
        tag = UNTAGGED if spans is None else OUTSIDE
        if span is not None:
            follows_like = before is not None and before.label == span.label
            tag = tag_of(
                span.label.value,
                is_first=is_first,
                is_last=span.end == end,
                follows_like=follows_like,
                scheme=scheme,
            )
        # A blank would end the column for readers that split at blanks.
        shown = form if form.isprintable() and " " not in form else UNSPECIFIED
        yield f"{shown}\t{start}\t{end}\t{tag}\n"
        cursor, before = end, span
