"""Description of a run for its model card: corpora, curve, scores, time, size and machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from deid_assets import plugins
from deid_assets.core.tagging import encode, tokenize
from deid_assets.core.trainer import Document, Epoch, Task, label_ranges
from deid_assets.training.card import Card, Learnt, SeedRun, digests
from deid_assets.training.corpora import Corpus
from deid_assets.training.recipe import Recipe
from deid_assets.training.scoring import TagScores
from deid_assets.training.seen import collect_seen

_SOFTWARE = ("deid-assets", "flair", "numpy", "scipy", "tokenizers", "torch", "transformers")


@dataclass(frozen=True, slots=True)
class SeedResult:
    """One seed's model and how it does.

    Args:
        seed: Of the run.
        folder: Its model.
        dev: Scores on the development notes.
        test: Scores on the test notes, where there are some.
        six: Micro F1 of the six scores on the test notes, where there are some.
        curve: Its epochs.
        seconds: Wall clock of the process that ended the training.
    """

    seed: int
    folder: Path
    dev: TagScores
    test: TagScores | None
    six: Mapping[str, float | None] | None
    curve: Sequence[Epoch]
    seconds: float


def describe(
    recipe: Recipe,
    task: Task,
    corpora: Sequence[tuple[str, Corpus]],
    runs: Sequence[SeedResult],
    best: SeedResult,
    *,
    fingerprint: str,
    cpu_seconds: float,
) -> Card:
    """Return the card of the best run."""
    files = digests(best.folder)
    return Card(
        recipe=recipe.model_dump(mode="json"),
        settings=dict(task.settings),
        plugin=plugins.available(plugins.TRAINERS)[recipe.plugin].code_version,
        software=_versions(),
        machine={
            "system": f"{platform.system()} {platform.machine()}",
            "cores": os.cpu_count() or 1,
            "python": platform.python_version(),
        },
        fingerprint=fingerprint,
        labels={label: category.value for label, category in task.labels.items()},
        scheme=task.scheme.value,
        grouping=task.grouping,
        corpora=tuple(_corpora(task, corpora)),
        seen=collect_seen(
            [*(each.note for phase in [*task.phases, task.dev] for each in phase), *task.raw]
        ),
        inexact=sum(_inexact(document, task) for phase in task.phases for document in phase),
        curve=tuple(best.curve),
        runs=tuple(_run(one, is_kept=one is best) for one in runs),
        dev=best.dev.to_json(),
        test=best.test.to_json() if best.test else None,
        seconds=round(sum(run.seconds for run in runs), 1),
        cpu_seconds=round(cpu_seconds, 1),
        size_bytes=sum((best.folder / name).stat().st_size for name in files),
        files=files,
        licence=recipe.licence,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _corpora(task: Task, corpora: Sequence[tuple[str, Corpus]]) -> list[Learnt]:
    rows = [(role, corpus) for role, corpus in corpora if role != "dev"]
    rows.append(("dev", Corpus("dev", tuple(task.dev))))
    return [
        Learnt(
            name=corpus.name,
            role=role,
            notes=len(corpus.documents),
            spans=corpus.spans,
            digest=corpus.digest,
        )
        for role, corpus in rows
    ]


def _inexact(document: Document, task: Task) -> int:
    spans = label_ranges(document.spans, native=task.native)
    return encode(spans, tokenize(document.note.text), task.scheme)[1]


def _run(judged: SeedResult, *, is_kept: bool) -> SeedRun:
    return SeedRun(
        seed=judged.seed,
        dev_f1=round(judged.dev.micro.f1 or 0.0, 4),
        test_f1=None if judged.test is None else round(judged.test.micro.f1 or 0.0, 4),
        six=judged.six,
        seconds=round(judged.seconds, 1),
        kept=is_kept,
    )


def _versions() -> dict[str, str]:
    found = {}
    for name in _SOFTWARE:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
