"""``deid privacy grid``, ``end-to-end`` and ``sweep``.

What protection costs models that are trained on the notes.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated as Arg
from typing import Any

import typer

from deid_privacy.utility.jobs import Job, jobs, ordered_pairs

OutArg = Arg[
    Path, typer.Argument(metavar="OUT", help="Folder of results; a killed run is resumed there.")
]
TasksOption = Arg[
    list[str] | None,
    typer.Option(
        "--task",
        metavar="NAME",
        help="A made task, corpus:NAME or FILE.jsonl; clinical_ner, factuality_ner and phi_ner.",
    ),
]
FoldsOption = Arg[int, typer.Option(metavar="N", min=1, help="Folds of each task.")]
DocumentsOption = Arg[int, typer.Option(metavar="N", min=2, help="Notes of each made task.")]
StepsOption = Arg[int, typer.Option(metavar="N", min=0, help="Of each pre-training.")]
EpochsOption = Arg[int, typer.Option(metavar="N", min=1, help="Of each fine-tuning, at most.")]
RateOption = Arg[
    float | None,
    typer.Option(
        "--learning-rate",
        metavar="RATE",
        min=0,
        help="Highest; 2e-3 for small encoders, 5e-5 for others.",
    ),
]
LengthOption = Arg[
    int | None,
    typer.Option(
        "--length",
        metavar="N",
        min=8,
        help="Sub-tokens of a document; 64 for small encoders, 512 for others.",
    ),
]
DetectorsOption = Arg[
    list[str] | None,
    typer.Option("--detector", metavar="NAME", help="Finds what is replaced; rules."),
]
WattsOption = Arg[
    float | None, typer.Option(metavar="W", min=0, help="Of one device, for the energy.")
]
DryRunOption = Arg[bool, typer.Option("--dry-run", help="List the runs and stop.")]
SeedOption = Arg[int, typer.Option(metavar="N", help="Of notes, folds and models.")]
PolicyOption = Arg[str, typer.Option(metavar="POLICY", help="What replaces identifiers.")]
_TASKS = ("clinical_ner", "factuality_ner", "phi_ner")
_RECALLS, _PRECISIONS = (1.0, 0.95, 0.9, 0.75, 0.5, 0.0), (0.9, 0.75, 0.5, 0.25)


@dataclass(frozen=True, slots=True)
class _Course:
    """What the three commands have in common."""

    command: str
    out: Path
    tasks: list[str] | None
    folds: int
    documents: int
    steps: int
    epochs: int
    learning_rate: float | None
    length: int | None
    detectors: list[str] | None
    watts: float | None
    dry_run: bool
    seed: int


def grid(  # noqa: PLR0913 - one parameter per option of the command line
    out: OutArg,
    *,
    models: Arg[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help=(
                "general, adapted:VERSION, NAME=FOLDER, or majority, a guess without text; general"
                " and adapted:raw."
            ),
        ),
    ] = None,
    versions: Arg[
        list[str] | None,
        typer.Option("--version", metavar="NAME", help="Learnt from: raw, or a policy; raw."),
    ] = None,
    tests: Arg[
        list[str] | None,
        typer.Option("--test", metavar="NAME", help="Tested on: raw, or a policy; raw."),
    ] = None,
    tasks: TasksOption = None,
    folds: FoldsOption = 10,
    documents: DocumentsOption = 200,
    steps: StepsOption = 300,
    epochs: EpochsOption = 30,
    learning_rate: RateOption = None,
    length: LengthOption = None,
    detectors: DetectorsOption = None,
    watts: WattsOption = None,
    dry_run: DryRunOption = False,
    seed: SeedOption = 1,
) -> int:
    """Score encoders by versions of the notes, by tasks, by folds: a page; resumed after a kill."""
    course = _Course(
        "grid",
        out,
        tasks,
        folds,
        documents,
        steps,
        epochs,
        learning_rate,
        length,
        detectors,
        watts,
        dry_run,
        seed,
    )
    return _run(
        course,
        models or ["general", "adapted:raw"],
        versions or ["raw"],
        tests or ["raw"],
        title="Utility of each version of the notes",
    )


def end_to_end(  # noqa: PLR0913 - one parameter per option of the command line
    out: OutArg,
    *,
    policy: PolicyOption = "surrogate",
    tasks: TasksOption = None,
    folds: FoldsOption = 10,
    documents: DocumentsOption = 200,
    steps: StepsOption = 300,
    epochs: EpochsOption = 30,
    learning_rate: RateOption = None,
    length: LengthOption = None,
    detectors: DetectorsOption = None,
    watts: WattsOption = None,
    dry_run: DryRunOption = False,
    seed: SeedOption = 1,
) -> int:
    """Score every combination of raw and pseudonymised pre-training, fine-tuning and test notes: a
    page.
    """
    course = _Course(
        "end-to-end",
        out,
        tasks or [*_TASKS],
        folds,
        documents,
        steps,
        epochs,
        learning_rate,
        length,
        detectors or ["rules"],
        watts,
        dry_run,
        seed,
    )
    versions = ["raw", policy]
    models = [f"adapted:{version}" for version in versions]
    return _run(course, models, versions, versions, title="Pseudonymised from end to end")


def sweep(  # noqa: PLR0913 - one parameter per option of the command line
    out: OutArg,
    *,
    policy: PolicyOption = "surrogate",
    recalls: Arg[
        list[float] | None,
        typer.Option("--recall", metavar="SHARE", help="Of the redaction; six from 1 to 0."),
    ] = None,
    precisions: Arg[
        list[float] | None,
        typer.Option(
            "--precision", metavar="SHARE", help="Of it, at a recall of 1; four from .9 to .25."
        ),
    ] = None,
    model: Arg[str, typer.Option(metavar="NAME", help="The encoder.")] = "adapted:raw",
    tasks: TasksOption = None,
    folds: FoldsOption = 10,
    documents: DocumentsOption = 200,
    steps: StepsOption = 300,
    epochs: EpochsOption = 30,
    learning_rate: RateOption = None,
    length: LengthOption = None,
    detectors: DetectorsOption = None,
    watts: WattsOption = None,
    dry_run: DryRunOption = False,
    seed: SeedOption = 1,
) -> int:
    """Set utility against what is left, by recall and by precision of the redaction: a page."""
    course = _Course(
        "sweep",
        out,
        tasks,
        folds,
        documents,
        steps,
        epochs,
        learning_rate,
        length,
        detectors,
        watts,
        dry_run,
        seed,
    )
    made = [f"{policy}@{one:g}" for one in recalls or _RECALLS]
    made += [f"{policy}@1/{one:g}" for one in precisions or _PRECISIONS]
    return _run(
        course,
        [model],
        made,
        ["raw"],
        title="Recall and precision of the redaction against utility",
    )


def _run(
    course: _Course, models: list[str], versions: list[str], tests: list[str], *, title: str
) -> int:
    tasks, detectors = course.tasks or [*_TASKS], course.detectors or ["rules"]
    if course.dry_run:
        for job in jobs(models, versions, tasks, course.folds):
            typer.echo(f"{job.task}\t{job.fold}\t{job.model}\t{job.version}")
        pairs = ordered_pairs(models, versions, tasks) * len(tests)
        listed = len(jobs(models, versions, tasks, course.folds))
        typer.echo(f"{listed} runs, {pairs} directional tests", err=True)
        return 0
    from deid_privacy.bundle import write_bundle  # noqa: PLC0415 - loads PyTorch
    from deid_privacy.utility.comparing import rows  # noqa: PLC0415
    from deid_privacy.utility.page import grid_html  # noqa: PLC0415 - loads PyTorch
    from deid_privacy.utility.running import Grid, Plan  # noqa: PLC0415
    from deid_privacy.utility.tuning import Tuning  # noqa: PLC0415

    plan = Plan(
        models=models,
        versions=versions,
        tests=tests,
        tasks=tasks,
        folds=course.folds,
        documents=course.documents,
        steps=course.steps,
        detectors=detectors,
        seed=course.seed,
        tuning=Tuning(
            epochs=course.epochs, learning_rate=course.learning_rate, length=course.length
        ),
    )

    def said(job: Job, found: Mapping[str, Any]) -> None:
        scores = ", ".join(
            f"{test} {one['f1']:.3f}" for test, one in found.get("scores", {}).items()
        )
        typer.echo(
            f"{job.task} {job.fold} {job.model} {job.version}: {scores or found.get('fault', '')}"
        )

    grid = Grid(plan, course.out)
    results = grid.run(said)
    provenance = {
        "Command": (
            f"deid privacy {course.command} OUT --task {' --task '.join(tasks)} --folds"
            f" {course.folds} --documents {course.documents} --steps {course.steps} --seed"
            f" {course.seed}"
        ),
        "Machine": f"{platform.machine()}, Python {platform.python_version()}, one thread",
    }
    page = grid_html(results, plan, title=title, watts=course.watts, provenance=provenance)
    (course.out / "utility.html").write_text(page, encoding="utf-8")
    write_bundle(grid, results, command=f"deid privacy {course.command}")
    for task, own in rows(results).items():
        for one in own:
            between = (
                "no interval of one fold"
                if one.interval is None
                else "[{:.3f}, {:.3f}]".format(*one.interval)
            )
            typer.echo(
                f"{task}: {one.setting}: F1 {one.mean:.3f} {between}, {len(one.scores)} folds"
            )
    failed = sum("fault" in one for one in results)
    typer.echo(f"{len(results)} runs, {failed} failed; written to {course.out}/utility.html")
    return 1 if failed else 0
