"""``deid sample``: draw notes for people to annotate, to measure what redaction misses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated as Arg

import typer

from deid_assets.extending import InputError, SpanSet
from deid_assets.extending.commands import (
    PARTIAL,
    Annotated,
    JsonOption,
    NotesArg,
    NoteSource,
    Reading,
    Settings,
    ToOption,
    Withheld,
    check_out,
    group_options,
    out_format,
    print_json,
    print_table,
    say,
    write_notes,
    write_options,
)
from deid_assets.extending.replacing import Key
from deid_assets.extending.scoring import wilson

if TYPE_CHECKING:
    from deid_assets.extending.formats import Format

SIZES = (25, 50, 100, 200, 400, 800)
CLEAN, COVERED, PER_NOTE = 0.9, 0.98, 10
"""Assumptions of the table of intervals.

Shares of notes with nothing left and of identifiers covered; their number in a note.
"""


@group_options
def sample(
    notes: NotesArg,
    *,
    size: Arg[
        int, typer.Option("--notes", metavar="N", min=1, help="Number of notes to draw.")
    ] = 100,
    out: Arg[
        Path,
        typer.Option(
            metavar="PATH", help="Notes to annotate; a suffix, or --to brat, says the format."
        ),
    ],
    rest: Arg[
        Path | None,
        typer.Option(
            metavar="PATH", help="Write the notes that were not drawn, in the same format."
        ),
    ] = None,
    to: ToOption = None,
    reading: Reading,
    as_json: JsonOption = False,
) -> int:
    """Draw notes for people to annotate, at random by the key.

    The same key draws the same notes, and nobody without it can tell which. A table says how well
    so many notes tell what is missed. Annotate every identifier in them, then put the annotated
    notes and the rest into one folder, and that into the landing folder: it is measured on the one
    and released as a whole.
    """
    source = reading.source(notes)
    written_as = _check_outs(out, rest, to, notes=notes)
    withheld = Withheld()
    ids = [note.note_id for chunk in source.chunks(withheld) for note in chunk]
    drawn = draw(ids, Settings.load().key(), size=size)
    write_notes(
        out, _choose(source, drawn, are_drawn=True), format=written_as.name, options=write_options()
    )
    if rest is not None:
        write_notes(rest, _choose(source, drawn, are_drawn=False), format=written_as.name)
    if as_json:
        document = {"notes": len(ids), "drawn": len(drawn), "out": str(out)}
        print_json(document | {"intervals": _rows(len(drawn))})
    else:
        _show(len(drawn))
        others = f", the rest to {rest}" if rest else ""
        say(f"{len(drawn):,} of {len(ids):,} notes drawn, written to {out}{others}")
        _say_what_is_lost(written_as)
    return PARTIAL if len(withheld) else 0


def _check_outs(out: Path, rest: Path | None, to: str | None, *, notes: Path) -> Format:
    """Return the format of both outputs, which are neither the notes nor one another."""
    written_as = out_format(out, to)
    check_out(out, inputs=[notes], is_folder=written_as.is_folder)
    if rest is not None:
        check_out(rest, inputs=[notes, out], is_folder=written_as.is_folder, option="--rest")
    return written_as


def _say_what_is_lost(written_as: Format) -> None:
    """Say that a format does not keep whose notes they are, where it does not."""
    if "patient_id" not in written_as.keeps:
        say(
            f"{written_as.name} does not keep whose notes they are; where that is known choose"
            " CSV or JSON Lines"
        )


def draw(note_ids: list[str], key: Key, *, size: int) -> frozenset[str]:
    """Return so many of the notes; which ones follows from the key and their ids alone.

    Raises:
        InputError: There are fewer.
    """
    if size > len(note_ids):
        raise InputError(f"--notes {size:,}: there are {len(note_ids):,}; draw at most so many")
    return frozenset(
        sorted(note_ids, key=lambda note_id: (key.seed("annotation sample", note_id), note_id))[
            :size
        ]
    )


def _choose(source: NoteSource, drawn: frozenset[str], *, are_drawn: bool) -> Iterator[Annotated]:
    """Yield the drawn notes without annotations, or the others.

    The drawn notes are ready for annotations; the others are what nobody annotated.
    """
    for found in source.read():
        if isinstance(found, Annotated) and (found.note.note_id in drawn) is are_drawn:
            yield Annotated(found.note, SpanSet.of(found.note, ()) if are_drawn else None)


def _rows(size: int) -> list[dict[str, float]]:
    """Return the intervals that samples of several sizes give, this one's among them."""
    rows = []
    for notes in sorted({*SIZES, size}):
        spans = notes * PER_NOTE
        clean, covered = wilson(round(CLEAN * notes), notes), wilson(round(COVERED * spans), spans)
        rows.append(
            {
                "notes": notes,
                "clean_low": clean[0],
                "clean_high": clean[1],
                "identifiers": spans,
                "covered_low": covered[0],
                "covered_high": covered[1],
            }
        )
    return rows


def _show(size: int) -> None:
    say(
        f"95 % intervals, if {CLEAN:.0%} of the notes have nothing left, and {COVERED:.0%} of"
        f" {PER_NOTE} identifiers a note are covered:"
    )
    headings = ("annotated notes", "notes with nothing left", "identifiers", "identifiers covered")
    print_table(headings, [_cells(row, drawn=size) for row in _rows(size)])


def _cells(row: dict[str, float], *, drawn: int) -> list[str]:
    is_drawn = " (drawn)" if row["notes"] == drawn else ""
    return [
        f"{row['notes']:,}{is_drawn}",
        f"{row['clean_low']:.3f} to {row['clean_high']:.3f}",
        f"{row['identifiers']:,}",
        f"{row['covered_low']:.3f} to {row['covered_high']:.3f}",
    ]
