"""The commands: arguments in, one function called, a summary out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.cli.app import app, corpus_app, guarded, say
from deid_assets.cli.line_up import Detection, Named
from deid_assets.cli.listings import JsonOption
from deid_assets.cli.outputs import check_out, finish, out_format
from deid_assets.cli.redaction import Redaction, choose_finder
from deid_assets.cli.streams import NoteSource, Withheld, progress, read_options
from deid_assets.cli.tables import print_json
from deid_assets.core.detector import Failed
from deid_assets.core.errors import ConfigError
from deid_assets.core.span import SpanSet
from deid_assets.formats import Annotated, write_notes, write_spans

NotesArg = Arg[Path, typer.Argument(help="File or folder of notes; their annotations are not read.")]
FormatOption = Arg[str | None, typer.Option("--format", help="Format of the notes; detected when not given.")]
LangOption = Arg[str | None, typer.Option(help="Language of notes that name none, as an ISO 639-1 code.")]
ReadOption = Arg[
    list[str] | None,
    typer.Option(help="NAME=VALUE, as in encoding=cp1252, delimiter=tab or column.text=note_text; see docs/cli.md."),
]
OptionOption = Arg[list[str] | None, typer.Option(help="NAME.OPTION=VALUE for a detector, the value as in TOML.")]
JobsOption = Arg[int, typer.Option("--jobs", "-j", min=1, help="Processes that detect; each loads the detectors.")]
DETECTOR_HELP = "NAME or NAME=MODEL; several times for several opinions, the most trusted first."


@app.command()
@guarded
def detect(  # noqa: PLR0913 - one parameter per option of the command line
    notes: NotesArg,
    *,
    detector: Arg[list[str], typer.Option(help=DETECTOR_HELP)],
    out: Arg[Path, typer.Option(help="Spans file to write, .jsonl or .parquet, without text.")],
    option: OptionOption = None,
    resolve_by: Arg[str | None, typer.Option("--resolve", help="Overlap policy; all opinions when not given.")] = None,
    format_name: FormatOption = None,
    read: ReadOption = None,
    lang: LangOption = None,
    jobs: JobsOption = 1,
    as_json: JsonOption = False,
) -> int:
    """Find PHI and write spans, which hold offsets and no text."""
    source = NoteSource(notes, format_name, lang, read_options(read or [], annotations=False))
    check_out(out, inputs=[notes], is_folder=False)
    detection = Detection.load(Named(tuple(detector), tuple(option or ()), resolve_by, jobs))
    withheld, counted = Withheld(), {"notes": 0, "spans": 0}

    def found() -> Iterator[SpanSet]:
        with progress("detecting") as advance:
            for chunk, outcomes in detection.over(source.chunks(withheld)):
                for outcome in outcomes:
                    if isinstance(outcome, Failed):
                        withheld.failed(outcome)
                        continue
                    counted["notes"] += 1
                    counted["spans"] += len(outcome)
                    yield outcome
                advance(len(chunk))

    write_spans(out, found())
    return finish(counted, withheld, out, as_json=as_json)


@app.command()
@guarded
def redact(  # noqa: PLR0913 - one parameter per option of the command line
    notes: NotesArg,
    *,
    policy: Arg[str, typer.Option(help="Name of a policy that comes with deid (see deid policies), or a TOML file.")],
    out: Arg[Path, typer.Option(help="Redacted notes; the suffix chooses the format.")],
    spans: Arg[Path | None, typer.Option(help="Spans file made by deid detect.")] = None,
    detector: Arg[list[str] | None, typer.Option(help=f"Detect at once instead: {DETECTOR_HELP}")] = None,
    option: OptionOption = None,
    resolve_by: Arg[str | None, typer.Option("--resolve", help="Overlap policy; union when not given.")] = None,
    format_name: FormatOption = None,
    to: Arg[str | None, typer.Option(help="Format to write, where the suffix does not say it.")] = None,
    read: ReadOption = None,
    lang: LangOption = None,
    jobs: JobsOption = 1,
    keep_patient_ids: Arg[bool, typer.Option("--keep-patient-ids", help="Write patient ids; by default none.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Replace PHI as a policy says, from a spans file or by detecting at once.

    A note that the spans file does not know, or that a detector fails on, is withheld.
    """
    source = NoteSource(notes, format_name, lang, read_options(read or [], annotations=False))
    written_as = out_format(out, to)
    inputs = [notes, *filter(None, [spans]), *filter(Path.is_file, [Path(policy)])]
    check_out(out, inputs=inputs, is_folder=written_as.is_folder)
    redaction = Redaction.load(policy, keep_patient_ids=keep_patient_ids)
    finder = choose_finder(spans, Named(tuple(detector or ()), tuple(option or ()), resolve_by, jobs))
    withheld, counted = Withheld(), {"notes": 0, "edits": 0}

    def redacted() -> Iterator[Annotated]:
        with progress("redacting") as advance:
            for chunk, found in finder.over(source.chunks(withheld)):
                yield from redaction.run(chunk, found, withheld, counted)
                advance(len(chunk))
        if others := finder.left_over():
            say(f"{others:,} notes of the spans file are not among the notes")

    write_notes(out, redacted(), format=written_as.name)
    return finish(counted, withheld, out, as_json=as_json)


