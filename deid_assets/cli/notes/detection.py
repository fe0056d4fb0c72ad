"""``deid detect`` and ``deid redact``: the halves of de-identification."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import (
    DetectorInsteadOption,
    DetectorSettingOption,
    EnsembleOption,
    JobsOption,
    JsonOption,
    NotesArg,
    PolicyOption,
    Reading,
    ResolveOption,
    ResolveOrUniteOption,
    ToOption,
    group_options,
)
from deid_assets.cli.endings import guard_command, say
from deid_assets.cli.ensemble import Detection, Named
from deid_assets.cli.keeping.vault import KeyFileOption
from deid_assets.cli.notes.recording import Recorder, VaultOptions, recording
from deid_assets.cli.notes.redaction import (
    Done,
    Redaction,
    check_source_of_spans,
    pipeline_of,
    pipeline_on,
)
from deid_assets.cli.outputs import check_out, finish, out_format, write_options
from deid_assets.cli.streams import (
    BATCH_CHARS,
    PATIENTS_CHARS,
    NoteSource,
    SpansFile,
    Withheld,
    progress,
    seal_of_environment,
)
from deid_assets.core.detector import Failed
from deid_assets.core.span import SpanSet
from deid_assets.formats import Annotated, write_notes, write_spans
from deid_assets.own_plugins import DEFAULT_ENSEMBLE


@app.command()
@guard_command
@group_options
def detect(
    notes: NotesArg,
    *,
    detector: EnsembleOption = None,
    out: Arg[Path, typer.Option(metavar="FILE", help="Spans to write, .jsonl or .parquet.")],
    option: DetectorSettingOption = None,
    resolve_by: ResolveOption = None,
    reading: Reading,
    jobs: JobsOption = 1,
    as_json: JsonOption = False,
) -> int:
    """Find PHI and write spans.

    Spans hold offsets, categories and scores, and no text. Each note's digest ties them to it,
    sealed with DEID_KEY where that is set; a plain one confirms a guess at the note: keep such a
    file with the notes.
    """
    source = reading.source(notes)
    check_out(out, inputs=[notes], is_folder=False)
    seal = seal_of_environment()
    detection = Detection.load(
        Named(tuple(detector or DEFAULT_ENSEMBLE), tuple(option or ()), resolve_by, jobs)
    )
    withheld, counted = Withheld(), {"notes": 0, "spans": 0}

    def find_spans() -> Iterator[SpanSet]:
        with progress("detecting") as advance:
            for chunk, outcomes in detection.detect(source.chunks(withheld, growing=jobs == 1)):
                for outcome in outcomes:
                    if isinstance(outcome, Failed):
                        withheld.report_failed(outcome)
                        continue
                    counted["notes"] += 1
                    counted["spans"] += len(outcome)
                    yield outcome
                advance(len(chunk))

    write_spans(out, find_spans(), seal=seal)
    return finish(counted, withheld, out, as_json=as_json)


@dataclass(frozen=True, slots=True)
class SpansSource:
    """Options on where the spans come from: a file, or detectors."""

    spans: Arg[Path | None, typer.Option(metavar="FILE", help="Spans that deid detect wrote.")] = (
        None
    )
    detector: DetectorInsteadOption = None
    option: DetectorSettingOption = None
    resolve_by: ResolveOrUniteOption = None
    jobs: JobsOption = 1

    def select(self) -> Named:
        """Return the detectors that are named.

        Raises:
            ConfigError: There are none and no file, or both, or detectors' options beside a file.
        """
        named = Named(
            tuple(self.detector or ()), tuple(self.option or ()), self.resolve_by, self.jobs
        )
        check_source_of_spans(self.spans, named)
        return named


@dataclass(frozen=True, slots=True)
class Writing:
    """Options on the redacted notes that are written."""

    out: Arg[
        Path,
        typer.Option(
            metavar="PATH", help="Redacted notes to write; the suffix chooses the format."
        ),
    ]
    to: ToOption = None
    keep_patient_ids: Arg[
        bool, typer.Option("--keep-patient-ids", help="Write patient ids; by default none.")
    ] = False


@dataclass(frozen=True, slots=True)
class Recording:
    """Options on what is kept besides the redacted notes."""

    edits: Arg[
        Path | None,
        typer.Option(metavar="FILE", help="Edit maps to write, .jsonl: offsets, no text."),
    ] = None
    vault: Arg[
        str | None,
        typer.Option(
            metavar="URL", help="Vault to seal the originals in: sqlite:///PATH or postgresql://…."
        ),
    ] = None
    vault_key_file: KeyFileOption = None
    vault_by_note: Arg[
        bool,
        typer.Option(
            "--vault-by-note", help="Let a note without patient id count as a patient of its own."
        ),
    ] = False

    def vault_options(self) -> VaultOptions | None:
        """Return the vault that is named, if one is."""
        if self.vault is None:
            return None
        return VaultOptions(self.vault, self.vault_key_file, self.vault_by_note)


@dataclass(frozen=True, slots=True)
class _Redacting:
    """Notes that are redacted, and what is counted of them.

    Args:
        source: The notes.
        detection: Detectors, where there is no file of spans.
        redaction: The policy.
        file: Spans that were stored.
    """

    source: NoteSource
    detection: Detection
    redaction: Redaction
    file: SpansFile | None
    withheld: Withheld = field(default_factory=Withheld)
    done: Done = field(default_factory=Done)

    def redact(self, recorder: Recorder) -> Iterator[Annotated]:
        """Yield the redacted notes; say how many of the spans file are not among them."""
        with progress("redacting") as advance:
            if self.file is None:
                chars = BATCH_CHARS
                pipeline = pipeline_of(self.detection, self.redaction, advance)
            else:
                chars = PATIENTS_CHARS
                pipeline = pipeline_on(self.file, self.redaction, advance)
            for batch in self.source.batches(self.withheld, chars=chars):
                yield from self.redaction.run(
                    batch, pipeline, withheld=self.withheld, done=self.done, keep=recorder
                )
        recorder.finish()
        if others := len(self.file.rest()) if self.file is not None else 0:
            say(f"{others:,} notes of the spans file are not among the notes")


@app.command()
@guard_command
@group_options
def redact(
    notes: NotesArg,
    *,
    policy: PolicyOption = "safe_harbor",
    origin: SpansSource,
    reading: Reading,
    writing: Writing,
    records: Recording,
    as_json: JsonOption = False,
) -> int:
    """Replace PHI as a policy says.

    Spans come from a file, or from detectors that run at once. What is found in one note is covered
    in the patient's other notes. A note that the file does not know, that a detector fails on, or
    in which a known value is left, is withheld. Detectors that run at once also search the redacted
    text, as in deid deidentify, with the same result.
    """
    source = reading.source(notes)
    out = writing.out
    written_as = out_format(out, writing.to)
    inputs = [notes, *filter(None, [origin.spans]), *filter(Path.is_file, [Path(policy)])]
    check_out(out, inputs=inputs, is_folder=written_as.is_folder)
    if records.edits is not None:
        check_out(records.edits, inputs=[*inputs, out], is_folder=False, option="--edits")
    redaction = Redaction.load(policy, keep_patient_ids=writing.keep_patient_ids)
    named = origin.select()
    detection = Detection.load(named)
    file = SpansFile(origin.spans) if origin.spans is not None else None
    redaction.require_packs(source)
    work = _Redacting(source, detection, redaction, file)
    with recording(
        redaction, edits=records.edits, named=named, vault=records.vault_options()
    ) as recorder:
        write_notes(out, work.redact(recorder), format=written_as.name, options=write_options())
    done = work.done
    if line := done.fallback_line():
        say(line)
    more = {"fallbacks": dict(sorted(done.fallbacks.items()))}
    return finish(
        {"notes": done.notes, "edits": done.edits}, work.withheld, out, more=more, as_json=as_json
    )
