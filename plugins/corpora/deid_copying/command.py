"""``deid corpus copied`` and ``deid corpus sift``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated as Arg

import typer

from deid_assets.extending import InputError
from deid_assets.extending.commands import (
    Answer,
    Table,
    check_out,
    group_options,
    write_notes,
    write_options,
)
from deid_copying.reading import SYNTHETIC, notes_of

if TYPE_CHECKING:
    from deid_copying.neighbours import NearestNotes
    from deid_copying.recalls import GramRecall
    from deid_copying.report import CopyReport, ListedPassage


@dataclass(frozen=True, slots=True)
class CopyLimitOptions:
    """What is allowed."""

    limit: Arg[
        float,
        typer.Option(metavar="SHARE", help="Most n-gram recall above that of the baseline."),
    ] = 0.005
    longest: Arg[
        int,
        typer.Option(metavar="WORDS", help="Longest passage of one to three patients allowed."),
    ] = 20
    near: Arg[
        float,
        typer.Option(
            metavar="DISTANCE", help="No drawn note may be nearer to a note of a patient."
        ),
    ] = 0.5


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """How it is measured."""

    passage: Arg[
        int, typer.Option(metavar="WORDS", help="Shortest passage that is looked for.")
    ] = 10
    draws: Arg[int, typer.Option(metavar="N", help="Notes whose nearest note is looked for.")] = (
        1_000
    )
    tokenizer: Arg[
        Path | None,
        typer.Option(metavar="FOLDER", help="Model whose sub-words are counted beside words."),
    ] = None


@group_options  # type: ignore[arg-type]  # an answer is shown, whatever groups its options
def copied(
    synthetic: Arg[
        str, typer.Argument(metavar="SYNTHETIC", help="Notes that must not tell of the source.")
    ],
    *,
    source: Arg[
        str, typer.Option("--from", metavar="NOTES", help="Notes of patients, annotated or not.")
    ],
    baseline: Arg[
        str | None,
        typer.Option(
            metavar="NOTES",
            help=(
                "Notes of a generator that never saw the source, or synthetic:LANG:NOTES; what"
                " these share is chance."
            ),
        ),
    ] = None,
    labels: Arg[
        str,
        typer.Option(metavar="NAME", help="Label map of the source's annotations."),
    ] = "",
    limits: CopyLimitOptions,
    measures: MeasureOptions,
    show: Arg[
        bool,
        typer.Option("--show", help="Show the text of the longest passages, on a terminal alone."),
    ] = False,
) -> Answer:
    """Measure what notes copied of others: n-gram recall, longest passages, nearest notes."""
    from deid_copying.report import CopyLimits, Measuring, measure_copies  # noqa: PLC0415

    _check(synthetic, source, baseline, show=show)
    report = measure_copies(
        lambda: notes_of(synthetic),
        lambda: notes_of(source, labels),
        None if baseline is None else lambda: notes_of(baseline),
        measuring=Measuring(
            passage=measures.passage, draws=measures.draws, tokenizer=measures.tokenizer
        ),
        limits=CopyLimits(excess=limits.limit, longest=limits.longest, near=limits.near),
    )
    texts = texts_of(synthetic, report.listed) if show else {}
    return Answer(
        document=report.to_json(),
        tables=tables_of(report, texts),
        said=describe_report(report),
        code=0 if report.holds else 1,
    )


def _check(synthetic: str, source: str, baseline: str | None, *, show: bool) -> None:
    """Refuse to show text but on a terminal, and to compare notes with themselves.

    Raises:
        InputError: Either is asked for.
    """
    if show and not sys.stdout.isatty():
        raise InputError("--show shows text of patients on a terminal alone; leave it out")
    if baseline is not None and _place_of(baseline) in {_place_of(synthetic), _place_of(source)}:
        raise InputError(
            "--baseline names the notes that are compared; name notes of a generator that never saw"
            " the source"
        )


def _place_of(corpus: str) -> str:
    """Return what is the same for two names of one corpus."""
    return corpus if corpus.startswith(SYNTHETIC) else os.path.realpath(os.path.expandvars(corpus))


def tables_of(report: CopyReport, texts: dict[str, str] | None = None) -> list[Table]:
    """Return what is shown to people: recalls, passages, near notes, distances.

    Args:
        report: What was found.
        texts: Of passages by digest; none is shown where not given.
    """
    tables = [
        Table(
            ("n-grams", "n", "in the source", "recall", "baseline", "above it"),
            [_recall_cells(one) for one in report.rows],
        )
    ]
    if report.listed:
        columns = ["passage in note", "of note", "digest", "patients", "words"]
        columns += ["text"] if texts else []
        rows = [
            [one.note, one.source, one.digest, f"{one.passage.patients}", f"{one.passage.tokens}"]
            + ([texts.get(one.digest, "")] if texts else [])
            for one in report.listed
        ]
        tables.append(Table(columns, rows, 3))
    if report.near:
        near = [[note, source, f"{distance:.3f}"] for note, source, distance in report.near]
        tables.append(Table(("note", "nearest note of the source", "distance"), near, 2))
    nearest = [_nearest_cells("synthetic", report.nearest)]
    if report.nearest_baseline is not None:
        nearest.append(_nearest_cells("baseline", report.nearest_baseline))
    columns = ["nearest notes", "drawn", "distance", "5 %", "ratio", "5 %"]
    return [*tables, Table(columns, nearest)]


def _recall_cells(row: GramRecall) -> list[str]:
    name = f"{row.unit} of identifiers" if row.marked else row.unit
    chance = "-" if row.by_chance is None else f"{row.by_chance:.4f}"
    return [name, f"{row.n}", f"{row.source:,}", f"{row.recall:.4f}", chance, f"{row.excess:.4f}"]


def _nearest_cells(name: str, nearest: NearestNotes) -> list[str]:
    own = nearest.to_json()
    keys = ("distance_median", "distance_p5", "ratio_median", "ratio_p5")
    return [name, f"{own['notes']:,}", *(f"{own[key]:.3f}" if key in own else "-" for key in keys)]


def describe_report(report: CopyReport) -> list[str]:
    """Return lines on what was compared and what the limits say."""
    sizes = ", ".join(
        f"{name} {notes:,} notes with {words:,} words"
        for name, (notes, words) in report.sizes.items()
    )
    found = report.found
    lines = [
        sizes,
        (
            f"{found.count:,} passages of one patient, of {report.measuring.passage} words and"
            f" more, in {found.notes:,} notes; {found.of_several:,} of two or three patients"
        ),
    ]
    lines += _gaps_of(report)
    if "baseline" in report.sizes and report.sizes["baseline"][1] < report.sizes["synthetic"][1]:
        lines.append("the baseline has fewer words than the synthetic notes, so less by chance")
    verdicts = [f"{'kept' if one.holds else 'NOT KEPT'}: {one.said}" for one in report.verdicts]
    return [*lines, *verdicts]


def _gaps_of(report: CopyReport) -> Iterator[str]:
    """Yield lines on what could not be measured."""
    gaps, of_source = report.gaps, report.sizes["source"][0]
    if gaps.too_short:
        yield f"{gaps.too_short:,} synthetic notes of fewer than three words were not compared"
    if gaps.not_annotated == of_source:
        yield "the source is not annotated: n-grams of identifiers were not counted apart"
    elif gaps.not_annotated:
        yield (
            f"{gaps.not_annotated:,} of {of_source:,} notes of the source are not annotated: their"
            " identifiers are not among the n-grams of identifiers"
        )
    if gaps.of_nobody:
        yield (
            f"{gaps.of_nobody:,} notes of the source name no patient: what a patient's notes repeat"
            " in more than three of them was taken for the site's template, and is in no passage"
        )


def texts_of(synthetic: str, listed: Sequence[ListedPassage]) -> dict[str, str]:
    """Return the text of each passage by its digest, without what a terminal would obey."""
    from deid_copying.tokens import WordTokens  # noqa: PLC0415 - loads NumPy

    wanted: dict[str, list[ListedPassage]] = {}
    for one in listed:
        wanted.setdefault(one.note, []).append(one)
    found = {}
    for annotated in notes_of(synthetic):
        for one in wanted.get(annotated.note.note_id, ()):
            _, words = WordTokens().split(annotated.note.text)
            first, last = one.passage.first, one.passage.first + one.passage.tokens - 1
            text = annotated.note.text[words[first][0] : words[last][1]]
            shown = "".join(sign if sign.isprintable() else " " for sign in text)
            found[one.digest] = " ".join(shown.split())
    return found


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """What is taken away."""

    shortest: Arg[int, typer.Option(metavar="WORDS", help="Fewest words of a note.")] = 4
    longest: Arg[int, typer.Option(metavar="WORDS", help="Most words of a note; 0: any.")] = 0
    run: Arg[
        int,
        typer.Option("--copied", metavar="WORDS", help="Words in a row that no source note has."),
    ] = 10
    sensitive: Arg[
        int,
        typer.Option(metavar="WORDS", help="The same with a word of an identifier among them."),
    ] = 3
    name_words: Arg[
        int,
        typer.Option(metavar="N", help="Fewest words of a name of the source; 1 takes every word."),
    ] = 2


@group_options  # type: ignore[arg-type]  # an answer is shown, whatever groups its options
def sift(
    synthetic: Arg[str, typer.Argument(metavar="SYNTHETIC", help="Notes that are sifted.")],
    *,
    source: Arg[str, typer.Option("--from", metavar="NOTES", help="Annotated notes of patients.")],
    out: Arg[Path, typer.Option(metavar="PATH", help="Kept notes; the suffix chooses the format.")],
    labels: Arg[
        str,
        typer.Option(metavar="NAME", help="Label map of the source's annotations."),
    ] = "",
    filters: FilterOptions,
) -> Answer:
    """Leave out notes that are too short, said before, or share words or names with others."""
    from deid_copying.filters import NoteFilters, describe_removed, sieve  # noqa: PLC0415

    inputs = [Path(one) for one in (synthetic, source)]
    check_out(out, inputs=inputs, is_folder=False)
    found = sieve(
        lambda: notes_of(synthetic),
        lambda: notes_of(source, labels),
        NoteFilters(
            shortest=filters.shortest,
            longest=filters.longest,
            copied=filters.run,
            sensitive=filters.sensitive,
            name_words=filters.name_words,
        ),
    )
    written = write_notes(out, found.of(notes_of(synthetic)), options=write_options())
    removed = dict(found.removed)
    return Answer(
        document={"notes": len(found.kept), "kept": written, "removed": removed},
        tables=[Table(("filter", "notes"), [[name, f"{own:,}"] for name, own in removed.items()])],
        said=[
            (
                f"{written:,} of {len(found.kept):,} notes written to {out}; taken:"
                f" {describe_removed(removed)}"
            )
        ],
    )
