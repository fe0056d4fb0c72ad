"""``deid privacy site``, ``serve``, ``tasks`` and ``leaderboard``.

Evaluation where the notes are.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Annotated as Arg

import typer

from deid_assets.extending import InputError
from deid_assets.extending.commands import group_options

if TYPE_CHECKING:
    from deid_privacy.utility.examples import TaskData

NotesArg = Arg[Path, typer.Argument(metavar="NOTES", help="Folder with annotated notes.")]
LogArg = Arg[Path, typer.Argument(metavar="LOG", help="Of evaluations; a line is added.")]
SecondsOption = Arg[
    float,
    typer.Option(metavar="S", min=0, help="After which a model is ended, all folds together."),
]
FoldsOption = Arg[int, typer.Option(metavar="N", min=2, help="Of a task's cross-validation.")]


def site(
    name: Arg[str, typer.Argument(metavar="NAME", help="Of the submission, on the leaderboard.")],
    notes: NotesArg,
    log: LogArg,
    *,
    spans: Arg[
        Path | None,
        typer.Option(metavar="FILE", help="Spans that were submitted, an object per line."),
    ] = None,
    model: Arg[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Model that was submitted: safetensors, ONNX or a CRF."
        ),
    ] = None,
    task: Arg[
        Path | None,
        typer.Option(
            metavar="FILE", help="Of deid privacy tasks, for an encoder, in place of the notes."
        ),
    ] = None,
    folds: FoldsOption = 10,
    seconds: SecondsOption = 600,
) -> int:
    """Evaluate spans or a model on notes, or an encoder on a task; two rounded scores leave."""
    from deid_privacy.site import evaluate_model, evaluate_spans  # noqa: PLC0415
    from deid_privacy.site_log import REDACTION, record  # noqa: PLC0415
    from deid_privacy.site_tasks import evaluate_task  # noqa: PLC0415

    if (spans is None) is (model is None) or (task and not model):
        raise InputError("give --spans FILE or --model FOLDER, and with --task a model")
    data = next(iter(_tasks([task], folds).values())) if task else None
    of = data.name if data else REDACTION
    given = spans or model
    assert given is not None
    digest = _digest(given)
    try:
        if data and model:
            scores = evaluate_task(model, data, seconds=seconds, folds=folds)
        elif model:
            scores = evaluate_model(model, _documents(notes), seconds=seconds)
        else:
            scores = evaluate_spans(given.read_bytes(), _documents(notes))
    except InputError as error:
        record(log, name, digest, None, str(error), task=of)
        raise
    record(log, name, digest, scores, task=of)
    typer.echo(json.dumps(scores, indent=1))
    return 0


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """Options on where the server listens."""

    host: Arg[str, typer.Option(metavar="ADDRESS", help="To listen on.")] = "127.0.0.1"
    port: Arg[int, typer.Option(metavar="N", min=0, max=65_535, help="To listen on.")] = 8731


@group_options
def serve(
    notes: NotesArg,
    log: LogArg,
    senders: Arg[
        Path,
        typer.Argument(
            metavar="SENDERS", help="File with the name and token of a sender in each line."
        ),
    ],
    *,
    tasks: Arg[
        list[Path] | None,
        typer.Option("--task", metavar="FILE", help="Of deid privacy tasks, to be scored on too."),
    ] = None,
    tries: Arg[
        int,
        typer.Option(metavar="N", min=1, help="Of each sender, over all submissions in the log."),
    ] = 5,
    folds: FoldsOption = 10,
    seconds: SecondsOption = 600,
    address: ListenOptions,
) -> int:
    """Evaluate spans and models that come in by HTTP, until interrupted.

    Two rounded scores go out.
    """
    from deid_privacy.serving import Site, read_senders, server  # noqa: PLC0415

    known = read_senders(senders)
    held = Site(_documents(notes), log, known, seconds, _tasks(tasks or [], folds), folds, tries)
    host, port = address.host, address.port
    try:
        listening = server(held, host=host, port=port)
    except OSError as error:
        raise InputError(f"port {port} of {host}: {error.strerror}; choose another") from None
    offered = f", tasks {', '.join(held.tasks)}" if held.tasks else ""
    typer.echo(f"{len(held.documents):,} notes{offered}; http://{host}:{listening.server_port}")
    with listening:
        try:
            listening.serve_forever()
        except KeyboardInterrupt:
            typer.echo("stopped")
    return 0


def tasks(
    out: Arg[Path, typer.Argument(metavar="OUT", help="Folder for a file of each task.")],
    *,
    names: Arg[
        list[str] | None,
        typer.Option(
            "--task", metavar="NAME", help="A made task, or corpus:NAME; the six made ones."
        ),
    ] = None,
    documents: Arg[int, typer.Option(metavar="N", min=2, help="Notes of each made task.")] = 200,
    seed: Arg[
        int | None,
        typer.Option(
            metavar="N",
            help="Of the notes; told to nobody where not given, so that none can make them again.",
        ),
    ] = None,
) -> int:
    """Write tasks as files, which deid privacy site, serve and grid read."""
    from deid_privacy.utility.task_files import write_task  # noqa: PLC0415
    from deid_privacy.utility.tasks import TASKS, task_data  # noqa: PLC0415

    drawn = secrets.randbits(62) if seed is None else seed
    out.mkdir(parents=True, exist_ok=True)
    for name in names or TASKS:
        data = task_data(name, documents=documents, seed=drawn)
        path = out / f"{data.name.rpartition(':')[2].rpartition('/')[2]}.jsonl"
        if path.exists():
            raise InputError(
                f"{path}: it is there; scores of another file of this name would stand beside"
                " its own"
            )
        write_task(data, path)
        typer.echo(
            f"{path}: {len(data.examples):,} documents, {data.kind}, {len(data.labels)} labels"
        )
    return 0


def board(
    logs: Arg[list[Path], typer.Argument(metavar="LOG...", help="Of one site or more.")],
    *,
    out: Arg[Path | None, typer.Option(metavar="FILE", help="For the same as a page.")] = None,
) -> int:
    """Show the latest scores of each submission at each site."""
    from deid_privacy.site_log import REDACTION, leaderboard  # noqa: PLC0415

    sites = {log.stem if len(logs) > 1 else "": leaderboard(log) for log in logs}
    for site_name, standings in sites.items():
        for one in standings:
            said = (
                _describe_scores(one.scores)
                if one.task == REDACTION
                else f"{one.task}: {_learnt(one.scores)}"
            )
            typer.echo(
                f"{site_name}{': ' if site_name else ''}{one.submission:24} {said}, {one.at}"
            )
    if out:
        from deid_privacy.board import board_html  # noqa: PLC0415 - loads Matplotlib

        out.write_text(board_html(sites), encoding="utf-8")
    return 0


def _describe_scores(scores: Mapping[str, Any]) -> str:
    return f"F1 {scores['f1']:.2f}, covered {scores['covered']:.2f}, {scores['notes']:,} notes"


def _learnt(scores: Mapping[str, Any]) -> str:
    size = f"{scores['documents']:,} documents in {scores['folds']} folds"
    return f"F1 {scores['f1']:.2f}, a guess {scores['guess']:.3f}, {size}"


def _digest(given: Path) -> str:
    """Return what stands for a submission in the log.

    Raises:
        InputError: It is not there.
    """
    paths = sorted(one for one in given.rglob("*") if one.is_file()) if given.is_dir() else [given]
    digest = hashlib.sha256()
    for path in paths:
        try:
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        except OSError as error:
            raise InputError(
                f"{path.name}: it cannot be read ({error.strerror}); name the submission"
            ) from None
    return digest.hexdigest()


def _tasks(files: Sequence[Path], folds: int) -> dict[str, TaskData]:
    from deid_privacy.site_log import REDACTION  # noqa: PLC0415
    from deid_privacy.site_tasks import check_task  # noqa: PLC0415
    from deid_privacy.utility.task_files import read_task  # noqa: PLC0415

    found: dict[str, TaskData] = {}
    for file in files:
        data = read_task(file)
        if data.name in (*found, REDACTION):
            raise InputError(f"{file.name}: another task is named {data.name}; rename the file")
        check_task(data, folds)
        found[data.name] = data
    return found


def _documents(notes: Path) -> Any:
    from deid_assets.extending.corpora import read_corpus  # noqa: PLC0415

    if not notes.is_dir():
        raise InputError(
            f"{notes.name} is no folder; put the annotated notes into one of their own"
        )
    return read_corpus(str(notes)).documents
