"""CoNLL: one token per line, one sentence per block, a tag in a column.

As in CoNLL-2003 and CoNLL-U Plus.

Columns are separated by tabs, or by blanks where the first row has no tab. A row ``-DOCSTART-`` or
a line ``# newdoc`` begins a note, ``# newdoc id = …`` or ``# id = …`` names it; a note without a
name has that of the file, with a number behind it where the file marks where notes begin. ``# lang
= …`` gives its language.

The text of a note is, in this order: the JSON string of a line ``# text_json = …``, as the writer
gives it; the lines ``# text = …`` of its sentences, joined by line breaks; the tokens at the
offsets that columns give; the tokens, joined by blanks, and the sentences by line breaks. Only the
first is the original for certain. The tokens have to be those of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from deid_assets.extending.formats import (
    MAX_BYTES_PER_CHAR,
    SLACK_BYTES,
    Annotation,
    Conll,
    Fault,
    ParsedNote,
    Problem,
    ReadOptions,
    RecordError,
    Source,
    check_by_line,
    decode_line,
    is_encodable,
    parse_json,
    records,
)
from deid_corpus_formats.tags import UNTAGGED, entities, is_tag
from deid_corpus_formats.tokens import Places, TokenRow, join_sentences, place_tokens, space_tokens

_COMMENT = re.compile(r"# (newdoc(?= *$)|[A-Za-z_][\w.]*(?: id)?(?= *=)) *(?:= ?(.*))?", re.DOTALL)
_OFFSET = re.compile("[0-9]{1,15}")
_BEGINS = "-DOCSTART-"
_COLUMN_NAMES = {
    "FORM": "token",
    "TOKEN": "token",
    "TAG": "tag",
    "NER": "tag",
    "START": "start",
    "END": "end",
}


def read(source: Source, options: ReadOptions) -> Iterator[ParsedNote | Fault]:
    """Yield one parsed note or fault per note, holding one note.

    A byte order mark at the start is no content.
    """
    check_by_line(options.encoding)
    reader = _Reader(source, options)
    max_bytes = options.max_note_chars * MAX_BYTES_PER_CHAR + SLACK_BYTES
    with source.path.open("rb") as file:
        for record in records(file, max_bytes=max_bytes, encoding=options.encoding):
            line = decode_line(record, source, options.encoding, max_bytes=max_bytes)
            if isinstance(line, Fault):
                yield reader.withhold(line)
            else:
                yield from reader.feed(line.removesuffix("\n").removesuffix("\r"), record.line)
            if reader.is_closed:
                return
    yield from reader.finish()


@dataclass(slots=True)
class _Note:
    """State of the note that is being read."""

    default_id: str
    line: int | None = None
    note_id: str | None = None
    is_marked: bool = False
    is_annotated: bool = False
    is_withheld: bool = False
    lang: str | None = None
    whole: str | None = None
    texts: list[str] = field(default_factory=list)
    sentences: list[list[TokenRow]] = field(default_factory=list)
    in_sentence: bool = False
    chars: int = 0
    problems: list[Problem] = field(default_factory=list)

    @property
    def has_content(self) -> bool:
        return bool(
            self.chars or self.whole is not None or self.texts or self.problems or self.is_withheld
        )

    @property
    def has_begun(self) -> bool:
        return self.has_content or self.is_marked or self.note_id is not None


class _Reader:
    """Takes lines and gives notes; holds the note it is in and the columns of the file."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self._source = source
        self._options = options
        self._columns: Conll = options.conll
        self._tabs: bool | None = None
        self._count: int | None = None
        self._marks = 0
        self._note = _Note(source.note_id)
        self.is_closed = False

    def withhold(self, fault: Fault) -> Fault:
        """Return the fault of a line that cannot be read.

        Before that, it is noted that the line's note is not whole.
        """
        self._note.is_withheld = True
        return replace(fault, note_id=self._note.note_id)

    def feed(self, line: str, number: int) -> Iterator[ParsedNote | Fault]:
        """Yield the note that ends with this line, if one does."""
        if not line.strip(" "):
            self._note.in_sentence = False
            return
        comment = _COMMENT.fullmatch(line)
        if comment:
            yield from self._comment(comment[1], comment[2] or "", number)
            return
        cells = self._cells(line)
        if line.startswith("# ") and not any(map(is_tag, cells)):
            # with a tag, it may be a token that is a hash
            return
        if _BEGINS in cells:
            yield from self._begin(number)
        else:
            self._take(line, number)

    def finish(self) -> Iterator[ParsedNote | Fault]:
        """Yield the note that is being read, and begin another."""
        note, self._note = self._note, _Note(self._source.note_id)
        if note.has_begun:
            yield from _finish(note, self._source, self._options)

    def _comment(self, key: str, content: str, number: int) -> Iterator[ParsedNote | Fault]:
        if key == "newdoc":
            yield from self._begin(number)
        elif key in ("newdoc id", "id"):
            if self._note.has_content or self._note.note_id is not None:
                yield from self.finish()
            self._note.note_id = content
            self._note.line = self._note.line or number
        elif key == "global.columns":
            yield from self._name_columns(content.split(), number)
        elif key == "lang":
            self._note.lang = content.strip(" ") or None
        elif key == "annotated":
            self._note.is_annotated = content.strip(" ") == "yes"
        elif key in ("text", "text_json"):
            self._text(content, number, is_json=key == "text_json")

    def _begin(self, number: int) -> Iterator[ParsedNote | Fault]:
        if self._note.has_content or self._note.is_marked:
            yield from self.finish()
        self._marks += 1
        self._note.is_marked = True
        self._note.default_id = f"{self._source.note_id}-{self._marks}"
        self._note.line = self._note.line or number

    def _text(self, content: str, number: int, *, is_json: bool) -> None:
        note = self._note
        note.line = note.line or number
        note.in_sentence = False
        if not is_json:
            note.texts.append(content)
            self._grow(len(content))
            return
        try:
            text = parse_json(content)
        except RecordError as error:
            note.problems.append(Problem(error.kind, error.reason, number))
            return
        if not isinstance(text, str) or note.whole is not None:
            reason = "text_json is no JSON string, or the second of its note; write one"
            note.problems.append(Problem("malformed", reason, number))
            return
        note.whole = text

    def _name_columns(self, names: list[str], number: int) -> Iterator[Fault]:
        known = [
            (_COLUMN_NAMES[name.upper()], at)
            for at, name in enumerate(names)
            if name.upper() in _COLUMN_NAMES
        ]
        found = dict(known)
        if (
            len(known) > len(found)
            or not {"token", "tag"} <= found.keys()
            or ("start" in found) != ("end" in found)
        ):
            self.is_closed = True
            reason = (
                "columns are not named once each; name FORM and TAG, and both or neither of START"
                " and END"
            )
            yield self._source.fault("malformed", reason, line=number)
            return
        self._columns = Conll(
            token=found["token"], tag=found["tag"], start=found.get("start"), end=found.get("end")
        )
        self._count = len(names)

    def _take(self, line: str, number: int) -> None:
        note = self._note
        note.line = note.line or number
        if self._tabs is None:
            self._tabs = "\t" in line
        row = self._row(self._cells(line), number)
        if isinstance(row, Problem):
            note.problems.append(row)
            return
        if not note.in_sentence:
            note.sentences.append([])
            note.in_sentence = True
        note.sentences[-1].append(row)
        self._grow(len(row.form))

    def _grow(self, chars: int) -> None:
        self._note.chars += chars
        if self._is_too_large():
            self._note.sentences.clear()
            self._note.texts.clear()
            self._note.in_sentence = False

    def _is_too_large(self) -> bool:
        # of texts, and of their tokens again
        return self._note.chars > 2 * self._options.max_note_chars

    def _cells(self, line: str) -> list[str]:
        by_tab = "\t" in line if self._tabs is None else self._tabs
        return line.split("\t") if by_tab else [cell for cell in line.split(" ") if cell]

    def _row(self, cells: list[str], number: int) -> TokenRow | Problem:
        columns = self._columns
        self._count = self._count or len(cells)
        if len(cells) != self._count:
            reason = (
                f"the row has {len(cells)} columns and the first has {self._count}; give every"
                " token as many"
            )
            return Problem("malformed", reason, number)
        try:
            form, tag = cells[columns.token], cells[columns.tag]
            offsets = [cells[place] for place in (columns.start, columns.end) if place is not None]
        except IndexError:
            return Problem(
                "malformed",
                f"the row has {len(cells)} columns only; name its columns with --read conll.token"
                " and conll.tag",
                number,
            )
        if not form or columns.token % len(cells) == columns.tag % len(cells):
            return Problem("malformed", "the row has no token beside its tag; write both", number)
        if not all(_OFFSET.fullmatch(offset) for offset in offsets):
            return Problem(
                "offset",
                "an offset is no whole number; fix it, or name its column with --read conll.start"
                " and conll.end",
                number,
            )
        return TokenRow(number, form, tag, *map(int, offsets))


