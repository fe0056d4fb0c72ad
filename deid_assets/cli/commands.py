"""The commands: arguments in, one function called, a summary out."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated as Arg
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from deid_assets import plugins
from deid_assets.cli.app import PARTIAL, app, corpus_app, guarded, say
from deid_assets.cli.streams import Withheld, annotated, chunks, progress, spans_by_note
from deid_assets.core.detector import Detector, Failed
from deid_assets.core.detector import detect as run_detector
from deid_assets.core.errors import ConfigError
from deid_assets.core.note import Note
from deid_assets.core.pipeline import redact_all
from deid_assets.core.resolve import LineUp, resolve
from deid_assets.core.span import DisjointSpans, SpanSet
from deid_assets.formats import Annotated, write_notes, write_spans

NotesArg = Arg[Path, typer.Argument(help="File or folder of notes.", show_default=False)]
FormatOption = Arg[str | None, typer.Option("--format", help="Format of the notes; detected when not given.")]
LangOption = Arg[str | None, typer.Option(help="Language of notes that name none, as an ISO 639-1 code.")]
LabelsOption = Arg[str, typer.Option(help="Label map of the annotations.")]
JsonOption = Arg[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command()
@guarded
def detectors(*, as_json: JsonOption = False) -> int:
    """List the installed detectors, without importing them."""
    found = plugins.available().values()
    if as_json:
        rows = [
            {"name": p.name, "version": p.version, "digest": p.digest, "summary": p.summary, "fault": p.fault}
            for p in found
        ]
        typer.echo(json.dumps(rows, indent=1))
        return 0
    table = Table("name", "version", "summary", pad_edge=False)
    for plugin in found:
        table.add_row(plugin.name, plugin.version, plugin.fault or plugin.summary)
    Console().print(table)
    return 0


@app.command()
@guarded
def detect(  # noqa: PLR0913 - one parameter per option of the command line
    notes: NotesArg,
    *,
    detector: Arg[list[str], typer.Option(help="NAME or NAME=MODEL; give it several times for several opinions.")],
    out: Arg[Path, typer.Option(help="Spans file to write, JSON Lines without text.")],
    option: Arg[list[str] | None, typer.Option(help="NAME.OPTION=VALUE, the value as in TOML.")] = None,
    resolve_by: Arg[str | None, typer.Option("--resolve", help="Overlap policy; all opinions when not given.")] = None,
    format_name: FormatOption = None,
    labels: LabelsOption = "phi",
    lang: LangOption = None,
    as_json: JsonOption = False,
) -> int:
    """Find PHI and write spans, which hold offsets and no text."""
    line_up = [_load(spec, option or []) for spec in detector]
    withheld, counted = Withheld(), {"notes": 0, "spans": 0}

    def found() -> Iterator[SpanSet]:
        with progress("detecting") as advance:
            for chunk in chunks(annotated(notes, withheld, format_name=format_name, labels=labels, lang=lang)):
                for outcome in _opinions(line_up, chunk, resolve_by):
                    if isinstance(outcome, Failed):
                        withheld.failed(outcome)
                        continue
                    counted["notes"] += 1
                    counted["spans"] += len(outcome)
                    yield outcome
                advance(len(chunk))

    write_spans(out, found())
    return _finish(counted, withheld, out, as_json)


@app.command()
@guarded
def redact(
    notes: NotesArg,
    *,
    spans: Arg[Path, typer.Option(help="Spans file made by deid detect.")],
    policy: Arg[str, typer.Option(help="Name of a policy that comes with deid, or a TOML file.")],
    out: Arg[Path, typer.Option(help="Redacted notes; the suffix chooses the format.")],
    format_name: FormatOption = None,
    labels: LabelsOption = "phi",
    as_json: JsonOption = False,
) -> int:
    """Replace spans as a policy says. A note that the spans file does not know is withheld."""
    from deid_assets.policies import check_key, load_policy  # noqa: PLC0415 - loads Faker for surrogates

    chosen = load_policy(policy)
    key = check_key(chosen, _secret())
    by_note, withheld, counted = spans_by_note(spans), Withheld(), {"notes": 0, "edits": 0}

    def redacted() -> Iterator[Annotated]:
        with progress("redacting") as advance:
            for chunk in chunks(annotated(notes, withheld, format_name=format_name, labels=labels)):
                known = {note.note_id: _disjoint(note, by_note) for note in chunk if note.note_id in by_note}
                disjoint = {note_id: found for note_id, found in known.items() if isinstance(found, DisjointSpans)}
                for note, outcome in zip(
                    chunk, redact_all(chunk, disjoint, chosen, key=key, stage="redact"), strict=True
                ):
                    if isinstance(outcome, Failed):
                        withheld.failed(_first_failure(known.get(note.note_id), outcome))
                        continue
                    counted["notes"] += 1
                    counted["edits"] += len(outcome.edits)
                    yield Annotated(Note(note.note_id, outcome.text, note.patient_id, note.lang))
                advance(len(chunk))

    write_notes(out, redacted())
    return _finish(counted, withheld, out, as_json)


@app.command()
@guarded
def evaluate(
    *,
    gold: Arg[Path, typer.Option(help="Annotated notes.")],
    pred: Arg[Path, typer.Option(help="Spans file made by deid detect.")],
    out: Arg[Path, typer.Option(help="Folder for report.html and scores.json.")],
    profile: Arg[str, typer.Option(help="Which categories count, and under which labels.")] = "harmonised",
    source: Arg[str | None, typer.Option(help="Score only this detector's spans.")] = None,
    format_name: FormatOption = None,
    labels: LabelsOption = "phi",
    as_json: JsonOption = False,
) -> int:
    """Score spans against gold: strict, relaxed and by character, per category, with intervals."""
    from deid_assets.cli.evaluation import evaluate_files  # noqa: PLC0415 - loads matplotlib for the report

    return evaluate_files(
        gold, pred, out, profile_name=profile, source=source, format_name=format_name, labels=labels, as_json=as_json
    )


@corpus_app.command("make")
@guarded
def corpus(
    *,
    lang: Arg[str, typer.Option(help="Language of the notes.")] = "en",
    notes: Arg[int, typer.Option(min=1, help="How many.")] = 200,
    seed: Arg[int, typer.Option(help="The same seed gives the same notes.")] = 1,
    out: Arg[Path, typer.Option(help="File or folder to write; the suffix chooses the format.")],
) -> int:
    """Make synthetic notes with gold spans."""
    from deid_assets.synthesis import make_corpus  # noqa: PLC0415 - loads Faker

    made = (Annotated(note, spans) for note, spans in make_corpus(lang=lang, notes=notes, seed=seed))
    say(f"{write_notes(out, made):,} notes written to {out}")
    return 0


@app.command()
@guarded
def doctor(*, as_json: JsonOption = False) -> int:
    """Say what is installed, which accelerator there is, what is missing and how to get it."""
    from deid_assets.cli.diagnosis import diagnose, show  # noqa: PLC0415 - loads what it looks for

    return show(diagnose(), as_json=as_json)


def _load(spec: str, options: Sequence[str]) -> Detector:
    name, _, model = spec.partition("=")
    chosen: dict[str, Any] = {"model": model} if model else {}
    for option in options:
        place, equals, value = option.partition("=")
        owner, dot, key = place.partition(".")
        if not (equals and dot and key.isidentifier()):
            raise ConfigError(f"option {option!r} must read NAME.OPTION=VALUE, as in rules.profile='\"i2b2\"'")
        if owner == name:
            chosen[key] = _value(value)
    return plugins.load(name, options=chosen)


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # a bare word is a string


def _opinions(line_up: Sequence[Detector], notes: Sequence[Note], resolve_by: str | None) -> Iterator[SpanSet | Failed]:
    """Yield every detector's spans of a note together, or its first failure."""
    runs = [run_detector(detector, notes) for detector in line_up]
    sources = LineUp([detector.name for detector in line_up])
    for note, outcomes in zip(notes, zip(*runs, strict=True), strict=True):
        failed = next((outcome for outcome in outcomes if isinstance(outcome, Failed)), None)
        span_sets = [outcome for outcome in outcomes if isinstance(outcome, SpanSet)]
        if failed is not None:
            yield failed
        elif resolve_by is not None:
            yield resolve(note, span_sets, policy=resolve_by, line_up=sources)
        else:
            yield SpanSet.of(note, (span for spans in span_sets for span in spans))


def _disjoint(note: Note, by_note: dict[str, SpanSet]) -> DisjointSpans | Failed:
    opinions = by_note[note.note_id]
    sources = dict.fromkeys(span.source for span in opinions) or {"none": None}
    try:
        return resolve(note, [opinions], line_up=LineUp(list(sources)))
    except ValueError as error:  # the spans are of another text
        return Failed(note.note_id, "redact", type(error).__name__)


def _first_failure(known: DisjointSpans | Failed | None, later: Failed) -> Failed:
    return known if isinstance(known, Failed) else later


def _secret() -> bytes | None:
    value = os.environ.get("DEID_KEY")
    try:
        return bytes.fromhex(value) if value else None
    except ValueError:
        raise ConfigError("DEID_KEY is not hexadecimal; set it to the output of `openssl rand -hex 32`") from None


def _finish(counted: dict[str, int], withheld: Withheld, out: Path, as_json: bool) -> int:
    if as_json:
        typer.echo(json.dumps({**counted, "withheld": withheld.notes, "out": str(out)}))
    else:
        figures = ", ".join(f"{count:,} {what}" for what, count in counted.items())
        say(f"{figures}, {withheld.notes:,} withheld; written to {out}")
    return PARTIAL if withheld.notes else 0
