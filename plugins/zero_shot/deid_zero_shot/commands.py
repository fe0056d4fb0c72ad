"""``deid-zero-shot``: thresholds, curves and exports from the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated as Arg
from typing import Any

import typer

from deid_assets.cli.app import guarded, say
from deid_assets.core.errors import InputError
from deid_assets.core.trainer import Document
from deid_assets.training.corpora import read_corpus
from deid_assets.training.pretraining import learnt_from
from deid_zero_shot import calibration, plots
from deid_zero_shot.method import Method, Options, Runtime, method_of, read_options
from deid_zero_shot.points import points_of

# Typer's own tracebacks print local variables, and those hold text.
app = typer.Typer(
    name="deid-zero-shot", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    rich_markup_mode=None, help="Masked language models as zero-shot detectors.",
)  # fmt: skip

ModelArg = Arg[str, typer.Argument(metavar="MODEL", help="Folder or hub name of a masked language model.")]
NotesOption = Arg[str, typer.Option(metavar="NOTES", help="Annotated notes, or synthetic:LANG:NOTES.")]
LabelsOption = Arg[str, typer.Option(metavar="NAME", help="Label map of the notes, as deid labels lists.")]
SetOption = Arg[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="How words are scored, the value as in TOML.")
]
DownloadOption = Arg[bool, typer.Option("--allow-download", help="Fetch the model by its hub name.")]
ThreadsOption = Arg[int | None, typer.Option(metavar="N", min=1, help="Cores to use; all when not given.")]


@app.command()
@guarded
def calibrate(  # noqa: PLR0913 - one parameter per option of the command line
    model: ModelArg,
    *,
    notes: NotesOption,
    lang: Arg[str | None, typer.Option(metavar="CODE", help="Language; that of the notes when not given.")] = None,
    labels: LabelsOption = "",
    target: Arg[str, typer.Option(metavar="TARGET", help="f1, f2 or another F-beta, or recall=0.95.")] = "f1",
    out: Arg[Path | None, typer.Option(metavar="FILE", help="MODEL/calibration.json when not given.")] = None,
    changes: SetOption = None,
    threads: ThreadsOption = None,
    allow_download: DownloadOption = False,
) -> int:
    """Choose the threshold of a model for a language on annotated development notes.

    Thresholds of other languages that the file has stay. Beside it, the curve over all thresholds is written as PNG
    and CSV.
    """
    options = options_of(changes)
    runtime = Runtime(threads=threads, allow_download=allow_download)
    documents = read_corpus(notes, labels=labels).documents
    code = lang or _language(documents)
    path = out or Path(model) / calibration.FILE
    found = method_of(model, options, runtime)
    known = calibration.Calibration(found.digest, found.described, {})
    if path.exists():
        known = calibration.read(path).checked(found.digest, found.described, path=path)
    threshold = calibrated(found, documents, target=target, model=model)
    calibration.write(path, known.with_language(code, threshold))
    title = f"{Path(model).name}, {code}"
    path.with_name(f"{path.stem}-{code}.png").write_bytes(plots.curve_png(threshold, title=title))
    path.with_name(f"{path.stem}-{code}.csv").write_text(plots.curve_csv(threshold), encoding="utf-8")
    say(
        f"{code}: threshold {threshold.probability:.3g}; on {threshold.notes} development notes "
        f"F1 {threshold.f1:.3f}, recall {threshold.recall:.3f}, precision {threshold.precision:.3f}; written to {path}"
    )
    return 0


@app.command()
@guarded
def export(
    model: ModelArg,
    *,
    out: Arg[Path, typer.Option(metavar="FOLDER", help="Where the ONNX files go.")],
    allow_download: DownloadOption = False,
) -> int:
    """Write a model as ONNX: fp32, fp16 for GPUs, int8 for CPUs. A calibration of the model holds for it too."""
    from deid_zero_shot.export import export as write  # noqa: PLC0415
    from deid_zero_shot.guard import load  # noqa: PLC0415 - loads PyTorch

    write(load(model, allow_download=allow_download), out)
    known = Path(model) / calibration.FILE
    if known.is_file():
        (out / calibration.FILE).write_bytes(known.read_bytes())
    say(f"written to {out}; use it with --detector zero_shot={out}")
    return 0


def calibrated(method: Method, documents: tuple[Document, ...], *, target: str, model: str) -> calibration.Threshold:
    """Return a threshold chosen on documents that the model has not learnt from.

    Raises:
        InputError: It has, or no threshold can be chosen on them.
    """
    notes = [document.note for document in documents]
    if learnt := learnt_from(Path(model), notes):
        raise InputError(f"note {learnt[0]!r}: the model was pre-trained on it; give notes that it has not read")
    points = points_of((method.score(document.note), document.spans) for document in documents)
    return calibration.choose(points, target, notes)


def options_of(changes: list[str] | None) -> Options:
    """Return scoring options of ``KEY=VALUE``."""
    from deid_assets.cli.training import changes_of  # noqa: PLC0415

    given: dict[str, Any] = dict(changes_of(changes or [], None))
    return read_options(given)


def _language(documents: tuple[Document, ...]) -> str:
    found = {document.note.lang for document in documents}
    if len(found) != 1 or None in found:
        raise InputError("the notes name no language, or several; give --lang")
    return str(next(iter(found)))


def main() -> None:
    """Run the command."""
    app()
