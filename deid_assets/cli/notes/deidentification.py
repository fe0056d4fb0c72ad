"""``deid deidentify``.

From notes to a folder with the redacted text, a short report and a signed manifest.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Annotated as Arg

import typer

import deid_assets
from deid_assets.cli.app import app
from deid_assets.cli.arguments import (
    DetectorSettingOption,
    EnsembleOption,
    JobsOption,
    JsonOption,
    NotesArg,
    PolicyOption,
    Reading,
    ResolveOrUniteOption,
    group_options,
)
from deid_assets.cli.endings import guard_command, say, say_in_amber
from deid_assets.cli.ensemble import Detection, Named, versions_of
from deid_assets.cli.notes.redaction import Redaction, pipeline_of
from deid_assets.cli.outputs import check_out, finish, write_options
from deid_assets.cli.streams import NoteSource, Withheld, progress
from deid_assets.config.secret import secret_of_environment
from deid_assets.core.detector import Failed
from deid_assets.core.errors import InputError
from deid_assets.core.keys import MIN_SECRET_BYTES, Key
from deid_assets.evaluation.counts import Counts
from deid_assets.formats import Annotated, format_named, write_notes
from deid_assets.own_plugins import DEFAULT_ENSEMBLE
from deid_assets.quality.measurement import BatchMeasurement, ReleaseRequirements
from deid_assets.store.manifests import MANIFEST, files_of_folder, sign_manifest
from deid_assets.store.signing import PUBLIC_KEY, ReleaseSigner
from deid_assets.system.atomic import atomic_file
from deid_assets.system.digests import sha256_of

if TYPE_CHECKING:
    from deid_assets.pipeline.batch import Batch

NOTES, REPORT = "notes", "report.json"


@dataclass(slots=True)
class _Report:
    """Counts of a run."""

    notes: int = 0
    redacted: int = 0
    replaced: Counter[str] = field(default_factory=Counter)
    fallbacks: Counter[str] = field(default_factory=Counter)
    withheld: Counter[str] = field(default_factory=Counter)
    searched: int = 0
    searched_with_hits: int = 0

    def add(self, done: Batch) -> None:
        """Count a batch."""
        self.notes += len(done.outcomes)
        if done.search is not None:
            self.searched += len(done.search.hits)
            self.searched_with_hits += sum(map(bool, done.search.hits.values()))
        for outcome in done.outcomes:
            if isinstance(outcome, Failed):
                self.withheld[f"{outcome.error} in {outcome.stage}"] += 1
                continue
            self.redacted += 1
            self.replaced.update(edit.label.value for edit in outcome.edits)
            self.fallbacks.update(
                {label.value: count for label, count in outcome.fallbacks.items()}
            )

    def figures(self) -> dict[str, Any]:
        """Return the numbers as JSON has them."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            name: dict(sorted(one.items())) if isinstance(one, Counter) else one
            for name, one in values.items()
        }


@dataclass(frozen=True, slots=True)
class Detectors:
    """Options on who detects."""

    detector: EnsembleOption = None
    option: DetectorSettingOption = None
    resolve_by: ResolveOrUniteOption = None
    jobs: JobsOption = 1

    def select(self) -> Named:
        """Return the detectors that are named, or the default ensemble."""
        specs = tuple(self.detector or DEFAULT_ENSEMBLE)
        return Named(specs, tuple(self.option or ()), self.resolve_by or "union", self.jobs)


