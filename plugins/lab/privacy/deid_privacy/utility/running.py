"""A grid of fine-tuning runs.

Every job once, a file each, so that a killed grid goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from deid_assets.extending import DeidError, InputError
from deid_assets.extending.files import atomic_file
from deid_privacy.energy import POWERCAP, Meter, counters
from deid_privacy.utility.encoders import encoder_of, epochs_of
from deid_privacy.utility.examples import TaskData, TaskDocument
from deid_privacy.utility.jobs import Job, jobs, split
from deid_privacy.utility.scoring import guess_scores
from deid_privacy.utility.tasks import task_data
from deid_privacy.utility.tuning import TunedModel, TuningSettings, tune
from deid_privacy.utility.versions import version_of

MAJORITY = "majority"
"""In the place of an encoder: a guess that looks at no text."""
PLAN, JOBS, MODELS = "plan.json", "jobs", "encoders"
DEV = 0.1
"""Share of the documents beside the test fold that say when to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A grid.

    Args:
        models: Encoders, as ``encoder_of`` reads them.
        versions: Of the documents that are learnt from.
        tests: Of the documents that are tested on.
        tasks: As ``task_data`` reads them.
        folds: Of the cross-validation.
        documents: Of each task that is made.
        steps: Of each pre-training.
        detectors: They find what a version replaces.
        tuning: Of every job.
        seed: Of everything.
    """

    models: Sequence[str]
    versions: Sequence[str]
    tests: Sequence[str]
    tasks: Sequence[str]
    folds: int = 10
    documents: int = 200
    steps: int = 300
    detectors: Sequence[str] = ("rules",)
    tuning: TuningSettings = field(default_factory=TuningSettings)
    seed: int = 1

    @property
    def jobs(self) -> list[Job]:
        """Every job, paired folds next to each other."""
        return jobs(self.models, self.versions, self.tasks, self.folds)


@dataclass(slots=True)
class Grid:
    """A plan and its folder.

    Args:
        plan: What is run.
        folder: Of results and encoders.
        powercap: Folder of the processors' energy counters.
    """

    plan: Plan
    folder: Path
    powercap: Path = POWERCAP
    _data: dict[tuple[str, str], TaskData] = field(default_factory=dict)

    def run(
        self, report: Callable[[Job, Mapping[str, Any]], None] = lambda *_: None
    ) -> list[dict[str, Any]]:
        """Return the result of every job, those that were there already among them.

        A job that fails has its reason in its file, and the others go on.

        Raises:
            InputError: The folder holds another grid.
        """
        self._claim()
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            for job in self.plan.jobs:
                if not self.path(job).exists():
                    found = self._result(job)
                    with atomic_file(self.path(job)) as file:
                        file.write(json.dumps(found, indent=1).encode())
                    report(job, found)
        finally:
            torch.set_num_threads(threads)
        return self.results()

    def results(self) -> list[dict[str, Any]]:
        """Return what is there, in the order of the plan."""
        return [
            json.loads(self.path(job).read_text("utf-8"))
            for job in self.plan.jobs
            if self.path(job).exists()
        ]

    def path(self, job: Job) -> Path:
        """Return the file of a job's result."""
        name = f"{job.task} {job.fold} {job.model} {job.version}"
        short = re.sub(r"[^\w]+", "-", name)[:80]
        return self.folder / JOBS / f"{short}-{hashlib.sha256(name.encode()).hexdigest()[:8]}.json"

    def _claim(self) -> None:
        """Write the plan, or check that it is the one of the folder."""
        (self.folder / JOBS).mkdir(parents=True, exist_ok=True)
        claim(self.folder / PLAN, asdict(self.plan))

    def _result(self, job: Job) -> dict[str, Any]:
        found: dict[str, Any] = asdict(job)
        began, used = time.perf_counter(), time.process_time()
        with Meter(counters(self.powercap)) as meter:
            try:
                found |= self._measure(job)
            except DeidError as error:
                found["fault"] = str(error)
        return found | {
            "seconds": time.perf_counter() - began,
            "cpu_seconds": time.process_time() - used,
            "devices": 1,
            "joules": meter.joules,
        }

    def _measure(self, job: Job) -> dict[str, Any]:
        if job.model == MAJORITY:
            return self._guess(job)
        plan = self.plan
        encoders = epochs_of(job.model) or [
            encoder_of(
                job.model,
                self.folder / MODELS,
                documents=plan.documents,
                steps=plan.steps,
                detectors=plan.detectors,
                seed=plan.seed,
            )
        ]
        data = self._version(job.task, job.version)
        train, dev, test = parts(
            [one.note_id for one in self._version(job.task, "raw").examples], job.fold, plan
        )
        own = {one.note_id: one for one in data.examples}
        tuned, chosen = best_of(
            tune(
                data,
                _of(own, train),
                _of(own, dev),
                encoder=one,
                tuning=plan.tuning,
                seed=plan.seed + job.fold,
            )
            for one in encoders
        )
        sides = {
            version: _of(
                {one.note_id: one for one in self._version(job.task, version).examples}, test
            )
            for version in plan.tests
        }
        return {
            "scores": {version: tuned.score(side) for version, side in sides.items()},
            "tested": {version: len(side) for version, side in sides.items()},
            "learnt": len(_of(own, train)),
            "epochs": len(tuned.curve),
            "best_epoch": tuned.best_epoch,
            **({"encoder": encoders[chosen].name} if len(encoders) > 1 else {}),
            "parameters": tuned.parameters,
            "latency_ms": tuned.latency(next(iter(sides.values()))),
        }

    def _guess(self, job: Job) -> dict[str, Any]:
        """Return the scores of a guess that looks at no text, by the labels of the training
        documents.
        """
        data = self._version(job.task, job.version)
        train, _, test = parts(
            [one.note_id for one in self._version(job.task, "raw").examples], job.fold, self.plan
        )
        learnt = _of({one.note_id: one for one in data.examples}, train)
        sides = {
            version: _of(
                {one.note_id: one for one in self._version(job.task, version).examples}, test
            )
            for version in self.plan.tests
        }
        return {
            "scores": {
                version: guess_scores(data, learnt, side) for version, side in sides.items()
            },
            "tested": {version: len(side) for version, side in sides.items()},
            "learnt": len(learnt),
            "parameters": 0,
            "latency_ms": 0.0,
        }

    def _version(self, task: str, version: str) -> TaskData:
        if (task, version) not in self._data:
            raw = self._data.get((task, "raw")) or task_data(
                task, documents=self.plan.documents, seed=self.plan.seed
            )
            self._data[task, "raw"] = raw
            self._data[task, version] = version_of(raw, version, detectors=self.plan.detectors)
        return self._data[task, version]


