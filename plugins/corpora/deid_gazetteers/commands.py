"""``deid gazetteer``: compile dictionaries from lists, and a vocabulary from raw notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import nlargest
from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.extending import ConfigError, Failed
from deid_assets.extending.commands import (
    CommandGroup,
    Detection,
    DetectorOption,
    DetectorSettingOption,
    JobsOption,
    JsonOption,
    Named,
    NotesArg,
    Reading,
    Withheld,
    check_out,
    finish,
    group_options,
    guard_command,
    print_json,
    progress,
    say,
)
from deid_assets.extending.lists import PHRASE_LISTS, WORD_LISTS, Entry, Gazetteer, write_gazetteer
from deid_gazetteers.sources import read_entries
from deid_gazetteers.vocabulary import MIN_PATIENTS, CaseCounts

gazetteer_app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Dictionaries from lists, and a vocabulary from raw notes.",
)

KindOption = Arg[
    str,
    typer.Option(metavar="KIND", help=f"What it holds: {', '.join((*WORD_LISTS, *PHRASE_LISTS))}."),
]
OutOption = Arg[Path, typer.Option(metavar="FILE", help="Compiled list to write, .gaz.")]


@dataclass(frozen=True, slots=True)
class Rows:
    """Options on what is read of the lists."""

    column: Arg[
        str | None,
        typer.Option(
            metavar="NAME|N",
            help="Column or key of the entries; a number where there is no header.",
        ),
    ] = None
    weight: Arg[
        str | None, typer.Option(metavar="NAME|N", help="Column or key of their weights.")
    ] = None
    where: Arg[
        list[str] | None, typer.Option(metavar="COLUMN=VALUE", help="Rows to take; several times.")
    ] = None

    def entries(self, lists: Iterable[Path]) -> Iterator[Entry]:
        """Yield the entries of the lists.

        Raises:
            ConfigError: A condition does not read COLUMN=VALUE.
        """
        conditions = _conditions(self.where or ())
        return (
            entry
            for path in lists
            for entry in read_entries(
                path, column=self.column, weight=self.weight, where=conditions
            )
        )


@dataclass(frozen=True, slots=True)
class Omissions:
    """Options on which entries are left out."""

    min_weight: Arg[float, typer.Option(metavar="X", help="Leave out entries of lower weight.")] = (
        0.0
    )
    vocabulary: Arg[
        Path | None,
        typer.Option(
            metavar="FILE", help="Leave out what deid gazetteer vocabulary found to be a word."
        ),
    ] = None
    keep_from: Arg[
        float | None,
        typer.Option(metavar="X", help="Weight from which an entry stays although it is a word."),
    ] = None


@gazetteer_app.command()
@guard_command
@group_options
def build(
    lists: Arg[
        list[Path],
        typer.Argument(metavar="LIST", help="Text, CSV, TSV, JSON or JSON Lines; several add up."),
    ],
    *,
    kind: KindOption,
    out: OutOption,
    rows: Rows,
    omissions: Omissions,
    as_json: JsonOption = False,
) -> int:
    """Compile lists into a dictionary.

    The file is mapped into memory where it is used, so it costs little whatever its size.
    """
    words = omissions.vocabulary
    check_out(out, inputs=[*lists, *([words] if words else [])], is_folder=False)
    built = write_gazetteer(
        out,
        rows.entries(lists),
        kind=kind,
        min_weight=omissions.min_weight,
        ambiguous=Gazetteer(words) if words else (),
        keep_from=omissions.keep_from,
    )
    counts = {name: getattr(built, name) for name in ("kept", "light", "ambiguous", "unusable")}
    if as_json:
        print_json({"out": str(out), "kind": kind, **counts})
        return 0
    say(f"{built.kept:,} entries written to {out}")
    for name, why in (
        ("light", "below the weight"),
        ("ambiguous", "ordinary words"),
        ("unusable", "without a word"),
    ):
        if counts[name]:
            say(f"{counts[name]:,} entries left out: {why}")
    return 0


def _conditions(where: Iterable[str]) -> Mapping[str, str]:
    conditions: dict[str, str] = {}
    for condition in where:
        name, equals, value = condition.partition("=")
        if not equals or not name:
            raise ConfigError(f"--where {condition!r} must read COLUMN=VALUE")
        conditions[name] = value
    return conditions


@gazetteer_app.command()
@guard_command
@group_options
def vocabulary(
    notes: NotesArg,
    *,
    detector: DetectorOption,
    out: OutOption,
    min_patients: Arg[
        int, typer.Option(metavar="N", min=2, help="Patients whose notes must have a word.")
    ] = MIN_PATIENTS,
    option: DetectorSettingOption = None,
    reading: Reading,
    jobs: JobsOption = 1,
    as_json: JsonOption = False,
) -> int:
    """Grow a vocabulary of ordinary words from raw notes.

    What the detectors mark is not counted, so that no name gets in. Give the file to the rules
    detector among its gazetteers, and to deid gazetteer build.
    """
    source = reading.source(notes)
    check_out(out, inputs=[notes], is_folder=False)
    detection = Detection.load(Named(tuple(detector), tuple(option or ()), None, jobs))
    withheld, counted, grown = Withheld(), 0, CaseCounts(min_patients=min_patients)
    with progress("counting") as advance:
        for chunk, outcomes in detection.detect(source.chunks(withheld)):
            for note, outcome in zip(chunk, outcomes, strict=True):
                if isinstance(outcome, Failed):
                    # its words are not counted, for names may be among them
                    withheld.report_failed(outcome)
                    continue
                counted += 1
                grown.add(note, outcome)
            advance(len(chunk))
    built = write_gazetteer(out, (Entry(word, n) for word, n in grown.words()), kind="common_words")
    return finish({"notes": counted, "words": built.kept}, withheld, out, as_json=as_json)


@gazetteer_app.command()
@guard_command
def show(
    gazetteer: Arg[Path, typer.Argument(metavar="FILE", help="A compiled list.")],
    *,
    top: Arg[
        int,
        typer.Option(
            metavar="N", min=0, help="Number of entries to print, the highest weights first."
        ),
    ] = 20,
    as_json: JsonOption = False,
) -> int:
    """Say what a compiled list holds."""
    opened = Gazetteer(gazetteer)
    heaviest = nlargest(top, opened, key=lambda entry: (entry.weight, entry.text))
    if as_json:
        print_json(
            {
                "kind": opened.kind,
                "entries": len(opened),
                "top": [entry._asdict() for entry in heaviest],
            }
        )
        return 0
    say(f"{len(opened):,} entries, {opened.kind}")
    for entry in heaviest:
        typer.echo(f"{entry.weight:g}\t{entry.text}")
    return 0
