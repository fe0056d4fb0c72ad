"""Trends of Vakili (2025) on taggers trained on generated notes: T9 to T12."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid_assets import Note
from deid_assets.extending.files import atomic_file
from deid_audits.models.generating import Continuing, continue_prompts
from deid_audits.models.opened import open_model
from deid_audits.models.scoring import Scorer
from deid_causal.trainer import CausalTrainer
from deid_privacy.trends import Trend, Verdict
from deid_privacy.utility.comparing import Configuration, UtilityRow
from deid_privacy.utility.encoders import GENERAL, encoder_of, general_notes
from deid_privacy.utility.examples import TaskData, TaskDocument
from deid_privacy.utility.running import Plan, parts
from deid_privacy.utility.tasks import task_data
from deid_privacy.utility.tuning import TunedModel, TuningSettings, tune

TASK, STARTER = "phi_ner", 3
"""The task, and words of a note that a generated one begins with."""
NEAR = 0.02
LEAST = 0.1
"""Strict F1 of the tagger of real notes below which it learnt too little for a comparison to say
anything.
"""
TUNING = TuningSettings()
_WIDTHS = {"larger": 96, "small": 48}


@dataclass(frozen=True, slots=True)
class SynthesisRecipe:
    """How generated notes are made.

    Args:
        adapted: Share of the notes that the generator reads.
        annotated: Share of the notes that the annotator learns from.
        volume: Generated notes for each given one.
        size: Of the generator.
    """

    adapted: float = 0.95
    annotated: float = 0.95
    volume: float = 4.0
    size: str = "larger"


@dataclass(slots=True)
class Synthesis:
    """Taggers of generated notes, trained when first needed.

    Args:
        folder: Of the models.
        folds: Of the cross-validation.
        documents: Of the task.
        steps: Of the encoder's pre-training.
        seed: Of everything.
    """

    folder: Path
    folds: int = 3
    documents: int = 240
    steps: int = 1_000
    seed: int = 1
    _scores: dict[SynthesisRecipe | None, UtilityRow] = field(default_factory=dict, init=False)
    _annotators: dict[tuple[int, float], TunedModel] = field(default_factory=dict, init=False)

    def row(self, recipe: SynthesisRecipe | None) -> UtilityRow:
        """Return the scores of taggers of generated notes on real ones.

        Of real notes where there is no recipe.
        """
        if recipe not in self._scores:
            scores = [self._keep_score(recipe, fold) for fold in range(self.folds)]
            self._scores[recipe] = UtilityRow.of(
                Configuration("tagger", str(recipe), "raw"), scores
            )
        return self._scores[recipe]

    def _keep_score(self, recipe: SynthesisRecipe | None, fold: int) -> float:
        """Return the score of a file, or that of a run, and keep it there."""
        own = f"{recipe} {fold} {self.documents} {self.steps} {self.seed}"
        path = self.folder / "scores" / f"{hashlib.sha256(own.encode()).hexdigest()[:16]}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            found = {"run": own, "f1": self._score(recipe, fold)}
            with atomic_file(path) as file:
                file.write(json.dumps(found).encode())
        return float(json.loads(path.read_text("utf-8"))["f1"])

    def _score(self, recipe: SynthesisRecipe | None, fold: int) -> float:
        data = task_data(TASK, documents=self.documents, seed=self.seed)
        plan = Plan(models=(), versions=(), tests=(), tasks=(TASK,), folds=5, seed=self.seed)
        known = {one.note_id: one for one in data.examples}
        train, dev, test = (
            [known[name] for name in part] for part in parts(list(known), fold, plan)
        )
        if recipe is None:
            return self._annotator(data, train, dev, fold=fold, share=0.95).score(test)["f1"]
        annotator = self._annotator(data, train, dev, fold=fold, share=recipe.annotated)
        texts = self._generate(recipe, train, dev, fold)
        made = [TaskDocument(f"made-{number:05d}", text) for number, text in enumerate(texts)]
        marked = [
            TaskDocument(one.note_id, one.text, (), marks)
            for one, marks in zip(made, annotator.predict(made), strict=True)
        ]
        return self._tune(data, marked, dev, seed=self.seed + fold).score(test)["f1"]

    def _tune(
        self,
        data: TaskData,
        train: Sequence[TaskDocument],
        dev: Sequence[TaskDocument],
        *,
        seed: int,
    ) -> TunedModel:
        encoder = encoder_of(
            GENERAL,
            self.folder / "encoders",
            documents=0,
            steps=self.steps,
            detectors=(),
            seed=self.seed,
        )
        return tune(data, train, dev, encoder=encoder, tuning=TUNING, seed=seed)

    def _annotator(
        self,
        data: TaskData,
        train: Sequence[TaskDocument],
        dev: Sequence[TaskDocument],
        *,
        fold: int,
        share: float,
    ) -> TunedModel:
        if (fold, share) not in self._annotators:
            self._annotators[fold, share] = self._tune(
                data, _first(train, share), dev, seed=self.seed + fold
            )
        return self._annotators[fold, share]

    def _generate(
        self,
        recipe: SynthesisRecipe,
        train: Sequence[TaskDocument],
        dev: Sequence[TaskDocument],
        fold: int,
    ) -> list[str]:
        """Return notes that begin as those of the development part, drawn from the nucleus
        of 0.95.
        """
        generator = self._generator(recipe, train, fold)
        starters = [" ".join(one.text.split()[:STARTER]) for one in dev]
        wanted = max(8, round(recipe.volume * len(train)))
        each = -(-wanted // len(starters))
        made = continue_prompts(
            Scorer(open_model(generator, device="cpu")),
            starters,
            each=each,
            settings=Continuing(shortest=4, longest=48, batch=256),
            seed=self.seed + fold,
        )
        return [starters[number] + text for number, text in made][:wanted]

    def _generator(self, recipe: SynthesisRecipe, train: Sequence[TaskDocument], fold: int) -> Path:
        base = self.folder / f"generator-{recipe.size}"
        if not (base / "config.json").exists():
            width = _WIDTHS[recipe.size]
            shape = {
                "vocabulary": 1_200,
                "context": 96,
                "width": width,
                "layers": 2,
                "heads": 4,
                "feed_forward": 2 * width,
            }
            _causal(
                [note.text for note in general_notes()][:600], base, {"epochs": 3, "new": shape}
            )
        if not recipe.adapted:
            return base
        out = self.folder / f"generator-{recipe.size}-{fold}-{recipe.adapted:g}"
        if not (out / "config.json").exists():
            texts = [one.text for one in _first(train, recipe.adapted)]
            _causal(texts, out, {"epochs": 15, "base": str(base)})
        return out


def _first(examples: Sequence[TaskDocument], share: float) -> Sequence[TaskDocument]:
    """Return a share of the documents; a smaller share is part of a larger one."""
    return examples[: max(4, round(share * len(examples)))]


def _causal(texts: Sequence[str], out: Path, settings: dict[str, Any]) -> None:
    trainer = CausalTrainer()
    out.mkdir(parents=True, exist_ok=True)
    given = {"batch": 16, "length": 64, "learning_rate": 4e-3, "threads": 1, **settings}
    notes = [Note(f"n{number}", text) for number, text in enumerate(texts)]
    trainer.pretrain(
        notes, out, settings=trainer.settings(given), seed=1, report=lambda _epoch: None
    )


def _describe(**found: UtilityRow) -> str:
    return "; ".join(
        f"{name.replace('_', ' ')} {row.mean:.3f} ± {row.deviation:.3f}"
        for name, row in found.items()
    )


def t9(bench: Synthesis) -> Trend:
    """Compare notes of a generator that read no note with real ones."""
    gold, none, whole = (
        bench.row(None),
        bench.row(SynthesisRecipe(adapted=0)),
        bench.row(SynthesisRecipe()),
    )
    far = none.mean < 0.75 * gold.mean and none.mean < whole.mean
    return Trend(
        "pass" if far else "fail", _describe(real=gold, without_adaptation=none, adapted=whole)
    )


def t10(bench: Synthesis) -> Trend:
    """Compare what is lost when the annotator, or the generator, has 25 % of the notes."""
    whole, annotator, generator = (
        bench.row(SynthesisRecipe()),
        bench.row(SynthesisRecipe(annotated=0.25)),
        bench.row(SynthesisRecipe(adapted=0.25)),
    )
    lost = [whole.mean - one.mean for one in (annotator, generator)]
    clear = abs(lost[0] - lost[1]) > max(annotator.deviation, generator.deviation)
    verdict: Verdict = "undecided"
    if clear:
        verdict = "pass" if lost[0] > lost[1] else "fail"
    return Trend(
        verdict,
        _describe(all_notes=whole, annotator_25_percent=annotator, generator_25_percent=generator),
    )


def t11(bench: Synthesis) -> Trend:
    """Compare a generator of half the width."""
    whole, small = bench.row(SynthesisRecipe()), bench.row(SynthesisRecipe(size="small"))
    near = abs(whole.mean - small.mean) <= NEAR
    unsure = max(whole.deviation, small.deviation) > NEAR
    verdict: Verdict = "pass"
    if not near:
        verdict = "undecided" if unsure else "fail"
    return Trend(verdict, _describe(larger=whole, small=small))


def t12(bench: Synthesis) -> Trend:
    """Compare four generated notes for each given one with one, and with one for twenty."""
    four, one, few = (
        bench.row(SynthesisRecipe()),
        bench.row(SynthesisRecipe(volume=1.0)),
        bench.row(SynthesisRecipe(volume=0.05)),
    )
    near = abs(four.mean - one.mean) <= max(four.deviation, one.deviation)
    lower = few.mean < one.mean - few.deviation
    return Trend(
        "pass" if near and lower else "fail", _describe(**{"400_%": four, "100_%": one, "5_%": few})
    )


def _control(run: Callable[[Synthesis], Trend]) -> Callable[[Synthesis], Trend]:
    """Return the run of a trend, undecided where the tagger of real notes, its positive control,
    learnt too little.
    """

    def judge(bench: Synthesis) -> Trend:
        gold = bench.row(None)
        if gold.mean < LEAST:
            return Trend(
                "undecided", f"{_describe(real=gold)}: below {LEAST}, nothing to compare with"
            )
        return run(bench)

    return judge


RUNS: dict[str, Callable[[Synthesis], Trend]] = {
    name: _control(run) for name, run in (("T9", t9), ("T10", t10), ("T11", t11), ("T12", t12))
}
