"""``deid evaluate``: arguments in, one function called."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated as Arg
from typing import Any

import typer

from deid_assets.extending import ConfigError
from deid_assets.extending.commands import (
    AnnotatedReading,
    GoldOption,
    JsonOption,
    NoteSource,
    ProfileOption,
    SystemsOption,
    check_out,
    group_options,
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


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """Options on what is scored."""

    profile: ProfileOption = "harmonised"
    source: ScoredOption = None
    group_by: GroupOption = None
    sample: SampleOption = False
    allow_overlaps: OverlapsOption = False


@dataclass(frozen=True, slots=True)
class Additions:
    """Options on what the report has besides scores."""

    restricted: RestrictedOption = False
    causes: CausesOption = None
    card: CardOption = None
    runs: RunsOption = None
    rewritten: RewrittenOption = None
    placeholder: PlaceholderOption = None

    @property
    def inputs(self) -> list[Path]:
        """Files that are read for it."""
        return [
            *(self.card or ()),
            *(self.runs or ()),
            *filter(None, [self.causes, self.rewritten]),
        ]

    def texts(self) -> NoteSource | None:
        """Return the notes as a generator wrote them, where they are given."""
        if not self.rewritten:
            return None
        return NoteSource(self.rewritten, None, None, read_options([], annotations=False))


@dataclass(frozen=True, slots=True)
class Printing:
    """Options on how scores are printed."""

    as_json: JsonOption = False
    markdown: Arg[bool, typer.Option("--markdown", help="Print tables as Markdown.")] = False

    @property
    def style(self) -> str:
        """``json``, ``markdown`` or ``table``.

        Raises:
            ConfigError: Two are asked for.
        """
        if self.as_json and self.markdown:
            raise ConfigError("give --json or --markdown, not both")
        if self.as_json:
            return "json"
        return "markdown" if self.markdown else "table"


@group_options
def evaluate(
    context: typer.Context,
    *,
    gold: GoldOption,
    pred: SystemsOption,
    out: ReportOption = None,
    scoring: ScoringOptions,
    additions: Additions,
    reading: AnnotatedReading,
    printing: Printing,
) -> int:
    """Score spans on annotated notes.

    Strict, relaxed and by character, per category; the report has every metric, with intervals.
    """
    from deid_evaluation.commands.evaluation import (  # noqa: PLC0415 - loads what the report is made with
        Request,
        evaluate_files,
    )
    from deid_evaluation.commands.inputs import NamedFile  # noqa: PLC0415
    from deid_evaluation.report.text import PLACEHOLDER  # noqa: PLC0415

    notes = reading.source(gold)
    texts = additions.texts()
    preds = [NamedFile.parse(argument) for argument in pred]
    if out is not None:
        inputs = [gold, *(named.path for named in preds), *additions.inputs]
        check_out(out, inputs=inputs, is_folder=True)
    request = Request(
        gold=notes,
        preds=preds,
        out=out,
        sources=scoring.source or (),
        labels=reading.labels,
        profile=scoring.profile,
        style=printing.style,
        group_by=scoring.group_by or (),
        restricted=additions.restricted,
        causes=additions.causes,
        cards=additions.card or (),
        runs=additions.runs or (),
        is_sample=scoring.sample,
        overlaps_allowed=scoring.allow_overlaps,
        rewritten=texts,
        placeholder=additions.placeholder or PLACEHOLDER,
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
