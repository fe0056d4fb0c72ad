"""``deid privacy grid``, ``end-to-end`` and ``sweep``.

What protection costs models that are trained on the notes.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Annotated as Arg

import typer

from deid_assets.extending.commands import group_options
from deid_privacy.utility.jobs import Job, count_ordered_pairs, jobs

if TYPE_CHECKING:
    from deid_privacy.utility.running import Plan

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
class CourseOptions:
    """Options that the three commands have in common: tasks, trainings and what they use."""

    tasks: TasksOption = None
    folds: FoldsOption = 10
    documents: DocumentsOption = 200
    steps: StepsOption = 300
    epochs: EpochsOption = 30
    learning_rate: RateOption = None
    length: LengthOption = None
    detectors: DetectorsOption = None
    watts: WattsOption = None
    dry_run: DryRunOption = False
    seed: SeedOption = 1

    @property
    def task_names(self) -> list[str]:
        """Tasks, as ``task_data`` reads them."""
        return self.tasks or [*_TASKS]

    def plan(self, compared: Compared) -> Plan:
        """Return the grid of these encoders and versions."""
        from deid_privacy.utility.running import Plan  # noqa: PLC0415 - loads PyTorch
        from deid_privacy.utility.tuning import TuningSettings  # noqa: PLC0415

        return Plan(
            models=compared.models,
            versions=compared.versions,
            tests=compared.tests,
            tasks=self.task_names,
            folds=self.folds,
            documents=self.documents,
            steps=self.steps,
            detectors=self.detectors or ["rules"],
            seed=self.seed,
            tuning=TuningSettings(
                epochs=self.epochs, learning_rate=self.learning_rate, length=self.length
            ),
        )


@dataclass(frozen=True, slots=True)
class Compared:
    """Encoders, and versions of the notes that they learn from and are tested on."""

    models: list[str]
    versions: list[str]
    tests: list[str]

    def jobs(self, course: CourseOptions) -> list[Job]:
        """Return every job."""
        return jobs(self.models, self.versions, course.task_names, course.folds)


@group_options
def grid(
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
    course: CourseOptions,
) -> int:
    """Score encoders by versions of the notes, by tasks, by folds: a page; resumed after a kill."""
    compared = Compared(models or ["general", "adapted:raw"], versions or ["raw"], tests or ["raw"])
    title = "Utility of each version of the notes"
    return _run(course, compared, out, command="grid", title=title)


@group_options
def end_to_end(
    out: OutArg,
    *,
    policy: PolicyOption = "surrogate",
    course: CourseOptions,
) -> int:
    """Score every combination of raw and pseudonymised pre-training, fine-tuning and test notes: a
    page.
    """
    versions = ["raw", policy]
    compared = Compared([f"adapted:{version}" for version in versions], versions, versions)
    title = "Pseudonymised from end to end"
    return _run(course, compared, out, command="end-to-end", title=title)


@group_options
def sweep(
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
    course: CourseOptions,
) -> int:
    """Set utility against what is left, by recall and by precision of the redaction: a page."""
    made = [f"{policy}@{one:g}" for one in recalls or _RECALLS]
    made += [f"{policy}@1/{one:g}" for one in precisions or _PRECISIONS]
    title = "Recall and precision of the redaction against utility"
    return _run(course, Compared([model], made, ["raw"]), out, command="sweep", title=title)


def _run(course: CourseOptions, compared: Compared, out: Path, *, command: str, title: str) -> int:
    if course.dry_run:
        _list(course, compared)
        return 0
    from deid_privacy.bundle import write_bundle  # noqa: PLC0415 - loads PyTorch
    from deid_privacy.utility.page import grid_html  # noqa: PLC0415 - loads PyTorch
    from deid_privacy.utility.running import Grid  # noqa: PLC0415

    plan = course.plan(compared)
    grid = Grid(plan, out)
    results = grid.run(_say_job)
    provenance = {
        "Command": (
            f"deid privacy {command} OUT --task {' --task '.join(course.task_names)} --folds"
            f" {course.folds} --documents {course.documents} --steps {course.steps} --seed"
            f" {course.seed}"
        ),
        "Machine": f"{platform.machine()}, Python {platform.python_version()}, one thread",
    }
    page = grid_html(results, plan, title=title, watts=course.watts, provenance=provenance)
    (out / "utility.html").write_text(page, encoding="utf-8")
    write_bundle(grid, results, command=f"deid privacy {command}")
    _say_scores(results)
    failed = sum("fault" in one for one in results)
    typer.echo(f"{len(results)} runs, {failed} failed; written to {out}/utility.html")
    return 1 if failed else 0


def _list(course: CourseOptions, compared: Compared) -> None:
    """List the jobs of a grid."""
    listed = compared.jobs(course)
    for job in listed:
        typer.echo(f"{job.task}\t{job.fold}\t{job.model}\t{job.version}")
    tests = count_ordered_pairs(compared.models, compared.versions, course.task_names)
    pairs = tests * len(compared.tests)
    typer.echo(f"{len(listed)} runs, {pairs} directional tests", err=True)


def _say_job(job: Job, found: Mapping[str, Any]) -> None:
    scores = ", ".join(f"{test} {one['f1']:.3f}" for test, one in found.get("scores", {}).items())
    typer.echo(
        f"{job.task} {job.fold} {job.model} {job.version}: {scores or found.get('fault', '')}"
    )


def _say_scores(results: Sequence[Mapping[str, Any]]) -> None:
    """Print the mean of each setting, by task."""
    from deid_privacy.utility.comparing import rows  # noqa: PLC0415 - with the grid

    for task, own in rows(results).items():
        for one in own:
            between = "no interval of one fold"
            if one.interval is not None:
                between = "[{:.3f}, {:.3f}]".format(*one.interval)
            typer.echo(
                f"{task}: {one.setting}: F1 {one.mean:.3f} {between}, {len(one.scores)} folds"
            )
