"""The commands: arguments in, one function called."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated as Arg

import typer

from deid_assets.extending.commands import (
    AnnotatedReading,
    GoldOption,
    JsonOption,
    ProfileOption,
    SystemsOption,
    check_out,
    group_options,
)

if TYPE_CHECKING:
    from deid_annotation.annotators import NoteReading

AnnotationsArg = Arg[
    list[str],
    typer.Argument(
        metavar="FILE[=NAME]",
        help="Annotated notes, or spans files; each an annotator or a system.",
    ),
]
SourcesOption = Arg[
    list[str] | None,
    typer.Option("--source", metavar="NAME", help="Take only these detectors of a spans file."),
]


@group_options
def agreement(
    annotations: AnnotationsArg,
    *,
    source: SourcesOption = None,
    notes: Arg[
        Path | None,
        typer.Option(
            metavar="NOTES", help="The notes, for scores that need the text, if no file has it."
        ),
    ] = None,
    profile: ProfileOption = "harmonised",
    reading: AnnotatedReading,
    as_json: JsonOption = False,
) -> int:
    """Compare annotators or detectors without annotated notes.

    How far they agree, and an estimate of what all missed.
    """
    from deid_annotation.agreement import (  # noqa: PLC0415 - loads what reports are written with
        compare_annotations,
    )

    return compare_annotations(
        annotations,
        reading=_reading(reading),
        notes=notes,
        sources=source or [],
        profile_name=profile,
        as_json=as_json,
    )


@group_options
def adjudicate(
    annotations: AnnotationsArg,
    *,
    out: Arg[
        Path,
        typer.Option(
            metavar="PATH", help="Annotated notes to write; the suffix chooses the format."
        ),
    ],
    ties: Arg[
        Path | None,
        typer.Option(
            metavar="FILE", help="Places without a majority to write, .jsonl: offsets, no text."
        ),
    ] = None,
    notes: Arg[
        Path | None, typer.Option(metavar="NOTES", help="The notes, where no file has their text.")
    ] = None,
    reading: AnnotatedReading,
    as_json: JsonOption = False,
) -> int:
    """Make one set of annotations from several annotators, by majority.

    A note with a place on which there is none is withheld, and the place listed: a further
    annotator decides.
    """
    from deid_annotation.adjudication import (  # noqa: PLC0415 - loads what evaluation needs
        adjudicate_files,
    )

    return adjudicate_files(
        annotations, out, ties=ties, reading=_reading(reading), notes=notes, as_json=as_json
    )


@group_options
def audit_gold(
    *,
    gold: GoldOption,
    pred: SystemsOption,
    source: SourcesOption = None,
    agreeing: Arg[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Number of systems that must agree; more than half if not given.",
        ),
    ] = None,
    out: Arg[
        Path | None,
        typer.Option(metavar="FILE", help="List to write, .jsonl or .csv: offsets, no text."),
    ] = None,
    profile: ProfileOption = "harmonised",
    reading: AnnotatedReading,
    as_json: JsonOption = False,
) -> int:
    """List what annotators may have overlooked.

    Places that many systems mark and annotators did not, or under another label.
    """
    from deid_annotation.audit import audit_files  # noqa: PLC0415 - loads what evaluation needs

    wanted = _reading(reading)
    if out is not None:
        check_out(out, inputs=[gold], is_folder=False)
    return audit_files(
        gold,
        pred,
        reading=wanted,
        sources=source or [],
        agreeing=agreeing,
        out=out,
        profile_name=profile,
        as_json=as_json,
    )


@group_options
def corrections(
    original: Arg[Path, typer.Argument(metavar="ORIGINAL", help="Annotated notes as they were.")],
    corrected: Arg[
        Path, typer.Argument(metavar="CORRECTED", help="The same notes, annotations corrected.")
    ],
    *,
    pred: Arg[
        list[str] | None,
        typer.Option(metavar="FILE[=NAME]", help="Spans to score on both; several times."),
    ] = None,
    out: Arg[
        Path | None, typer.Option(metavar="FILE", help="Changes to write, .jsonl or .csv: offsets.")
    ] = None,
    profile: ProfileOption = "harmonised",
    reading: AnnotatedReading,
    as_json: JsonOption = False,
) -> int:
    """Say what a correction of annotations changed.

    With spans files, their scores on the annotations as they were and as they are.
    """
    from deid_annotation.corrections import (  # noqa: PLC0415 - loads what evaluation needs
        correct_files,
    )

    wanted = _reading(reading)
    if out is not None:
        check_out(out, inputs=[original, corrected], is_folder=False)
    return correct_files(
        original,
        corrected,
        reading=wanted,
        preds=pred or [],
        out=out,
        profile_name=profile,
        as_json=as_json,
    )


def _reading(given: AnnotatedReading) -> NoteReading:
    from deid_annotation.annotators import NoteReading  # noqa: PLC0415 - loads what evaluation needs

    return NoteReading(given.format_name, given.labels, given.options)
