"""``deid evaluate``: arguments in, one function called."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated as Arg
from typing import Any

import typer

from deid_assets.extending import ConfigError
from deid_assets.extending.commands import (
    FormatOption,
    GoldOption,
    JsonOption,
    LabelsOption,
    NoteSource,
    ProfileOption,
    ReadOption,
    SystemsOption,
    check_out,
    read_options,
)

ReportOption = Arg[
    Path | None,
    typer.Option("--out", metavar="FOLDER", help="Folder for report.html and report.json."),
]
ScoredOption = Arg[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="NAME",
        help="Score only this detector; several times to compare several, alone and together.",
    ),
]
GroupOption = Arg[
    list[str] | None,
    typer.Option(metavar="KEY", help="Subgroups by a key of the notes' meta; several times."),
]
SampleOption = Arg[
    bool,
    typer.Option("--sample", help="The annotations are a sample of the notes with predictions."),
]
OverlapsOption = Arg[
    bool, typer.Option("--allow-overlaps", help="Score annotations whose spans overlap.")
]
RestrictedOption = Arg[
    bool,
    typer.Option("--restricted", help="Show note text in the report, which only you may read."),
]
CausesOption = Arg[
    Path | None, typer.Option(metavar="FILE", help="Causes of errors, as exported from a report.")
]
RunsOption = Arg[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="The runs.json of deid train: recipes over runs or folds; several times.",
    ),
]
CardOption = Arg[
    list[Path] | None,
    typer.Option(
        metavar="PATH", help="Model folder or card.json, for its learning curve; several times."
    ),
]
RewrittenOption = Arg[
    Path | None,
    typer.Option(
        metavar="NOTES", help="The notes as a generator wrote them: BLEU-4 and what it altered."
    ),
]
PlaceholderOption = Arg[
    str | None,
    typer.Option(
        metavar="REGEX", help="Pattern of a replacement in them; words in [] if not given."
    ),
]


def evaluate(  # noqa: PLR0913 - one parameter per option of the command line
    context: typer.Context,
    *,
    gold: GoldOption,
    pred: SystemsOption,
    out: ReportOption = None,
    profile: ProfileOption = "harmonised",
    source: ScoredOption = None,
    group_by: GroupOption = None,
    sample: SampleOption = False,
    allow_overlaps: OverlapsOption = False,
    restricted: RestrictedOption = False,
    causes: CausesOption = None,
    card: CardOption = None,
    runs: RunsOption = None,
    rewritten: RewrittenOption = None,
    placeholder: PlaceholderOption = None,
    format_name: FormatOption = None,
    labels: LabelsOption = None,
    read: ReadOption = None,
    as_json: JsonOption = False,
    markdown: Arg[bool, typer.Option("--markdown", help="Print tables as Markdown.")] = False,
) -> int:
    """Score spans on annotated notes.

    Strict, relaxed and by character, per category; the report has every metric, with intervals.
    """
    from deid_evaluation.commands.evaluation import (  # noqa: PLC0415 - loads what the report is made with
        Request,
        evaluate_files,
    )
    from deid_evaluation.commands.inputs import Named  # noqa: PLC0415
    from deid_evaluation.report.text import PLACEHOLDER  # noqa: PLC0415

    notes = NoteSource(gold, format_name, None, read_options(read or [], annotations=True))
    texts = (
        NoteSource(rewritten, None, None, read_options([], annotations=False))
        if rewritten
        else None
    )
    preds = [Named.parse(argument) for argument in pred]
    if out is not None:
        inputs = [
            gold,
            *(named.path for named in preds),
            *(card or ()),
            *(runs or ()),
            *filter(None, [causes, rewritten]),
        ]
        check_out(out, inputs=inputs, is_folder=True)
    if as_json and markdown:
        raise ConfigError("give --json or --markdown, not both")
    style = "json" if as_json else "markdown" if markdown else "table"
    request = Request(
        gold=notes,
        preds=preds,
        out=out,
        sources=source or (),
        labels=labels,
        profile=profile,
        style=style,
        group_by=group_by or (),
        restricted=restricted,
        causes=causes,
        cards=card or (),
        runs=runs or (),
        is_sample=sample,
        overlaps_allowed=allow_overlaps,
        rewritten=texts,
        placeholder=placeholder or PLACEHOLDER,
        command=_command_line(context),
    )
    return evaluate_files(request)


def _command_line(context: typer.Context) -> str:
    """Return the call as it can be made again, without what is as by default."""
    words = context.command_path.split()
    for parameter in context.command.params:
        value: Any = context.params.get(parameter.name or "")
        if not value or value == parameter.default:
            continue
        flag = parameter.opts[:1] if parameter.param_type_name == "option" else []
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words += flag if one is True else [*flag, str(one)]
    return shlex.join(words)
