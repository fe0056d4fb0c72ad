"""Commands that carry annotations into a translation, by word alignment or by markers in
the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets import Note
from deid_assets.extending import DeidError, Document, InputError
from deid_assets.extending.commands import guard_command
from deid_assets.extending.corpora import read_corpus, read_raw
from deid_assets.extending.files import atomic_file
from deid_assets.extending.formats import Annotated, WriteOptions, format_named
from deid_zero_shot.commands import LabelsOption, NotesOption, app
from deid_zero_shot.markers import mark, unmark
from deid_zero_shot.projection import Projected, project, read_alignment, words

TranslationsOption = Arg[
    str, typer.Option(metavar="NOTES", help="Their translations, under the same ids.")
]
OutOption = Arg[Path, typer.Option(metavar="FILE", help="JSON lines with text and spans.")]
Carry = Callable[[Document, Note], tuple[Note, Projected]]


@app.command("bitext")
@guard_command
def bitext(
    *,
    notes: NotesOption,
    translations: TranslationsOption,
    out: Arg[
        Path,
        typer.Option(metavar="FILE", help="A note a line: words ||| words of its translation."),
    ],
    labels: LabelsOption = "",
) -> int:
    """Write the words of notes and translations as word aligners read them, for your eyes alone."""
    with atomic_file(out) as file:
        for document, other in _pairs(notes, translations, labels):
            sides = [
                " ".join(one.text[start:end] for start, end in words(one.text))
                for one in (document.note, other)
            ]
            file.write(f"{' ||| '.join(sides)}\n".encode())
    out.chmod(0o600)
    typer.echo(f"written to {out}, which holds the text of the notes")
    return 0


@app.command("mark")
@guard_command
def write_marked(*, notes: NotesOption, out: OutOption, labels: LabelsOption = "") -> int:
    """Write notes with a marker around each annotation, as [#NAME Ana Lee], for a translator of
    your own.
    """
    texts = [
        (one.note, mark(one.note, list(one.spans)))
        for one in read_corpus(notes, labels=labels).documents
    ]
    marked = [
        Annotated(Note(note.note_id, text, patient_id=note.patient_id, lang=note.lang))
        for note, text in texts
    ]
    format_named("jsonl").writer(out, iter(marked), WriteOptions())
    out.chmod(0o600)
    typer.echo(f"{len(marked)} notes written to {out}, which holds their text")
    return 0


@app.command("project")
@guard_command
def write_projected(
    *,
    notes: NotesOption,
    translations: TranslationsOption,
    out: OutOption,
    alignments: Arg[
        Path | None, typer.Option(metavar="FILE", help="i-j pairs, a line for each line of bitext.")
    ] = None,
    labels: LabelsOption = "",
) -> int:
    """Write translations with the spans of their originals, and tell by place what a person should
    look at.

    Without --alignments the translations have the markers that mark has written. A note that cannot
    be read is told and left out.
    """
    pairs = list(_pairs(notes, translations, labels))
    carry = _by_markers if alignments is None else _by_alignment(alignments, pairs)
    done: list[Annotated] = []
    faults: list[str] = []
    total: Counter[str] = Counter()
    for document, other in pairs:
        try:
            target, found = carry(document, other)
        except DeidError as error:
            faults.append(str(error))
            continue
        done.append(Annotated(target, found.spans))
        total.update(spans=found.total, lost=found.lost, doubts=len(found.doubts))
        for doubt in found.doubts:
            span = doubt.span
            typer.echo(
                f"{document.note.note_id}: {span.label} {span.start}-{span.end}: {doubt.why}"
            )
    format_named("jsonl").writer(out, iter(done), WriteOptions())
    out.chmod(0o600)
    typer.echo(
        f"{len(done)} notes written to {out}: {total['spans']} spans, {total['lost']} not placed, "
        f"{total['doubts']} to be looked at"
    )
    for fault in faults:
        typer.echo(f"error: {fault}", err=True)
    if faults:
        raise InputError(f"{len(faults)} of {len(pairs)} notes left out")
    return 0


def _pairs(notes: str, translations: str, labels: str) -> Iterator[tuple[Document, Note]]:
    """Yield each annotated note with its translation.

    Raises:
        InputError: A note has none.
    """
    others: Mapping[str, Note] = {note.note_id: note for note in read_raw(translations)}
    for document in read_corpus(notes, labels=labels).documents:
        if document.note.note_id not in others:
            raise InputError(
                f"note {document.note.note_id!r} has no translation in {translations}; add one of"
                " this id"
            )
        yield document, others[document.note.note_id]


def _by_markers(document: Document, other: Note) -> tuple[Note, Projected]:
    return unmark(document.note, list(document.spans), other)


def _by_alignment(path: Path, pairs: list[tuple[Document, Note]]) -> Carry:
    """Return what projects by the line of a note.

    Raises:
        InputError: There are more or fewer lines than notes.
    """
    lines = path.read_text("utf-8").splitlines()
    if len(lines) != len(pairs):
        raise InputError(
            f"{path}: {len(lines)} lines for {len(pairs)} notes; give one line for each, empty"
            " ones too"
        )
    by_id = {document.note.note_id: line for (document, _), line in zip(pairs, lines, strict=True)}

    def carry(document: Document, other: Note) -> tuple[Note, Projected]:
        note = document.note
        counts = {"source": len(words(note.text)), "target": len(words(other.text))}
        links = read_alignment(by_id[note.note_id], **counts, note_id=note.note_id)
        return other, project(note, list(document.spans), other, links)

    return carry
