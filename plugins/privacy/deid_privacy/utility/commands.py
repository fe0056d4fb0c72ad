"""Commands on utility: ``grid``, ``end-to-end``."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from deid_privacy.utility.jobs import Job, jobs, ordered_pairs


def add(commands: Any) -> None:
    """Add the commands to a parser."""
    grid = commands.add_parser("grid", help="encoders by versions of the notes by tasks by folds: a page; resumes")
    grid.add_argument("out", type=Path, help="folder of results; a killed grid goes on there")
    grid.add_argument(
        "--models",
        nargs="+",
        default=["general", "adapted:raw"],
        help="general, adapted:VERSION, NAME=FOLDER, NAME=FOLDER/epochs (the best of them), or majority, a guess",
    )
    grid.add_argument("--versions", nargs="+", default=["raw"], help="learnt from: raw, or policies")
    grid.add_argument("--tests", nargs="+", default=["raw"], help="tested on: raw, or policies")
    whole = commands.add_parser(
        "end-to-end", help="raw and pseudonymised pre-training, fine-tuning and test notes: a page"
    )
    whole.add_argument("out", type=Path, help="folder of results; a killed run goes on there")
    whole.add_argument("--policy", default="surrogate", help="what pseudonymises")
    sweep = commands.add_parser("sweep", help="utility against what is left, by recall and by precision: a page")
    sweep.add_argument("out", type=Path, help="folder of results; a killed run goes on there")
    sweep.add_argument("--policy", default="surrogate", help="what replaces identifiers")
    sweep.add_argument("--recalls", type=float, nargs="+", default=[1.0, 0.95, 0.9, 0.75, 0.5, 0.0])
    sweep.add_argument("--precisions", type=float, nargs="+", default=[0.9, 0.75, 0.5, 0.25], help="at a recall of 1")
    sweep.add_argument("--model", default="adapted:raw", help="the encoder")
    for one in (grid, whole, sweep):
        one.add_argument(
            "--tasks",
            nargs="+",
            default=["clinical_ner", "factuality_ner", "phi_ner"],
            help="made tasks, or corpus:NAME",
        )
        one.add_argument("--folds", type=int, default=10)
        one.add_argument("--documents", type=int, default=200, help="notes of each made task")
        one.add_argument("--steps", type=int, default=300, help="of each pre-training")
        one.add_argument("--epochs", type=int, default=30, help="of each fine-tuning, at most")
        one.add_argument("--detectors", nargs="+", default=["rules"], help="they find what is replaced")
        one.add_argument("--watts", type=float, help="of one device, for the energy")
        one.add_argument("--dry-run", action="store_true", help="list the runs and stop")
        one.add_argument("--seed", type=int, default=1)


def grid(given: argparse.Namespace) -> int:
    """Run a grid, or list its runs."""
    return _run(given, given.models, given.versions, given.tests, title="Utility of each version of the notes")


def end_to_end(given: argparse.Namespace) -> int:
    """Run every combination of raw and pseudonymised notes in pre-training, fine-tuning and test."""
    versions = ["raw", given.policy]
    models = [f"adapted:{version}" for version in versions]
    return _run(given, models, versions, versions, title="Pseudonymised from end to end")


def sweep(given: argparse.Namespace) -> int:
    """Run versions with errors put in at chosen rates, all tested on raw notes."""
    made = [f"{given.policy}@{one:g}" for one in given.recalls]
    made += [f"{given.policy}@1/{one:g}" for one in given.precisions]
    return _run(given, [given.model], made, ["raw"], title="Recall and precision of the redaction against utility")


def _run(given: argparse.Namespace, models: list[str], versions: list[str], tests: list[str], *, title: str) -> int:
    if given.dry_run:
        for job in jobs(models, versions, given.tasks, given.folds):
            typer.echo(f"{job.task}\t{job.fold}\t{job.model}\t{job.version}")
        pairs = ordered_pairs(models, versions, given.tasks) * len(tests)
        listed = len(jobs(models, versions, given.tasks, given.folds))
        typer.echo(f"{listed} runs, {pairs} directional tests", err=True)
        return 0
    from deid_privacy.utility.comparing import rows  # noqa: PLC0415 - loads PyTorch
    from deid_privacy.utility.page import grid_html  # noqa: PLC0415 - loads PyTorch
    from deid_privacy.utility.running import Grid, Plan  # noqa: PLC0415
    from deid_privacy.utility.tuning import Tuning  # noqa: PLC0415

    plan = Plan(
        models=models, versions=versions, tests=tests, tasks=given.tasks, folds=given.folds, documents=given.documents,
        steps=given.steps, detectors=given.detectors, tuning=Tuning(epochs=given.epochs), seed=given.seed,
    )  # fmt: skip

    def said(job: Job, found: Mapping[str, Any]) -> None:
        scores = ", ".join(f"{test} {one['f1']:.3f}" for test, one in found.get("scores", {}).items())
        typer.echo(f"{job.task} {job.fold} {job.model} {job.version}: {scores or found.get('fault', '')}")

    results = Grid(plan, given.out).run(said)
    provenance = {
        "Command": f"deid-privacy {given.command} OUT --tasks {' '.join(given.tasks)} --folds {given.folds} "
        f"--documents {given.documents} --steps {given.steps} --seed {given.seed}",
        "Machine": f"{platform.machine()}, Python {platform.python_version()}, one thread",
    }
    page = grid_html(results, plan, title=title, watts=given.watts, provenance=provenance)
    (given.out / "utility.html").write_text(page, encoding="utf-8")
    for task, own in rows(results).items():
        for one in own:
            between = "no interval of one fold" if one.interval is None else "[{:.3f}, {:.3f}]".format(*one.interval)
            typer.echo(f"{task}: {one.setting}: F1 {one.mean:.3f} {between}, {len(one.scores)} folds")
    failed = sum("fault" in one for one in results)
    typer.echo(f"{len(results)} runs, {failed} failed; written to {given.out}/utility.html")
    return 1 if failed else 0
