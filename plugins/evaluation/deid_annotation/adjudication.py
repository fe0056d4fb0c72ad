"""``deid adjudicate``: one gold from several annotators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deid_annotation.annotators import Annotations, NoteReading, read_annotations
from deid_annotation.lists import write_list
from deid_annotation.majority import Tie, adjudicate
from deid_assets.extending import ConfigError, InputError, SpanSet
from deid_assets.extending.commands import (
    PARTIAL,
    Annotated,
    Withheld,
    check_out,
    out_format,
    print_json,
    print_table,
    say,
    write_notes,
    write_options,
)
from deid_evaluation.commands.inputs import NamedFile

_SHOWN = 20
_COLUMNS = ("note_id", "start", "end", "annotations")


def adjudicate_files(
    files: Sequence[str],
    out: Path,
    *,
    ties: Path | None,
    reading: NoteReading,
    notes: Path | None,
    as_json: bool,
) -> int:
    """Write the notes on which a majority agrees, list the places on which none does, and return
    the exit code.

    Args:
        files: ``FILE[=NAME]``, an annotator each.
        out: Gold to write, in categories.
        ties: List to write.
        reading: How notes are read.
        notes: The notes, where no file has their text.
        as_json: Print JSON.

    Raises:
        ConfigError: There are fewer than two annotators.
        InputError: No file has the text, the files are not of the same notes, or every note has a
            tie.
    """
    inputs = [*(NamedFile.parse(file).path for file in files), *filter(None, [notes])]
    written_as = out_format(out, None)
    check_out(out, inputs=inputs, is_folder=written_as.is_folder)
    if ties is not None:
        _check_ties(ties, inputs=[*inputs, out])
    withheld = Withheld()
    annotations = _read(files, reading, notes, withheld)
    found = _adjudicate(annotations)
    if ties is not None:
        write_list(ties, found.rows, columns=_COLUMNS)
    if not found.settled:
        raise InputError(
            f"all {found.tied_notes} notes have a place without a majority; "
            "give a further annotator, or list the places with --ties FILE"
        )
    gold = (Annotated(annotations.notes[note_id], of) for note_id, of in found.settled.items())
    count = write_notes(out, gold, format=written_as.name, options=write_options())
    if as_json:
        told = {"notes": count, "tied_notes": found.tied_notes, "ties": found.rows}
        print_json({**told, "withheld": len(withheld), "out": str(out)})
    else:
        _show(found.ties)
        _say_settled(count, found, out)
    return PARTIAL if found.ties or len(withheld) else 0


def _read(
    files: Sequence[str], reading: NoteReading, notes: Path | None, withheld: Withheld
) -> Annotations:
    """Return what each annotator marked.

    Raises:
        ConfigError: There are fewer than two, or no file has the text of the notes.
    """
    found = read_annotations(files, reading=reading, notes=notes, sources=(), withheld=withheld)
    if not found.notes:
        raise ConfigError("no file has the text of the notes; name them with --notes NOTES")
    return found


def _check_ties(ties: Path, *, inputs: Sequence[Path]) -> None:
    """Check that the list of ties can be written.

    Raises:
        InputError: It is no ``.jsonl``, or one of the inputs.
    """
    if ties.suffix.lower() != ".jsonl":
        raise InputError(f"{ties}: ties are written as .jsonl")
    check_out(ties, inputs=inputs, is_folder=False, option="--ties")


@dataclass(frozen=True, slots=True)
class _Adjudicated:
    """The notes on which a majority agrees, and the places on which none does."""

    settled: dict[str, SpanSet]
    ties: list[Tie]

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [asdict(tie) for tie in self.ties]

    @property
    def tied_notes(self) -> int:
        return len({tie.note_id for tie in self.ties})


def _adjudicate(annotations: Annotations) -> _Adjudicated:
    settled: dict[str, SpanSet] = {}
    ties: list[Tie] = []
    for note_id in next(iter(annotations.spans.values())):
        spans, tied = adjudicate(annotations.of(note_id))
        ties += tied
        if not tied:
            settled[note_id] = spans
    return _Adjudicated(settled, ties)


def _say_settled(count: int, found: _Adjudicated, out: Path) -> None:
    say(
        f"{count:,} notes settled, {found.tied_notes:,} withheld for {len(found.ties):,} ties;"
        f" written to {out}"
    )


def _show(ties: Sequence[Tie]) -> None:
    if not ties:
        return
    names = list(ties[0].annotations)
    rows = [
        [tie.note_id, f"{tie.start}-{tie.end}", *(_marks(tie.annotations[name]) for name in names)]
        for tie in ties[:_SHOWN]
    ]
    print_table(("tie in note", "place", *names), rows)
    if len(ties) > _SHOWN:
        say(f"and {len(ties) - _SHOWN:,} more; --ties FILE lists all")


def _marks(marked: Sequence[tuple[int, int, str]]) -> str:
    return ", ".join(f"{label} {start}-{end}" for start, end, label in marked) or "nothing"
