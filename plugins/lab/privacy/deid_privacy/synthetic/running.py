"""The whole study of generated notes in a folder, and what it says as one document."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deid_assets.extending import Document
from deid_assets.extending.corpora import read_raw
from deid_assets.extending.files import atomic_file, digest_of_path, owner_only
from deid_assets.extending.taggers import Recipe
from deid_privacy import bundle
from deid_privacy.synthetic.files import StageStore
from deid_privacy.synthetic.measures import (
    descriptors,
    membership_figures,
    recall_figures,
    words_in,
)
from deid_privacy.synthetic.page import synthesis_html
from deid_privacy.synthetic.plan import (
    LARGER,
    SMALLER,
    SynthesisCell,
    SynthesisPlan,
    check_volumes,
    fold_parts,
)
from deid_privacy.synthetic.stages import FoldStages, base_settings, check_plan, pretrain
from deid_privacy.utility.comparing import Configuration, UtilityRow
from deid_privacy.utility.running import claim

RESULT, PAGE, SETTINGS = "synthetic.json", "synthetic.html", "settings.json"
MEASURES = ("token_f1", "f1")
"""As published, and strict."""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SynthesisStudy:
    """The study in its folder.

    Args:
        plan: What is compared.
        recipe: Of annotators and taggers.
        folder: Of all that is made.
        say: Told each stage that is made.
    """

    plan: SynthesisPlan
    recipe: Recipe
    folder: Path
    say: Say

    def run(self, documents: Sequence[Document], *, command: str) -> dict[str, Any]:
        """Return the results, after making what is not there yet.

        What is written may be read by its owner alone: models and generated notes tell of patients.

        Raises:
            InputError: A setting is wrong, the folder holds another study, there are too few notes,
                or fewer are generated than wanted.
            TrainingError: A generator or a tagger cannot be trained.
        """
        for fold in range(self.plan.folds):
            check_volumes(fold_parts(documents, fold, self.plan), self.plan)
        check_plan(self.plan, self.recipe)
        with owner_only():
            self.folder.mkdir(parents=True, exist_ok=True)
            claim(self.folder / SETTINGS, self.plan.claimed | {"weights": _digest_bases(self.plan)})
            bases = self._bases()
            folds = [self._fold(documents, fold, bases) for fold in range(self.plan.folds)]
            found = self._document(folds, command)
            with atomic_file(self.folder / RESULT) as file:
                file.write(f"{json.dumps(found, indent=1)}\n".encode())
            with atomic_file(self.folder / PAGE) as file:
                file.write(synthesis_html(found).encode())
        return found

    def _bases(self) -> dict[str, Path]:
        """Return the folder of each base model, made of notes of nobody where none is given."""
        store = StageStore(self.folder, self.say)
        found = {}
        for base in sorted({cell.base for cell in self.plan.wanted}):
            given = self.plan.generator.find_given(base)
            found[base] = Path(given) if given else store.model(f"base-{base}", self._make_base)
        return found

    def _make_base(self, part: Path) -> None:
        name = part.name.removesuffix(".part").removeprefix("base-")
        notes = read_raw(self.plan.generator.base_notes)
        pretrain(notes, part, base_settings(self.plan, name), seed=self.plan.seed)

    def _fold(
        self, documents: Sequence[Document], fold: int, bases: dict[str, Path]
    ) -> dict[str, Any]:
        folder = self.folder / f"fold-{fold}"
        folder.mkdir(exist_ok=True)
        parts = fold_parts(documents, fold, self.plan)
        stages = FoldStages(
            self.plan,
            self.recipe,
            parts,
            bases,
            StageStore(folder, self.say),
            self.plan.seed + fold,
        )
        cells = {cell.name: stages.scores(cell) for cell in self.plan.wanted}
        gold = {f"{one}": stages.gold_scores(one) for one in _annotators(self.plan)}
        generators = sorted({(cell.adapted, cell.base) for cell in self.plan.wanted})
        adapted = [(share, base) for share, base in generators if share]
        return {
            "sizes": [len(parts.rest), len(parts.dev), len(parts.test)],
            "cells": cells,
            "gold": gold,
            "recall": {f"{share}-{base}": _recall(stages, share, base) for share, base in adapted},
            "described": _describe(stages, self.plan),
            "membership": {
                f"{share}-{base}": _membership(stages, share, base)
                for share, base in adapted
                if self.plan.is_attacked
            },
        }

    def _document(self, folds: Sequence[Mapping[str, Any]], command: str) -> dict[str, Any]:
        plan = self.plan
        return {
            "command": command,
            "plan": asdict(plan),
            "recipe": self.recipe.model_dump(mode="json"),
            "machine": {
                "architecture": platform.machine(),
                "python": platform.python_version(),
            },
            "packages": bundle.packages(),
            "commit": bundle.commit(Path(__file__).parent),
            "experiments": {
                name: [_compare(cell, folds) for cell in cells]
                for name, cells in plan.cells.items()
            },
            "folds": folds,
        }


def _digest_bases(plan: SynthesisPlan) -> dict[str, str]:
    """Return the digest of each base model that is given, of all its files."""
    given = {base: plan.generator.find_given(base) for base in (LARGER, SMALLER)}
    return {base: digest_of_path(Path(folder)) for base, folder in given.items() if folder}


def _annotators(plan: SynthesisPlan) -> list[int]:
    """Return the shares that annotators learn; the largest always, which stands for gold."""
    return sorted({max(plan.shares), *(cell.annotated for cell in plan.wanted)})


def _recall(stages: FoldStages, share: int, base: str) -> dict[str, Any]:
    return stages.store.figures(
        f"recall-{share}-{base}",
        lambda: recall_figures(
            stages.parts.share(share),
            stages.generate(share, base),
            stages.generate(0, base),
            tokenizer=stages.generator(share, base),
        ),
    )


def _membership(stages: FoldStages, share: int, base: str) -> dict[str, Any]:
    return stages.store.figures(
        f"membership-{share}-{base}",
        lambda: membership_figures(
            stages.generator(share, base),
            stages.bases[base],
            stages.parts.share(share),
            stages.parts.test,
            seed=stages.seed,
        ),
    )


def _describe(stages: FoldStages, plan: SynthesisPlan) -> dict[str, Any]:
    """Return descriptors of the real notes, and of those of every setting, at one size."""

    def make() -> dict[str, Any]:
        sets = {"real": list(stages.parts.rest)}
        sets |= {cell.name: stages.annotate(cell) for cell in plan.wanted}
        tokens = min(map(words_in, sets.values())) // 2
        found = {
            name: descriptors(own, plan.notes.lang, tokens=tokens, seed=stages.seed)
            for name, own in sets.items()
        }
        return {"tokens": tokens, "sets": found}

    names = " ".join(cell.name for cell in plan.wanted)
    digest = hashlib.sha256(names.encode()).hexdigest()[:8]
    return stages.store.figures(f"described-{digest}", make)


def _compare(cell: SynthesisCell, folds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return means and deviations over folds: of gold, of synthetic, and of what is lost."""
    found: dict[str, Any] = {"cell": asdict(cell)}
    for measure in MEASURES:
        sides = [
            _row("gold", [one["gold"][f"{cell.annotated}"][measure] for one in folds]),
            _row("synthetic", [one["cells"][cell.name][measure] for one in folds]),
        ]
        found[measure] = {side.setting.model: [side.mean, side.deviation] for side in sides}
        found[measure]["lost"] = list(sides[0].minus(sides[1]))
    found["untrained"] = sum("untrained" in one["cells"][cell.name] for one in folds)
    return found


def _row(name: str, scores: Sequence[float]) -> UtilityRow:
    return UtilityRow.of(Configuration(name, "", ""), scores)