@app.command()
@guard_command
@group_options
def deidentify(
    notes: NotesArg,
    *,
    out: Arg[
        Path,
        typer.Option(metavar="FOLDER", help="New or empty folder for the notes and the report."),
    ],
    to: Arg[
        str,
        typer.Option(metavar="NAME", help="Format of the notes; documents lie in FOLDER/notes."),
    ] = "jsonl",
    policy: PolicyOption = "safe_harbor",
    detectors: Detectors,
    reading: Reading,
    keep_patient_ids: Arg[
        bool, typer.Option("--keep-patient-ids", help="Write patient ids; by default none.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """De-identify notes: detect, resolve, spread, redact, search, verify.

    What is found in one note is covered in the patient's other notes. A note in which a known value
    is left, or in whose redacted text the detectors still find something, is withheld. The folder
    gets the notes, report.json and a signed manifest.json, which deid verify reads. Nobody measured
    what was missed: that takes annotated notes.
    """
    source, path = reading.source(notes), _path_of_notes(out, to)
    _check_new(out, inputs=[notes, *filter(Path.is_file, [Path(policy)])])
    redaction = Redaction.load(policy, keep_patient_ids=keep_patient_ids)
    named = detectors.select()
    detection = Detection.load(named)
    redaction.require_packs(source)
    withheld, report = Withheld(), _Report()
    out.mkdir(parents=True, exist_ok=True)
    redacted = _redact(source, detection, redaction, withheld, report)
    write_notes(path, redacted, format=to, options=write_options())
    measured = describe_unmeasured(report.notes)
    document = {**_describe_making(redaction, named), **measured}
    fingerprint = _write_report(out, document, report, withheld)
    _say_what_is_known(report, measured, out, fingerprint)
    counted = {
        "notes": report.notes,
        "redacted": report.redacted,
        "replacements": report.replaced.total(),
    }
    more = {**report.figures(), **measured, "fingerprint": fingerprint}
    return finish(counted, withheld, out, more=more, as_json=as_json)


def _check_new(out: Path, *, inputs: Sequence[Path]) -> None:
    """Check that the folder is none of the inputs, and new or empty.

    Raises:
        InputError: It is not.
    """
    check_out(out, inputs=inputs, is_folder=True)
    if out.exists() and any(out.iterdir()):
        raise InputError(f"--out {out} is not empty; name a new folder")


def _describe_making(redaction: Redaction, named: Named) -> dict[str, Any]:
    """Return by what the notes are de-identified."""
    return {
        "software": f"deid-assets {deid_assets.__version__}",
        "policy": {"name": redaction.policy.name, "digest": redaction.policy.digest},
        "detectors": versions_of(named),
        "resolve": named.resolve_by,
    }


def _write_report(
    out: Path, document: Mapping[str, Any], report: _Report, withheld: Withheld
) -> str:
    """Write the report and the signed manifest, and return the fingerprint of the key."""
    unreadable = len(withheld) - sum(report.withheld.values())
    told = {**document, **report.figures(), "unreadable": unreadable}
    _write(out / REPORT, (json.dumps(told, indent=1) + "\n").encode())
    counts = {"notes": report.redacted, "withheld": len(withheld)}
    return sign_folder(out, {"made_by": "deid deidentify", **document, "counts": counts})


def _path_of_notes(out: Path, to: str) -> Path:
    """Return where the notes are written: a file, or a folder of documents.

    Raises:
        InputError: There is no such format.
    """
    written_as = format_named(to)
    return out / (NOTES if written_as.is_folder else f"{NOTES}{written_as.suffixes[0]}")


def _redact(
    source: NoteSource,
    detection: Detection,
    redaction: Redaction,
    withheld: Withheld,
    report: _Report,
) -> Iterator[Annotated]:
    """Yield the notes that are written, and count all."""
    with progress("detecting and redacting") as advance:
        pipeline = pipeline_of(detection, redaction, advance)
        for batch in source.batches(withheld):
            done = pipeline.deidentify(batch)
            report.add(done)
            for note, outcome in zip(batch, done.outcomes, strict=True):
                if isinstance(outcome, Failed):
                    withheld.report_failed(outcome)
                else:
                    yield Annotated(redaction.release(note, outcome))


def _say_what_is_known(
    report: _Report, measured: Mapping[str, Any], out: Path, fingerprint: str
) -> None:
    """Say why notes were withheld, that nothing was measured, and who signed."""
    for reason, count in sorted(report.withheld.items()):
        say(f"withheld {count:,}: {reason}")
    say_in_amber(
        f"not measured: {measured['measurement']['reason']} Draw notes to annotate with `deid"
        " sample`"
    )
    say(f"signed with the key {fingerprint}: deid verify {out} --fingerprint {fingerprint}")


def describe_unmeasured(notes: int) -> dict[str, Any]:
    """Return what a manifest says of notes of which nobody knows what was missed.

    ``measured``, and why not.
    """
    nothing = BatchMeasurement(
        notes=notes,
        annotated=0,
        held_out=0,
        covered=Counts(),
        wanted=ReleaseRequirements(gold=False, spans=1),
    )
    told = nothing.to_json()
    told["measurement"]["reason"] = "Annotations of the notes, if any, were not read."
    return told


def sign_folder(folder: Path, content: Mapping[str, Any]) -> str:
    """Write a manifest of all files of a folder into it, with the public key, and return the key's
    fingerprint.

    Empty folders in it are removed first: a manifest names files, and checking one refuses the
    rest. The key follows from ``DEID_KEY``; where that is not set, it is one for this folder alone.

    Args:
        folder: Named in the manifest, so that a renamed one is seen.
        content: What the manifest says besides.
    """
    secret = secret_of_environment() or secrets.token_bytes(MIN_SECRET_BYTES)
    signer = ReleaseSigner(Key(secret))
    _write(folder / PUBLIC_KEY, signer.public.to_pem())
    _remove_empty_folders(folder)
    digests = {name: sha256_of(folder / name) for name in sorted(files_of_folder(folder))}
    created_at = datetime.now(UTC).isoformat(timespec="seconds")
    manifest = {
        **content,
        "batch": folder.resolve().name,
        "created_at": created_at,
        "files": digests,
    }
    _write(
        folder / MANIFEST,
        (json.dumps(sign_manifest(manifest, signer=signer), indent=1) + "\n").encode(),
    )
    return signer.public.fingerprint


def _remove_empty_folders(folder: Path) -> None:
    for path in [one for one in folder.iterdir() if one.is_dir() and not one.is_symlink()]:
        _remove_empty_folders(path)
        if not any(path.iterdir()):
            path.rmdir()


def _write(path: Path, content: bytes) -> None:
    with atomic_file(path) as file:
        file.write(content)
