"""The composed corpus of this project.

Where it lies, and the commands that check and hand it out.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.extending import InputError
from deid_assets.extending.commands import Answer, Table
from deid_corpora.marked import MarkedText, find_unmarked_repeats, overlapping, read_marked

PARTS = ("train", "dev", "test")
_PACKAGE = Path(__file__).resolve().parent
FOLDERS = (_PACKAGE / "composed_notes", _PACKAGE.parents[2] / "corpora" / "composed" / "marked")
"""Where it may lie: in a wheel, in a checkout of the project."""


def marks(
    source: Arg[
        Path,
        typer.Argument(
            metavar="TEXTS", help="A file or folder of notes with their marks in the text."
        ),
    ],
    *,
    out: Arg[
        Path | None,
        typer.Option("--out", metavar="FOLDER", help="JSON Lines to write, a file a language."),
    ] = None,
) -> Answer:
    """Check notes whose marks stand in the text, and write them as JSON Lines."""
    files = [source] if source.is_file() else sorted(source.glob("*.txt"))
    if not files:
        raise InputError(f"{source}: no file ends in .txt; give the folder of the marked texts")
    rows = []
    doubts = []
    for path in files:
        notes = list(read_marked(path))
        if out is not None:
            _write(notes, out / f"{path.stem}.jsonl")
        counts = Counter(mark.label for note in notes for mark in note.marks)
        rows.append(
            [path.stem, f"{len(notes):,}", f"{sum(counts.values()):,}", str(_authors(notes))]
        )
        doubts += _doubts(notes)
    document = {"files": rows, "doubts": doubts}
    table = Table(("file", "notes", "marks", "authors"), rows)
    said = [
        (
            f"{len(doubts):,} places to look at: repeats of marked words that are not marked,"
            " or marks that overlap"
        )
    ]
    doubt_table = Table(
        ("note", "offset", "doubt"), [[str(cell) for cell in row] for row in doubts]
    )
    tables = [table, doubt_table] if doubts else [table]
    return Answer(document=document, tables=tables, said=said)


def _authors(notes: list[MarkedText]) -> int:
    return len({note.note_id.split("-")[1] for note in notes if note.note_id.count("-") >= 2})


def _doubts(notes: list[MarkedText]) -> list[tuple[str, int, str]]:
    found = []
    for note in notes:
        found += [(note.note_id, place, "overlaps") for place in overlapping(note)]
        found += [(note.note_id, place, "unmarked repeat") for place in find_unmarked_repeats(note)]
    return found


def _write(notes: list[MarkedText], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(note.as_json(), ensure_ascii=False) for note in notes]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def fetch(
    name: Arg[str, typer.Argument(metavar="NAME", help="Corpus: composed.")],
    *,
    out: Arg[Path, typer.Option("--out", metavar="FOLDER", help="Folder for its parts.")],
) -> Answer:
    """Copy a corpus that comes with the project, as JSON Lines by part and language."""
    if name != "composed":
        raise InputError(f"corpus {name!r} does not come with the project; choose composed")
    folder = next((one for one in FOLDERS if one.is_dir()), None)
    if folder is None:
        raise InputError(
            f"{FOLDERS[0]} is not there: the corpus comes with a checkout of the project, and with"
            " wheels that `make wheels` built in one"
        )
    rows = []
    for part in PARTS:
        for path in sorted((folder / part).glob("*.txt")):
            notes = list(read_marked(path))
            _write(notes, out / part / f"{path.stem}.jsonl")
            rows.append([part, path.stem, f"{len(notes):,}"])
    table = Table(("part", "language", "notes"), rows, numbers_from=2)
    return Answer(document={"files": rows}, tables=[table], said=[f"written to {out}"])