def claim(path: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings of a run into its folder, or check that they are those that are there.

    Raises:
        InputError: The folder holds another run.
    """
    own = json.dumps(settings, indent=1, sort_keys=True)
    if not path.exists():
        with atomic_file(path) as file:
            file.write(own.encode())
    elif json.loads(path.read_text("utf-8")) != json.loads(own):
        raise InputError(f"{path.parent.name} holds the results of another run; take a new folder")


def best_of(tuned: Iterable[TunedModel]) -> tuple[TunedModel, int]:
    """Return the model that scores best on the development documents, and its number.

    The first of several alike.
    """
    number, best = max(enumerate(tuned), key=lambda one: (max(one[1].curve), -one[0]))
    return best, number


def parts(names: Sequence[str], fold: int, plan: Plan) -> tuple[list[str], list[str], list[str]]:
    """Return the names of training, development and test documents of a fold.

    The same for every model and version.

    Raises:
        InputError: There are fewer documents than two a fold.
    """
    rest, test = split(names, fold, folds=plan.folds, seed=plan.seed)
    size = max(1, round(DEV * len(rest)))
    return rest[size:], rest[:size], test


def _of(known: Mapping[str, TaskDocument], names: Sequence[str]) -> list[TaskDocument]:
    return [known[name] for name in names if name in known]
