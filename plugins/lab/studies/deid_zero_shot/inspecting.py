"""Commands that look at what a calibrated model leaves.

A page for review, and recall by the origin of names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.extending import InputError
from deid_assets.extending.commands import guard_command
from deid_assets.extending.corpora import read_corpus
from deid_assets.extending.files import atomic_file
from deid_zero_shot.bias import names_of, recall_by_origin
from deid_zero_shot.commands import LabelsOption, ModelArg, NotesOption, ThreadsOption, app
from deid_zero_shot.detector import ZeroShotDetector
from deid_zero_shot.review import by_risk, count_kinds, page, review_note
from deid_zero_shot.risk import Risk

_FIRST = 20


@app.command("review")
@guard_command
def review(
    model: ModelArg,
    *,
    notes: NotesOption,
    labels: LabelsOption = "",
    out: Arg[
        Path | None,
        typer.Option(metavar="FILE", help="Page with the text of the notes, for you alone."),
    ] = None,
    without_gold: Arg[bool, typer.Option("--without-gold", help="Colour by score alone.")] = False,
    threads: ThreadsOption = None,
) -> int:
    """List notes in the order of what is probably left in them, and write them with their
    sub-tokens coloured.

    The list has ids, numbers and places of words, no text. The probability that a word is PHI is
    the share of PHI among development words with such scores.
    """
    detector = ZeroShotDetector(model=model, threads=threads)
    found = []
    for document in read_corpus(notes, labels=labels).documents:
        note = document.note
        calibrated = detector.find_calibrated(note)
        if calibrated is None:  # a detector without a threshold of its own is always calibrated
            raise InputError(
                f"note {note.note_id!r} has no calibration; run deid zero-shot calibrate"
            )
        gold = None if without_gold else list(document.spans)
        risk, threshold = Risk(calibrated), detector.threshold(note)
        found.append(
            review_note(note, detector.score(note), threshold=threshold, risk=risk, gold=gold)
        )
    for one in by_risk(found)[:_FIRST]:
        first = ", ".join(f"{word.start}-{word.end} ({word.chance:.2f})" for word in one.left[:3])
        typer.echo(
            f"{one.note.note_id}: {one.residual:.2f} words of PHI expected to be left; first"
            f" {first or 'none'}"
        )
    typer.echo(", ".join(f"{kind} {count}" for kind, count in sorted(count_kinds(found).items())))
    if out is not None:
        with atomic_file(out) as file:
            file.write(page(found, title=f"{Path(model).name}, by risk").encode())
        out.chmod(0o600)
        typer.echo(f"written to {out}, which shows the text of the notes")
    return 0


@app.command("bias")
@guard_command
def bias(
    model: ModelArg,
    *,
    notes: NotesOption,
    origin: Arg[
        list[str],
        typer.Option(
            metavar="CODE", help="Language of a locale pack whose names are put in; two or more."
        ),
    ],
    labels: LabelsOption = "",
    seed: Arg[int, typer.Option(help="Of the names drawn.")] = 0,
    threads: ThreadsOption = None,
) -> int:
    """Compare recall of names by their origin.

    In the place of each annotated name stands one of each list in turn.
    """
    detector = ZeroShotDetector(model=model, threads=threads)
    lists = {code: names_of(code) for code in origin}
    origins, gap = recall_by_origin(
        detector.detect, read_corpus(notes, labels=labels).documents, lists, seed=seed
    )
    for one in origins:
        low, high = one.interval
        typer.echo(
            f"{one.name}: {one.found} of {one.names} names found, recall {one.recall:.3f}"
            f" ({low:.3f} to {high:.3f})"
        )
    low, high = gap.interval
    typer.echo(f"gap {gap.best} - {gap.worst}: {gap.value:.3f} ({low:.3f} to {high:.3f})")
    return 0
