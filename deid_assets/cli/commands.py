"""The commands: arguments in, one function called, a summary out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.cli.app import app, corpus_app, guarded, say
from deid_assets.cli.arguments import (
    DetectorInsteadOption,
    DetectorOption,
    DetectorSettingOption,
    FormatOption,
    JobsOption,
    JsonOption,
    LangOption,
    NotesArg,
    PolicyOption,
    ReadOption,
    ResolveOption,
    ResolveOrUniteOption,
    ToOption,
)
from deid_assets.cli.ensemble import Detection, Named
from deid_assets.cli.outputs import check_out, finish, out_format, write_options
from deid_assets.cli.recording import Recorder, VaultOptions, recording
from deid_assets.cli.redaction import Done, Redaction, choose_finder
from deid_assets.cli.streams import CHUNK_CHARS, PATIENTS_CHARS, NoteSource, Withheld, progress, read_options
from deid_assets.cli.tables import print_json
from deid_assets.cli.vault import KeyFileOption
from deid_assets.core.detector import Failed
from deid_assets.core.note import chunks_of
from deid_assets.core.span import DisjointSpans, SpanSet
from deid_assets.formats import Annotated, write_notes, write_spans


@app.command()
@guarded
def detect(  # noqa: PLR0913 - one parameter per option of the command line
    notes: NotesArg,
    *,
    detector: DetectorOption,
    out: Arg[Path, typer.Option(metavar="FILE", help="Spans to write, .jsonl or .parquet.")],
    option: DetectorSettingOption = None,
    resolve_by: ResolveOption = None,
    format_name: FormatOption = None,
    read: ReadOption = None,
    lang: LangOption = None,
    jobs: JobsOption = 1,
    as_json: JsonOption = False,
) -> int:
    """Find PHI and write spans.

    Spans hold offsets, categories and scores, and no text.
    """
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
    policy: PolicyOption,
    out: Arg[Path, typer.Option(metavar="PATH", help="Redacted notes to write; the suffix chooses the format.")],
    spans: Arg[Path | None, typer.Option(metavar="FILE", help="Spans that deid detect wrote.")] = None,
    detector: DetectorInsteadOption = None,
    option: DetectorSettingOption = None,
    resolve_by: ResolveOrUniteOption = None,
    format_name: FormatOption = None,
    to: ToOption = None,
    read: ReadOption = None,
    lang: LangOption = None,
    jobs: JobsOption = 1,
    keep_patient_ids: Arg[bool, typer.Option("--keep-patient-ids", help="Write patient ids; by default none.")] = False,
    edits: Arg[Path | None, typer.Option(metavar="FILE", help="Edit maps to write, .jsonl: offsets, no text.")] = None,
    vault: Arg[
        str | None,
        typer.Option(metavar="URL", help="Vault to seal the originals in: sqlite:///PATH or postgresql://…."),
    ] = None,
    vault_key_file: KeyFileOption = None,
    vault_by_note: Arg[
        bool, typer.Option("--vault-by-note", help="Let a note without patient id count as a patient of its own.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Replace PHI as a policy says.

    Spans come from a file, or from detectors that run at once. What is found in one note is covered in the patient's
    other notes. A note that the file does not know, that a detector fails on, or in which a known value is left, is
    withheld.
    """
    source = NoteSource(notes, format_name, lang, read_options(read or [], annotations=False))
    written_as = out_format(out, to)
    inputs = [notes, *filter(None, [spans]), *filter(Path.is_file, [Path(policy)])]
    check_out(out, inputs=inputs, is_folder=written_as.is_folder)
    if edits is not None:
        check_out(edits, inputs=[*inputs, out], is_folder=False, option="--edits")
    redaction = Redaction.load(policy, keep_patient_ids=keep_patient_ids)
    named = Named(tuple(detector or ()), tuple(option or ()), resolve_by, jobs)
    finder = choose_finder(spans, named, policy=redaction.policy)
    redaction.require_packs(source)
    withheld, done = Withheld(), Done()

    def redacted(recorder: Recorder) -> Iterator[Annotated]:
        with progress("redacting") as advance:
            for batch in source.batches(withheld, chars=PATIENTS_CHARS):
                found: dict[str, DisjointSpans | Failed] = {}
                for chunk, of_chunk in finder.over(chunks_of(batch, CHUNK_CHARS)):
                    found |= of_chunk
                    advance(len(chunk))
                yield from redaction.run(batch, found, withheld, done, keep=recorder)
        recorder.finish()
        if others := finder.left_over():
            say(f"{others:,} notes of the spans file are not among the notes")

    kept_in = None if vault is None else VaultOptions(vault, vault_key_file, vault_by_note)
    with recording(redaction, edits=edits, named=named, vault=kept_in) as recorder:
        write_notes(out, redacted(recorder), format=written_as.name, options=write_options())
    if line := done.fallback_line():
        say(line)
    more = {"fallbacks": dict(sorted(done.fallbacks.items()))}
    return finish({"notes": done.notes, "edits": done.edits}, withheld, out, more=more, as_json=as_json)


@corpus_app.command("make")
@guarded
def corpus(
    *,
    lang: Arg[str, typer.Option(metavar="CODE", help="Language of the notes.")] = "en",
    notes: Arg[int, typer.Option(metavar="N", min=1, help="Number of notes.")] = 200,
    seed: Arg[int, typer.Option(metavar="N", help="Seed; the same one gives the same notes.")] = 1,
    mix: Arg[
        str, typer.Option(metavar="NAME", help="hospital, or triage: emergency triage notes, in French.")
    ] = "hospital",
    out: Arg[Path, typer.Option(metavar="PATH", help="Notes to write; the suffix chooses the format.")],
    to: ToOption = None,
    as_json: JsonOption = False,
) -> int:
    """Make synthetic notes with gold spans."""
    from deid_assets.synthesis import make_corpus  # noqa: PLC0415 - loads Faker

    written_as = out_format(out, to)
    check_out(out, inputs=[], is_folder=written_as.is_folder)
    made = (Annotated(note, spans) for note, spans in make_corpus(lang=lang, notes=notes, seed=seed, mix=mix))
    count = write_notes(out, made, format=written_as.name, options=write_options())
    if as_json:
        print_json({"notes": count, "out": str(out)})
    else:
        say(f"{count:,} notes written to {out}")
    return 0


@app.command()
@guarded
def doctor(*, as_json: JsonOption = False) -> int:
    """Say what is installed and what is missing.

    With the accelerator there is, and how to get what is missing.
    """
    from deid_assets.cli.diagnosis import diagnose, show  # noqa: PLC0415 - loads what it looks for

    return show(diagnose(), as_json=as_json)