def _finish(note: _Note, source: Source, options: ReadOptions) -> Iterator[ParsedNote | Fault]:
    note_id = note.default_id if note.note_id is None else note.note_id
    if note.chars > 2 * options.max_note_chars:
        reason = (
            f"note has more than {options.max_note_chars} characters; raise --read max_note_chars"
        )
        yield source.fault("too-large", reason, line=note.line, note_id=note_id)
    elif note.is_withheld:
        for problem in note.problems:
            yield source.fault(problem.kind, problem.reason, line=problem.line, note_id=note_id)
    elif not note.has_content:
        yield source.fault(
            "malformed",
            "the note has no token; remove it or add them",
            line=note.line,
            note_id=note_id,
        )
    else:
        yield _parse_note(note, note_id, source.name, options)


def _parse_note(note: _Note, note_id: str, file: str, options: ReadOptions) -> ParsedNote:
    problems = list(note.problems)
    text, places = join_sentences(note.sentences)
    if not problems:
        found = _lay_out(note, options)
        if isinstance(found, list):
            problems += found
        else:
            text, places = found
    annotations: tuple[Annotation, ...] | None = None
    if options.annotations:
        annotations, unread = _annotations(note, places, options.conll)
        problems += unread
    return ParsedNote(
        file,
        note_id,
        text,
        annotations,
        tuple(problems),
        note.line,
        lang=note.lang,
        in_code_points=True,
    )


