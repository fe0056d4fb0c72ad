"""``deid detect`` and ``deid redact``: the halves of de-identification."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.cli.app import app
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
from deid_assets.cli.endings import guarded, say
from deid_assets.cli.ensemble import Detection, Named
from deid_assets.cli.keeping.vault import KeyFileOption
from deid_assets.cli.notes.recording import Recorder, VaultOptions, recording
from deid_assets.cli.notes.redaction import (
    Done,
    Redaction,
    StoredSpans,
    check_source_of_spans,
    pipeline_of,
)
from deid_assets.cli.outputs import check_out, finish, out_format, write_options
from deid_assets.cli.streams import (
    CHUNK_CHARS,
    PATIENTS_CHARS,
    NoteSource,
    SpansFile,
    Withheld,
    progress,
    read_options,
    seal_of_environment,
)
from deid_assets.core.detector import Failed
from deid_assets.core.note import chunks_of
from deid_assets.core.span import DisjointSpans, SpanSet
from deid_assets.formats import Annotated, write_notes, write_spans
from deid_assets.pipeline.resolving import LEAVABLE


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

    Spans hold offsets, categories and scores, and no text. Each note's digest ties them to it,
    sealed with DEID_KEY where that is set; a plain one confirms a guess at the note: keep such a
    file with the notes.
    """
    source = NoteSource(notes, format_name, lang, read_options(read or [], annotations=False))
    check_out(out, inputs=[notes], is_folder=False)
    seal = seal_of_environment()
    detection = Detection.load(Named(tuple(detector), tuple(option or ()), resolve_by, jobs))
    withheld, counted = Withheld(), {"notes": 0, "spans": 0}

    def found() -> Iterator[SpanSet]:
        with progress("detecting") as advance:
            for chunk, outcomes in detection.over(source.chunks(withheld, growing=jobs == 1)):
                for outcome in outcomes:
                    if isinstance(outcome, Failed):
                        withheld.failed(outcome)
                        continue
                    counted["notes"] += 1
                    counted["spans"] += len(outcome)
                    yield outcome
                advance(len(chunk))

    write_spans(out, found(), seal=seal)
    return finish(counted, withheld, out, as_json=as_json)


@app.command()
@guarded
def redact(  # noqa: PLR0913 - one parameter per option of the command line
    notes: NotesArg,
    *,
    policy: PolicyOption,
    out: Arg[
        Path,
        typer.Option(
            metavar="PATH", help="Redacted notes to write; the suffix chooses the format."
        ),
    ],
    spans: Arg[
        Path | None, typer.Option(metavar="FILE", help="Spans that deid detect wrote.")
    ] = None,
    detector: DetectorInsteadOption = None,
    option: DetectorSettingOption = None,
    resolve_by: ResolveOrUniteOption = None,
    format_name: FormatOption = None,
    to: ToOption = None,
    read: ReadOption = None,
    lang: LangOption = None,
    jobs: JobsOption = 1,
    keep_patient_ids: Arg[
        bool, typer.Option("--keep-patient-ids", help="Write patient ids; by default none.")
    ] = False,
    edits: Arg[
        Path | None,
        typer.Option(metavar="FILE", help="Edit maps to write, .jsonl: offsets, no text."),
    ] = None,
    vault: Arg[
        str | None,
        typer.Option(
            metavar="URL", help="Vault to seal the originals in: sqlite:///PATH or postgresql://…."
        ),
    ] = None,
    vault_key_file: KeyFileOption = None,
    vault_by_note: Arg[
        bool,
        typer.Option(
            "--vault-by-note", help="Let a note without patient id count as a patient of its own."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Replace PHI as a policy says.

    Spans come from a file, or from detectors that run at once. What is found in one note is covered
    in the patient's other notes. A note that the file does not know, that a detector fails on, or
    in which a known value is left, is withheld. Detectors that run at once also search the redacted
    text, as in deid deidentify, with the same result.
    """
    source = NoteSource(notes, format_name, lang, read_options(read or [], annotations=False))
    written_as = out_format(out, to)
    inputs = [notes, *filter(None, [spans]), *filter(Path.is_file, [Path(policy)])]
    check_out(out, inputs=inputs, is_folder=written_as.is_folder)
    if edits is not None:
        check_out(edits, inputs=[*inputs, out], is_folder=False, option="--edits")
    redaction = Redaction.load(policy, keep_patient_ids=keep_patient_ids)
    named = Named(tuple(detector or ()), tuple(option or ()), resolve_by, jobs)
    check_source_of_spans(spans, named)
    detection = Detection.load(named) if named.specs else None
    stored = (
        StoredSpans(SpansFile(spans), LEAVABLE | redaction.policy.may_leave)
        if spans is not None
        else None
    )
    redaction.require_packs(source)
    withheld, done = Withheld(), Done()

    def redacted(recorder: Recorder) -> Iterator[Annotated]:
        with progress("redacting") as advance:
            if detection is not None:
                pipeline = pipeline_of(detection, redaction, resolve_by or "union", advance)
                for batch in source.batches(withheld):
                    yield from redaction.detect_and_run(
                        batch, pipeline, withheld, done, keep=recorder
                    )
            if stored is not None:
                for batch in source.batches(withheld, chars=PATIENTS_CHARS):
                    found: dict[str, DisjointSpans | Failed] = {}
                    for chunk, of_chunk in stored.over(chunks_of(batch, CHUNK_CHARS)):
                        found |= of_chunk
                        advance(len(chunk))
                    yield from redaction.run(batch, found, withheld, done, keep=recorder)
        recorder.finish()
        if others := stored.left_over() if stored else 0:
            say(f"{others:,} notes of the spans file are not among the notes")

    kept_in = None if vault is None else VaultOptions(vault, vault_key_file, vault_by_note)
    with recording(redaction, edits=edits, named=named, vault=kept_in) as recorder:
        write_notes(out, redacted(recorder), format=written_as.name, options=write_options())
    if line := done.fallback_line():
        say(line)
    more = {"fallbacks": dict(sorted(done.fallbacks.items()))}
    return finish(
        {"notes": done.notes, "edits": done.edits}, withheld, out, more=more, as_json=as_json
    )
