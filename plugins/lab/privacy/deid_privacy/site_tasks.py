"""Tasks of a site: an encoder that is submitted learns from nine folds by this code, is asked of
the tenth, and a mean leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from deid_assets.extending import InputError
from deid_privacy.site import LEAST, round_score
from deid_privacy.site_models import apart, check_folder
from deid_privacy.utility.examples import TaskData, TaskDocument
from deid_privacy.utility.jobs import split
from deid_privacy.utility.scoring import guess_scores

FOLDS = 10
_SEED = 1
"""Of the folds, which are the same for every submission."""


def check_task(data: TaskData, folds: int) -> None:
    """Check that no score would be of too few.

    Raises:
        InputError: A fold holds fewer than ``LEAST`` documents or spans.
    """
    for _, inside in _folds(data, folds):
        count = sum(len(one.marks) for one in inside) if data.kind == "tokens" else len(inside)
        if count < LEAST:
            what = "spans" if data.kind == "tokens" else "documents"
            raise InputError(
                f"task {data.name}: a fold of it has {count} {what}; scores of fewer than {LEAST}"
                " are not given, give more documents or fewer folds"
            )


def evaluate_task(
    encoder: Path, data: TaskData, *, seconds: float = 600, folds: int = FOLDS
) -> dict[str, Any]:
    """Return the rounded mean F1 of an encoder over folds, and what a guess gives.

    Nothing else of it.

    Args:
        encoder: Folder of weights as transformers writes it; this code fine-tunes it on each fold.
        data: The task.
        seconds: For all folds together, after which it is ended.
        folds: Of the cross-validation.

    Raises:
        InputError: It is no such folder, failed or took too long; or the scores would be of too
            few.
    """
    check_task(data, folds)
    check_folder(encoder)
    scores = apart(_tune_folds, (encoder, data, folds), seconds=seconds)
    guesses = [guess_scores(data, learnt, inside)["f1"] for learnt, inside in _folds(data, folds)]
    return {
        "kind": data.kind,
        "documents": len(data.examples),
        "folds": folds,
        "f1": round_score(fmean(scores)),
        "guess": round(fmean(guesses), 3),
    }


def _tune_folds(encoder: Path, data: TaskData, folds: int) -> list[float]:
    """Return the score of each fold."""
    import torch  # noqa: PLC0415 - in the process of the submission alone

    from deid_privacy.utility.running import DEV  # noqa: PLC0415
    from deid_privacy.utility.tuning import TuningSettings, tune  # noqa: PLC0415

    torch.set_num_threads(1)
    found = []
    for learnt, inside in _folds(data, folds):
        size = max(1, round(DEV * len(learnt)))
        tuned = tune(
            data, learnt[size:], learnt[:size], encoder=encoder, tuning=TuningSettings(), seed=_SEED
        )
        found.append(tuned.score(inside)["f1"])
    return found


def _folds(
    data: TaskData, folds: int
) -> Iterator[tuple[Sequence[TaskDocument], Sequence[TaskDocument]]]:
    known = {one.note_id: one for one in data.examples}
    for fold in range(folds):
        outside, inside = split(list(known), fold, folds=folds, seed=_SEED)
        yield [known[name] for name in outside], [known[name] for name in inside]
