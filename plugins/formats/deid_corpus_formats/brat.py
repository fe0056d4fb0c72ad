"""brat stand-off: a folder of pairs of files.

``<id>.txt`` has the text and ``<id>.ann`` its annotations. Read are text-bound annotations
(``T1<tab>NAME 0 5<tab>Smith``); relations, events, attributes and notes of the annotators (``R``,
``E``, ``A``, ``M``, ``N``, ``#``, ``*``) say nothing about where PHI is and are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from deid_assets.extending import InputError, Span
from deid_assets.extending.formats import (
    BREAKS_TO_BLANKS,
    Annotated,
    Annotation,
    BratLabels,
    Fault,
    ParsedNote,
    Problem,
    ReadOptions,
    Source,
    WriteOptions,
    atomic_folder,
    read_text,
    write_member,
    write_text,
)

_TEXT_BOUND = re.compile(
    r"T[^\t]+\t(\S+) (-?[0-9]{1,15} -?[0-9]{1,15}(?:;-?[0-9]{1,15} -?[0-9]{1,15})*)\t(.*)",
    re.DOTALL,
)
_PASSED_OVER = ("R", "E", "A", "M", "N", "#", "*")


def read(source: Source, options: ReadOptions) -> Iterator[ParsedNote | Fault]:
    """Yield one parsed note per ``.txt``.

    Its annotations are ``None`` when there is no ``.ann``.
    """
    if source.path.suffix.lower() == ".ann":
        if not _is_paired(source):
            reason = "there is no .txt file of the same name; add the text or remove the annotation"
            yield source.fault("malformed", reason, note_id=source.note_id)
        return
    note_id = source.note_id
    text = read_text(
        source, encoding=options.encoding, max_chars=options.max_note_chars, note_id=note_id
    )
    if isinstance(text, Fault):
        yield text
        return
    beside = source.sibling(".ann") if options.annotations else None
    if beside is None:
        yield ParsedNote(source.name, note_id, text)
        return
    refusal = beside.refusal()
    if refusal is not None:
        yield source.fault(
            refusal.kind,
            "its .ann file is not read, so the note is withheld; fix that",
            note_id=note_id,
        )
        return
    lines = read_text(
        beside, encoding=options.encoding, max_chars=options.max_note_chars, note_id=note_id
    )
    if isinstance(lines, Fault):
        yield lines
        return
    annotations, problems = _parse(lines)
    yield ParsedNote(
        source.name,
        note_id,
        text,
        annotations,
        problems,
        annotation_file=beside.name,
        fold_blanks=True,
    )


def _is_paired(ann: Source) -> bool:
    text = ann.sibling(".txt")
    beside = text.sibling(".ann") if text else None
    return beside is not None and beside.path == ann.path


def _parse(lines: str) -> tuple[tuple[Annotation, ...], tuple[Problem, ...]]:
    annotations: list[Annotation] = []
    problems: list[Problem] = []
    for number, line in enumerate(lines.removeprefix("\ufeff").split("\n"), start=1):
        line = line.removesuffix("\r")  # noqa: PLW2901 - the line without its break
        match = _TEXT_BOUND.fullmatch(line)
        if match:
            pairs = (pair.split(" ") for pair in match[2].split(";"))
            fragments = tuple((int(start), int(end)) for start, end in pairs)
            annotations.append(Annotation(fragments, match[1], match[3], line=number))
        elif line and not line.startswith(_PASSED_OVER):
            reason = "no brat annotation; write 'T1<tab>LABEL start end<tab>text'"
            problems.append(Problem("malformed", reason, number))
    return tuple(annotations), tuple(problems)


def write(path: Path, notes: Iterable[Annotated], options: WriteOptions) -> None:
    """Write a ``.txt`` per note, and an ``.ann`` where it has spans.

    brat holds one label per span: neither score nor source, and either category or native label.

    Raises:
        InputError: A note has no text, or a label has a blank.
    """
    with atomic_folder(path) as folder:
        for annotated in notes:
            write_text(folder, annotated.note)
            if annotated.spans is not None:
                note = annotated.note
                lines = [
                    _line(number, span, note.text, options.brat_labels)
                    for number, span in enumerate(annotated.spans, start=1)
                ]
                write_member(folder, note.note_id, ".ann", "".join(lines))


def _line(number: int, span: Span, text: str, labels: BratLabels) -> str:
    label = (span.native_label if labels == "native" else "") or span.label.value
    if re.search(r"\s", label):
        raise InputError(
            f"span [{span.start}, {span.end}): a brat label has no blanks; write the category"
            " instead"
        )
    covered = text[span.start : span.end].translate(BREAKS_TO_BLANKS)
    return f"T{number}\t{label} {span.start} {span.end}\t{covered}\n"
