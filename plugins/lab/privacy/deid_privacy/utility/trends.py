"""Trends of Vakili (2025) that rest on fine-tuned encoders: T1 to T5."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deid_assets.extending.measuring import Alternative, correct_p_values, mann_whitney
from deid_privacy.trends import Trend, Verdict
from deid_privacy.utility.comparing import ALPHA, Configuration, UtilityRow, rows
from deid_privacy.utility.encoders import ADAPTED, GENERAL
from deid_privacy.utility.running import Grid, Plan

PSEUDO, FILTERED, TAGGED, MASKED = "surrogate", "drop_sentence", "tag", "placeholder"
TASKS = ("clinical_ner", "factuality_ner", "phi_ner")
PHI_TASK = "phi_ner"


@dataclass(slots=True)
class TrendGrids:
    """Grids that the trends share, run when first needed.

    Args:
        folder: Of encoders and results; what is there is not run again.
        folds: Of the cross-validations.
        documents: Of each task.
        steps: Of each pre-training.
        seed: Of everything.
    """

    folder: Path
    folds: int = 5
    documents: int = 240
    steps: int = 1_000
    seed: int = 1
    _rows: dict[str, dict[str, list[UtilityRow]]] = field(default_factory=dict, init=False)

    def row(self, task: str, model: str, version: str = "raw", test: str = "raw") -> UtilityRow:
        """Return the scores of a configuration."""
        key = f"{model} {version}"
        if key not in self._rows:
            plan = Plan(
                models=(model,),
                versions=(version,),
                tests=("raw", PSEUDO),
                tasks=TASKS,
                folds=self.folds,
                documents=self.documents,
                steps=self.steps,
                seed=self.seed,
            )
            folder = self.folder / key.replace(":", "-").replace(" ", "-")
            folder.mkdir(parents=True, exist_ok=True)
            shared, own = self.folder / "encoders", folder / "encoders"
            shared.mkdir(exist_ok=True)
            if not own.exists():
                own.symlink_to(shared, target_is_directory=True)
            self._rows[key] = rows(Grid(plan, folder).run())
        return next(
            one
            for one in self._rows[key][task]
            if one.setting == Configuration(model, version, test)
        )


def _describe(first: UtilityRow, second: UtilityRow) -> str:
    return (
        f"{first.mean:.3f} ± {first.deviation:.3f} against {second.mean:.3f} ±"
        f" {second.deviation:.3f}"
    )


def _by_task(pairs: Mapping[str, tuple[UtilityRow, UtilityRow]]) -> str:
    return "; ".join(f"{task} {_describe(*pair)}" for task, pair in pairs.items())


def _pairs(
    bench: TrendGrids, first: tuple[str, ...], second: tuple[str, ...]
) -> dict[str, tuple[UtilityRow, UtilityRow]]:
    return {task: (bench.row(task, *first), bench.row(task, *second)) for task in TASKS}


def t1(bench: TrendGrids) -> Trend:
    """Compare an encoder that read on in notes with a general one, on the same folds."""
    pairs = _pairs(bench, (ADAPTED + "raw",), (GENERAL,))
    better = sum(first.mean > second.mean for first, second in pairs.values())
    return Trend(
        "pass" if 2 * better > len(pairs) else "fail", f"adapted against general: {_by_task(pairs)}"
    )


def t2(bench: TrendGrids) -> Trend:
    """Compare pre-training on pseudonymised notes with raw ones: within one pooled deviation?"""
    pairs = _pairs(bench, (ADAPTED + PSEUDO,), (ADAPTED + "raw",))
    near = sum(
        abs(first.mean - second.mean) <= ((first.deviation**2 + second.deviation**2) / 2) ** 0.5
        for first, second in pairs.values()
    )
    verdict: Verdict = "pass"
    if near < len(pairs):
        verdict = "undecided" if 2 * near > len(pairs) else "fail"
    return Trend(verdict, f"pseudonymised against raw: {_by_task(pairs)}")


def t3(bench: TrendGrids) -> Trend:
    """Ask on which task pre-training without sentences that hold identifiers loses most."""
    pairs = _pairs(bench, (ADAPTED + "raw",), (ADAPTED + FILTERED,))
    losses = {task: first.mean - second.mean for task, (first, second) in pairs.items()}
    worst = max(losses, key=lambda task: losses[task])
    first, second = pairs[PHI_TASK]
    clear = abs(losses[PHI_TASK]) > max(first.deviation, second.deviation)
    verdict: Verdict = "pass" if worst == PHI_TASK and losses[worst] > 0 else "fail"
    return Trend(
        verdict if clear or verdict == "fail" else "undecided",
        f"raw against filtered: {_by_task(pairs)}",
    )


def t4(bench: TrendGrids) -> Trend:
    """Test whether pseudonymised notes in all three places are worse than raw ones in all three,
    corrected.
    """
    pairs = _pairs(bench, (ADAPTED + PSEUDO, PSEUDO, PSEUDO), (ADAPTED + "raw",))
    found = correct_p_values(
        {
            task: mann_whitney(first.scores, second.scores, alternative=Alternative.LESS).p
            for task, (first, second) in pairs.items()
        }
    )
    numbers = f"{_by_task(pairs)}; p after Holm {', '.join(f'{one:.3f}' for one in found.values())}"
    if any(one < ALPHA for one in found.values()):
        return Trend("fail", numbers)
    return Trend("pass" if bench.folds >= 5 else "undecided", numbers)


def t5(bench: TrendGrids) -> Trend:
    """Order what fine-tuning loses by each way to redact its notes, tested on raw notes."""
    means = {
        version: sum(bench.row(task, ADAPTED + "raw", version).mean for task in TASKS) / len(TASKS)
        for version in ("raw", PSEUDO, TAGGED, MASKED, FILTERED)
    }
    best = all(means[PSEUDO] >= means[other] for other in (TAGGED, MASKED, FILTERED))
    said = ", ".join(f"{version} {mean:.3f}" for version, mean in means.items())
    return Trend("pass" if best else "fail", f"mean F1 on raw notes after fine-tuning on: {said}")


RUNS: dict[str, Callable[[TrendGrids], Trend]] = {"T1": t1, "T2": t2, "T3": t3, "T4": t4, "T5": t5}
