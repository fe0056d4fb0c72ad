"""``deid zero-shot``: thresholds, curves and exports from the shell."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated as Arg
from typing import Any

import typer

from deid_assets.extending import ConfigError, Document, InputError
from deid_assets.extending.commands import CommandGroup, group_options, guard_command
from deid_assets.extending.corpora import RECORD, learnt_from, read_corpus
from deid_zero_shot import calibration, plots
from deid_zero_shot.method import Method, Options, Runtime, method_of, read_options

app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Masked language models as zero-shot detectors.",
)

ModelArg = Arg[
    str, typer.Argument(metavar="MODEL", help="Folder or hub name of a masked language model.")
]
NotesOption = Arg[
    str, typer.Option(metavar="NOTES", help="Annotated notes, or synthetic:LANG:NOTES.")
]
LabelsOption = Arg[
    str, typer.Option(metavar="NAME", help="Label map of the notes, as deid labels lists.")
]
SetOption = Arg[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="How words are scored, the value as in TOML."),
]
DownloadOption = Arg[
    bool, typer.Option("--allow-download", help="Fetch the model by its hub name.")
]
ThreadsOption = Arg[
    int | None, typer.Option(metavar="N", min=1, help="Cores to use; all when not given.")
]


@dataclass(frozen=True, slots=True)
class Running:
    """Options on how a model is run."""

    changes: SetOption = None
    threads: ThreadsOption = None
    allow_download: DownloadOption = False


@app.command("calibrate")
@guard_command
@group_options
def calibrate(
    model: ModelArg,
    *,
    notes: NotesOption,
    lang: Arg[
        str | None, typer.Option(metavar="CODE", help="Language; that of the notes when not given.")
    ] = None,
    labels: LabelsOption = "",
    target: Arg[
        str, typer.Option(metavar="TARGET", help="f1, f2 or another F-beta, or recall=0.95.")
    ] = "f1",
    out: Arg[
        Path | None, typer.Option(metavar="FILE", help="MODEL/calibration.json when not given.")
    ] = None,
    running: Running,
) -> int:
    """Choose the threshold of a model for a language on annotated development notes.

    Thresholds of other languages that the file has stay. Beside it, the curve over all thresholds
    is written as PNG and CSV.
    """
    options = options_of(running.changes)
    runtime = Runtime(threads=running.threads, allow_download=running.allow_download)
    documents = read_corpus(notes, labels=labels).documents
    code = lang or _language(documents)
    path = out or Path(model) / calibration.FILE
    found = method_of(model, options, runtime)
    known = calibration.LanguageThresholds(found.digest, found.described, {})
    if path.exists():
        known = calibration.read(path).check(found.digest, found.described, path=path)
    began = time.process_time()
    threshold = calibrate_threshold(found, documents, target=target, model=model)
    seconds, spent = time.process_time() - began, found.scorer.spent
    calibration.write(path, known.add_language(code, threshold))
    _write_curve(path, code, threshold, title=f"{Path(model).name}, {code}")
    typer.echo(
        f"{code}: threshold {threshold.probability:.3g}; on {threshold.notes} development notes F1"
        f" {threshold.f1:.3f}, recall {threshold.recall:.3f}, precision {threshold.precision:.3f};"
        f" written to {path}"
    )
    per_note = [count / threshold.notes for count in (seconds, spent.variants, spent.runs)]
    typer.echo(
        f"a note took {per_note[0]:.2f} CPU s: {per_note[1]:.0f} masked variants in"
        f" {per_note[2]:.0f} runs"
    )
    return 0


def _write_curve(path: Path, code: str, threshold: calibration.Threshold, *, title: str) -> None:
    """Write the curve over all thresholds beside the file of a calibration."""
    beside = path.with_name(f"{path.stem}-{code}")
    beside.with_name(f"{beside.name}.png").write_bytes(plots.curve_png(threshold, title=title))
    table = beside.with_name(f"{beside.name}.csv")
    table.write_text(plots.curve_csv(threshold), encoding="utf-8")


@app.command("export")
@guard_command
def export(
    model: ModelArg,
    *,
    out: Arg[Path, typer.Option(metavar="FOLDER", help="Where the ONNX files go.")],
    allow_download: DownloadOption = False,
) -> int:
    """Write a model as ONNX: fp32, fp16 for GPUs, int8 for CPUs.

    Its calibration holds for it too.
    """
    from deid_zero_shot.export import export as write  # noqa: PLC0415
    from deid_zero_shot.guard import load  # noqa: PLC0415 - loads PyTorch

    write(load(model, allow_download=allow_download), out)
    for name in (calibration.FILE, RECORD):
        if (known := Path(model) / name).is_file():
            (out / name).write_bytes(known.read_bytes())
    typer.echo(f"written to {out}; use it with --detector zero_shot={out}")
    return 0


def calibrate_threshold(
    method: Method, documents: tuple[Document, ...], *, target: str, model: str
) -> calibration.Threshold:
    """Return a threshold chosen on documents that the model was not trained on.

    Raises:
        InputError: It has, or no threshold can be chosen on them.
    """
    notes = [document.note for document in documents]
    if learnt := learnt_from(Path(model), notes):
        raise InputError(
            f"note {learnt[0]!r}: the model was pre-trained on it; give notes that it has not read"
        )
    return calibration.threshold_for(method, documents, target=target)


def options_of(changes: Sequence[str] | None) -> Options:
    """Return scoring options of ``KEY=VALUE``.

    Raises:
        ConfigError: There is no equals sign, or an option is unknown.
    """
    given: dict[str, Any] = {}
    for change in changes or ():
        key, equals, value = change.partition("=")
        if not equals:
            raise ConfigError(f"--set {change!r} must read KEY=VALUE, the value as in TOML")
        try:
            given[key] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            given[key] = value
    return read_options(given)


def _language(documents: tuple[Document, ...]) -> str:
    found = {document.note.lang for document in documents}
    if len(found) != 1 or None in found:
        raise InputError("the notes name no language, or several; give --lang")
    return str(next(iter(found)))
