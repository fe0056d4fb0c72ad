"""``deid corpus stats``, ``lengths``, ``repair`` and ``space``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Annotated as Arg

import typer

from deid_assets.extending import InputError, label_map
from deid_assets.extending.commands import (
    Annotated,
    Answer,
    Fault,
    ParsedNote,
    Table,
    check_parsed_notes,
    detect_format,
    parse_notes,
    write_notes,
)

if TYPE_CHECKING:
    from deid_corpora.mending import OffsetCorrection
    from deid_corpora.sizes import Lengths
    from deid_corpora.statistics import CorpusCounts

NotesArg = Arg[
    list[str],
    typer.Argument(metavar="NOTES...", help="Notes, or synthetic:LANG:NOTES; each is counted."),
]
LabelsOption = Arg[
    str, typer.Option("--labels", metavar="NAME", help="Label map, as deid labels lists.")
]
OutOption = Arg[
    Path | None,
    typer.Option(
        "--out", metavar="PATH", help="Fixed notes to write; without it nothing is written."
    ),
]
FileArg = Arg[Path, typer.Argument(metavar="NOTES", help="File or folder of annotated notes.")]


def stats(
    notes: NotesArg,
    *,
    labels: Arg[
        list[str] | None,
        typer.Option(
            "--labels",
            metavar="NAME",
            help="Label map, as deid labels lists; one for all, or one for each.",
        ),
    ] = None,
    native: Arg[bool, typer.Option("--native", help="Count the corpus' own labels.")] = False,
) -> Answer:
    """Count notes, tokens, entities and their density, by label and language."""
    from deid_assets.extending.corpora import read_corpus  # noqa: PLC0415 - loads Faker
    from deid_corpora.statistics import statistics  # noqa: PLC0415

    maps = labels or [""]
    if len(maps) not in (1, len(notes)):
        raise InputError(
            f"{len(maps)} times --labels for {len(notes)} corpora; give one for all, or one for"
            " each"
        )
    found = []
    for source, name in zip(notes, maps * len(notes) if len(maps) == 1 else maps, strict=True):
        corpus = read_corpus(source, labels=name)
        found.append((source, statistics(corpus.documents, native=native)))
    document = {"corpora": [{"source": name, **one.to_json()} for name, one in found]}
    whole = [(_short(name), one.whole) for name, one in found]
    tables = _tabulate_counts("corpus", whole)
    for name, one in found:
        if len(one.languages) > 1:
            tables += _tabulate_counts(f"{_short(name)}: language", list(one.languages.items()))
        per_label = [
            (label, f"{spans:,}", f"{tokens:,}", f"{tokens / spans:.4f}")
            for label, (spans, tokens) in one.labels.items()
        ]
        tables.append(
            Table((f"{_short(name)}: label", "entities", "tokens", "tokens/entity"), per_label)
        )
    said = (
        "density: share of the tokens that an entity touches; without: sentences without an entity"
    )
    return Answer(document=document, tables=tables, said=[said])


_SUMS = ("notes", "patients", "tokens", "sentences", "entities")
_RATIOS = {
    "density": "density_tokens",
    "tokens/note": "tokens_per_note",
    "entities/note": "entities_per_note",
    "tokens/entity": "tokens_per_entity",
    "entities/sentence": "entities_per_sentence",
}


def _tabulate_counts(what: str, found: Sequence[tuple[str, CorpusCounts]]) -> list[Table]:
    rows = [(name, counts.to_json()) for name, counts in found]
    sums = [
        [name, *(f"{row[key]:,}" for key in _SUMS), f"{row['sentences_without_entities']:,}"]
        for name, row in rows
    ]
    ratios = [[name, *(_ratio(row[key]) for key in _RATIOS.values())] for name, row in rows]
    return [Table((what, *_SUMS, "without"), sums), Table((what, *_RATIOS), ratios)]


def _short(source: str) -> str:
    """Return the last two names of a path."""
    return "/".join(Path(source).parts[-2:])


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def lengths(
    notes: NotesArg,
    *,
    factor: Arg[
        list[int] | None,
        typer.Option("--factor", metavar="N", help="Sentences grouped; several times."),
    ] = None,
    limit: Arg[
        list[int] | None,
        typer.Option("--limit", metavar="N", help="Most sub-tokens of an encoder."),
    ] = None,
    encoder: Arg[
        Path | None,
        typer.Option(
            "--encoder", metavar="FOLDER", help="Encoder whose tokenizer counts sub-tokens."
        ),
    ] = None,
) -> Answer:
    """Show how long inputs are by sentences grouped, and which grouping an encoder takes."""
    from deid_assets.extending.corpora import read_raw  # noqa: PLC0415 - loads Faker
    from deid_corpora.sizes import FACTORS, encoder_size, lengths_of  # noqa: PLC0415

    size = encoder_size(encoder) if encoder is not None else None
    limits = sorted(limit or (256, 512))
    if limits[0] < 3 or min(factor or FACTORS) < 1:
        raise InputError("--limit takes 3 or more and --factor 1 or more")
    corpora = [
        _measure(source, lengths_of(read_raw(source), size=size), factor or FACTORS, limits)
        for source in notes
    ]
    headings = ["corpus", "factor", "inputs", "mean tokens", "most tokens"]
    if size is not None:
        headings += ["mean sub-tokens", "most sub-tokens"]
    unit = "tokens" if size is None else "sub-tokens, the encoder's two own among them"
    return Answer(
        document={"corpora": corpora},
        tables=[
            Table(headings, [cells for one in corpora for cells in _sizes(one)]),
            Table(
                ("corpus", "wanted", "factor", "sentences longer"),
                [cells for one in corpora for cells in _choices(one)],
                2,
            ),
        ],
        said=[f"limits are of {unit}; sentences longer than the limit would be cut"],
    )


def _measure(
    source: str, lengths: Lengths, factors: Sequence[int], limits: Sequence[int]
) -> dict[str, Any]:
    by_limit = [
        {"limit": one, "factor": lengths.for_limit(one), "sentences_over": lengths.over(one)}
        for one in limits
    ]
    return {
        "source": source,
        "factors": lengths.rows(factors),
        "limits": by_limit,
        "for_200_tokens": lengths.for_budget(),
    }


def _sizes(corpus: Mapping[str, Any]) -> list[list[str]]:
    name = _short(corpus["source"])
    return [[name, *(f"{value:,}" for value in row.values())] for row in corpus["factors"]]


def _choices(corpus: Mapping[str, Any]) -> list[list[str]]:
    from deid_corpora.sizes import BUDGET  # noqa: PLC0415 - with what lengths loads

    name = _short(corpus["source"])
    by_limit = [
        [name, f"at most {row['limit']}", f"{row['factor']}", f"{row['sentences_over']:,}"]
        for row in corpus["limits"]
    ]
    return [[name, f"mean of {BUDGET} tokens", f"{corpus['for_200_tokens']}", ""], *by_limit]


def repair(
    notes: FileArg,
    *,
    out: OutOption = None,
    labels: LabelsOption = "",
    format_name: Arg[
        str | None, typer.Option("--format", metavar="NAME", help="Format of the notes.")
    ] = None,
) -> Answer:
    """Propose offsets for annotations that do not cover the text they carry; report each.

    With --out the notes are written with the proposed offsets; a note with an annotation that
    cannot be placed is withheld.
    """
    from deid_corpora.mending import OffsetVerdict, correct_offsets  # noqa: PLC0415

    _check_apart(out, notes)
    format_name = format_name or detect_format(notes)
    corrections: list[OffsetCorrection] = []
    faults: list[Fault] = []
    mended: list[ParsedNote] = []
    for found in parse_notes(notes, format=format_name):
        if isinstance(found, Fault):
            faults.append(found)
            continue
        parsed, wrong = correct_offsets(found)
        corrections += wrong
        mended.append(parsed)
    left = sum(one.verdict is not OffsetVerdict.MOVED for one in corrections)
    written, withheld = _write(mended, out, labels, format_name)
    rows = [_cells(one) for one in corrections]
    said = (
        f"{len(corrections) - left:,} annotations moved, {left:,} left as they are,"
        f" {len(mended):,} notes read"
    )
    return _answer_repaired(
        {"corrections": [one.to_json() for one in corrections], "notes": len(mended)},
        Table(("note", "line", "label", "offsets", "verdict", "proposed", "places"), rows, 6),
        [said],
        out=out,
        written=written,
        faults=[*faults, *withheld],
        undone=left > 0,
    )


def _cells(correction: OffsetCorrection) -> list[str]:
    proposed = "-"
    if correction.new_start is not None:
        proposed = f"{correction.new_start}-{correction.new_end}"
    return [
        correction.note_id,
        str(correction.line or "-"),
        correction.label,
        f"{correction.start}-{correction.end}",
        correction.verdict.value,
        proposed,
        str(correction.places),
    ]


def space(
    notes: FileArg,
    *,
    out: OutOption = None,
    labels: LabelsOption = "",
    format_name: Arg[
        str | None, typer.Option("--format", metavar="NAME", help="Format of the notes.")
    ] = None,
) -> Answer:
    """Find entities that are glued to letters or digits beside them; report each.

    With --out the notes are written with a blank there and all offsets recomputed. The text
    changes: train on it, never redact it in place of the original.
    """
    from deid_corpora.mending import add_spaces  # noqa: PLC0415

    _check_apart(out, notes)
    format_name = format_name or detect_format(notes)
    gaps: list[Any] = []
    made: list[Annotated] = []
    faults: list[Fault] = []
    for found in _check(parse_notes(notes, format=format_name), labels, format_name):
        if isinstance(found, Fault):
            faults.append(found)
            continue
        annotated, where = add_spaces(found)
        gaps += where
        made.append(annotated)
    written = (
        write_notes(out, made, format=_folder_format(out, format_name)) if out is not None else 0
    )
    rows = [[one.note_id, one.label, one.side, str(one.at)] for one in gaps]
    said = [f"{len(gaps):,} places where an entity is glued, in {len(made):,} notes"]
    return _answer_repaired(
        {"gaps": [one.to_json() for one in gaps], "notes": len(made)},
        Table(("note", "label", "side", "offset"), rows, 3),
        said,
        out=out,
        written=written,
        faults=faults,
        undone=False,
    )


def _check_apart(out: Path | None, notes: Path) -> None:
    if out is not None and (
        out.resolve() == notes.resolve() or out.resolve().is_relative_to(notes.resolve())
    ):
        raise InputError(
            f"--out {out} is what is read; name another place, so that the original stays"
        )


def _check(parsed: Any, labels: str, format_name: str) -> Any:
    name = labels or ("i2b2" if format_name == "i2b2" else "phi")
    return check_parsed_notes(parsed, labels=label_map(name))


def _write(
    mended: Sequence[ParsedNote], out: Path | None, labels: str, format_name: str
) -> tuple[int, list[Fault]]:
    if out is None:
        return 0, []
    found = list(_check(mended, labels, format_name))
    kept = [one for one in found if not isinstance(one, Fault)]
    written = write_notes(out, kept, format=_folder_format(out, format_name)) if kept else 0
    return written, [one for one in found if isinstance(one, Fault)]


def _folder_format(out: Path | None, format_name: str) -> str | None:
    return format_name if out is not None and not out.suffix else None


def _answer_repaired(
    document: Mapping[str, Any],
    table: Table,
    said: Sequence[str],
    *,
    out: Path | None,
    written: int,
    faults: Sequence[Fault],
    undone: bool,
) -> Answer:
    lines = [*said, *(fault.message for fault in faults)]
    if out is not None:
        lines.append(f"{written:,} notes written to {out}")
    return Answer(
        document={**document, "written": written, "faults": [fault.message for fault in faults]},
        tables=[table] if table.rows else [],
        said=lines,
        code=1 if faults or undone else 0,
    )