def _lay_out(note: _Note, options: ReadOptions) -> tuple[str, Places] | list[Problem]:
    text = "\n".join(note.texts) if note.whole is None and note.texts else note.whole
    if text is None:
        if note.sentences[0][0].start is None:
            return join_sentences(note.sentences)
        return space_tokens(
            note.sentences, options.offsets, max_offset=options.max_note_chars * MAX_BYTES_PER_CHAR
        )
    if not is_encodable(text):
        reason = "the text holds a lone surrogate; decode the source as UTF-8 or UTF-16"
        return [Problem("undecodable", reason, note.line)]
    if not note.sentences and text and not text.isspace():
        return [Problem("text-mismatch", "the text has no tokens; write a row for each", note.line)]
    return place_tokens(note.sentences, text, options.offsets)


def _annotations(
    note: _Note, places: Places, conll: Conll
) -> tuple[tuple[Annotation, ...] | None, list[Problem]]:
    if not note.sentences:
        return () if note.is_annotated else None, []
    if all(row.tag == UNTAGGED for sentence in note.sentences for row in sentence):
        return None, []
    annotations: list[Annotation] = []
    problems: list[Problem] = []
    before = 0
    for sentence in note.sentences:
        tags, lines = [row.tag for row in sentence], [row.line for row in sentence]
        found, wrong = entities(tags, lines, scheme=conll.scheme, repair=conll.repair)
        problems += wrong
        for entity in found:
            fragment = places[before + entity.first][0], places[before + entity.last][1]
            annotations.append(Annotation((fragment,), entity.label, line=entity.line))
        before += len(sentence)
    return tuple(annotations), problems