@app.command()
@guarded
def evaluate(  # noqa: PLR0913 - one parameter per option of the command line
    *,
    gold: Arg[Path, typer.Option(help="Annotated notes.")],
    pred: Arg[list[Path], typer.Option(help="Spans file made by deid detect; several times to compare.")],
    out: Arg[
        Path | None, typer.Option(help="Folder for report.html and scores.json; none written if not given.")
    ] = None,
    profile: Arg[str, typer.Option(help="Which categories count, and under which labels.")] = "harmonised",
    source: Arg[
        list[str] | None,
        typer.Option(help="Score this detector alone; several times to compare them, and all together."),
    ] = None,
    format_name: FormatOption = None,
    labels: Arg[str | None, typer.Option(help="Label map of the gold; that of its format when not given.")] = None,
    read: ReadOption = None,
    as_json: JsonOption = False,
    markdown: Arg[bool, typer.Option("--markdown", help="Print tables as Markdown.")] = False,
) -> int:
    """Score spans against gold: strict, relaxed and by character, per category, with intervals."""
    from deid_assets.cli.evaluation import evaluate_files  # noqa: PLC0415 - loads what the report is made with

    notes = NoteSource(gold, format_name, None, read_options(read or [], annotations=True))
    if out is not None:
        check_out(out, inputs=[gold, *pred], is_folder=True)
    if as_json and markdown:
        raise ConfigError("give --json or --markdown, not both")
    style = "json" if as_json else "markdown" if markdown else "table"
    return evaluate_files(notes, pred, out, sources=source or [], labels=labels, profile_name=profile, style=style)


@corpus_app.command("make")
@guarded
def corpus(
    *,
    lang: Arg[str, typer.Option(help="Language of the notes.")] = "en",
    notes: Arg[int, typer.Option(min=1, help="How many.")] = 200,
    seed: Arg[int, typer.Option(help="The same seed gives the same notes.")] = 1,
    out: Arg[Path, typer.Option(help="Notes to write; the suffix chooses the format.")],
    to: Arg[str | None, typer.Option(help="Format to write, where the suffix does not say it.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Make synthetic notes with gold spans."""
    from deid_assets.synthesis import make_corpus  # noqa: PLC0415 - loads Faker

    written_as = out_format(out, to)
    check_out(out, inputs=[], is_folder=written_as.is_folder)
    made = (Annotated(note, spans) for note, spans in make_corpus(lang=lang, notes=notes, seed=seed))
    count = write_notes(out, made, format=written_as.name)
    if as_json:
        print_json({"notes": count, "out": str(out)})
    else:
        say(f"{count:,} notes written to {out}")
    return 0


@app.command()
@guarded
def doctor(*, as_json: JsonOption = False) -> int:
    """Say what is installed, which accelerator there is, what is missing and how to get it."""
    from deid_assets.cli.diagnosis import diagnose, show  # noqa: PLC0415 - loads what it looks for

    return show(diagnose(), as_json=as_json)
