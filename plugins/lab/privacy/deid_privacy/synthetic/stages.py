"""The stages of a fold: adapt, generate, annotate, train, score."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from deid_assets import Note
from deid_assets.extending import (
    DisjointSpans,
    Document,
    Failed,
    InputError,
    SpanSet,
    Task,
    tokenize,
)
from deid_assets.extending.corpora import read_raw
from deid_assets.extending.taggers import Recipe, load_trainer, open_model
from deid_audits.models.generating import Continuing, continue_prompts
from deid_audits.models.opened import kind_of
from deid_audits.models.opened import open_model as open_language_model
from deid_audits.models.sampling import Sampling
from deid_audits.models.scoring import Scorer
from deid_causal.loading import load_tokenizer
from deid_causal.trainer import CausalTrainer
from deid_privacy.synthetic.files import StageStore, read_documents, write_documents
from deid_privacy.synthetic.plan import (
    LARGER,
    FoldParts,
    SynthesisCell,
    SynthesisPlan,
    starters_of,
    too_few,
)
from deid_privacy.utility.scoring import span_scores

SHORTEST, LONGEST = 10, 50
"""Fewest tokens of a generated note, and fewest that it may have at most."""
NUCLEUS = 0.95
TOGETHER = 16
"""Starters whose notes are written to one file; a killed run begins again with the next."""
FULL = 32
"""Bits of weights that are not quantised."""
_WIDTHS = {"larger": 128, "smaller": 64}
_BASE_RATE = 4e-3
_BATCH = 16


@dataclass(slots=True)
class FoldStages:
    """The stages of one fold, each made when it is first asked for.

    Args:
        plan: Of the study.
        recipe: Of annotators and taggers.
        parts: Notes of the fold.
        bases: Folders of the base models by name.
        store: Of the fold's files.
        seed: Of the fold.
    """

    plan: SynthesisPlan
    recipe: Recipe
    parts: FoldParts = field(repr=False)
    bases: dict[str, Path]
    store: StageStore
    seed: int

    def generator(self, adapted: int, base: str = LARGER) -> Path:
        """Return the folder of a generator; of none that learnt anything, the base's."""
        if not adapted:
            return self.bases[base]
        notes = [one.note for one in self.parts.share(adapted)]
        settings = generator_settings(self.plan, self.bases[base])
        return self.store.model(
            f"generator-{adapted}-{base}",
            lambda part: pretrain(notes, part, settings, seed=self.seed),
        )

    def generate(self, adapted: int, base: str = LARGER) -> list[Document]:
        """Return all notes that a generator writes, without spans."""
        return self.store.notes(
            f"generated-{adapted}-{base}",
            lambda part: self._write(self.generator(adapted, base), part),
        )

    def annotator(self, annotated: int) -> Path | None:
        """Return the folder of a tagger of real notes, or none where no word of them is marked."""
        learnt = self.parts.share(annotated)
        return self._tagger(f"gold-{annotated}", learnt)

    def annotate(self, cell: SynthesisCell) -> list[Document]:
        """Return the notes of a setting with the spans that its annotator finds."""
        return self.store.notes(
            f"annotated-{cell.name}", lambda _part: self._tag(self._volume(cell), cell.annotated)
        )

    def gold_scores(self, annotated: int) -> dict[str, Any]:
        """Return how a tagger of real notes scores on the test fold."""
        return self.store.figures(
            f"gold-{annotated}-scores", lambda: self._scores(self.annotator(annotated))
        )

    def scores(self, cell: SynthesisCell) -> dict[str, Any]:
        """Return how a tagger of generated notes scores on the test fold."""

        def make() -> dict[str, Any]:
            learnt = self.annotate(cell)
            tagger = self._tagger(f"tagger-{cell.name}", learnt)
            return self._scores(tagger) | {"learnt": len(learnt)}

        return self.store.figures(f"scores-{cell.name}", make)

    def _write(self, model: Path, part: Path) -> list[Document]:
        """Return the notes of all starters, a file of them at a time."""
        scorer = Scorer(open_language_model(model))
        starters = starters_of(self.parts.dev, is_free=self.plan.generator.is_free)
        lengths = [len(one.ids) for one in scorer.encode([one.note.text for one in self.parts.dev])]
        settings = Continuing(
            Sampling("nucleus", p=NUCLEUS), shortest=SHORTEST, longest=max(LONGEST, *lengths)
        )
        found: list[Document] = []
        for number, at in enumerate(range(0, len(starters), TOGETHER)):
            path = part / f"{number:05d}.jsonl"
            if not path.exists():
                chosen = starters[at : at + TOGETHER]
                seed = self.seed * 100_003 + number
                made = continue_prompts(
                    scorer, chosen, each=self.plan.generator.each, settings=settings, seed=seed
                )
                texts = [chosen[which] + text for which, text in made]
                write_documents(path, [self._note(text) for text in texts])
            found += read_documents(path)
        return [self._note(one.note.text, number) for number, one in enumerate(found)]

    def _note(self, text: str, number: int = 0) -> Document:
        note = Note(f"made-{number:06d}", text, lang=self.plan.notes.lang)
        return Document(note, DisjointSpans.of(note, ()))

    def _volume(self, cell: SynthesisCell) -> list[Document]:
        """Return as many of the generated notes as a setting wants, drawn at random.

        A smaller volume is part of a larger one.

        Raises:
            InputError: Fewer were generated.
        """
        every = self.generate(cell.adapted, cell.base)
        count = self.parts.volume(cell.volume)
        if count > len(every):
            raise too_few(cell.volume, wanted=count, made=len(every))
        order = random.Random(f"volume {self.seed}").sample(every, len(every))  # noqa: S311
        return order[:count]

    def _tag(self, documents: Sequence[Document], annotated: int) -> list[Document]:
        tagger = self.annotator(annotated)
        if tagger is None:
            return list(documents)
        found = self._find(tagger, documents)
        return [
            Document(one.note, DisjointSpans.of(one.note, spans))
            for one, spans in zip(documents, found, strict=True)
        ]

    def _find(self, tagger: Path, documents: Sequence[Document]) -> list[SpanSet]:
        detector = open_model(self.recipe, tagger)
        found = []
        for one in detector.detect([document.note for document in documents]):
            if isinstance(one, Failed):
                raise InputError(f"the tagger {tagger.name} failed on note {one.note_id!r}")
            found.append(one)
        return found

    def _tagger(self, name: str, learnt: Sequence[Document]) -> Path | None:
        """Return the folder of a tagger; none where no span of what it is to learn is on a word.

        Raises:
            TrainingError: It cannot be trained for another reason.
        """
        if not any(map(_has_marked_word, learnt)):
            return None
        return self.store.model(name, lambda part: self._train(learnt, part))

    def _train(self, learnt: Sequence[Document], part: Path) -> None:
        trainer = load_trainer(self.recipe.plugin)
        every = [*learnt, *self.parts.dev]
        task = Task(
            phases=[learnt],
            dev=self.parts.dev,
            labels={span.label.value: span.label for one in every for span in one.spans},
            native=False,
            scheme=self.recipe.scheme,
            grouping=_grouping(self.recipe),
            seed=self.seed,
            settings=trainer.settings(self.recipe.settings),
        )
        trainer.train(task, part, lambda _epoch: None)

    def _scores(self, tagger: Path | None) -> dict[str, Any]:
        """Return strict F1 and F1 of tokens; 0 where there was nothing to learn."""
        if tagger is None:
            return {"f1": 0.0, "token_f1": 0.0, "untrained": True}
        test = self.parts.test
        gold, found = (
            [[(one.start, one.end, one.label.value) for one in spans] for spans in side]
            for side in ([one.spans for one in test], self._find(tagger, test))
        )
        return dict(span_scores([one.note.text for one in test], gold, found))


def _has_marked_word(document: Document) -> bool:
    tokens = tokenize(document.note.text)
    return any(
        one.start < end and start < one.end for one in document.spans for start, end in tokens
    )


def _grouping(recipe: Recipe) -> Any:
    if recipe.grouping == "auto":
        raise InputError(
            f"recipe {recipe.name} groups sentences by `auto`, which differs from share to share;"
            " name a number"
        )
    return recipe.grouping


def generator_settings(plan: SynthesisPlan, base: Path) -> dict[str, Any]:
    """Return the settings of a generator that begins with a base."""
    own = plan.generator
    return {
        "base": str(base),
        "method": own.method,
        "bits": own.bits,
        "epochs": own.epochs,
        "learning_rate": own.learning_rate,
        "length": own.length,
    }


def check_plan(plan: SynthesisPlan, recipe: Recipe) -> None:
    """Check what trainings would refuse: method, bits, bases, their notes, and the recipe.

    Raises:
        InputError: Something is wrong or not there.
    """
    trainer = CausalTrainer()
    for base in sorted({cell.base for cell in plan.wanted}):
        folder = Path(plan.generator.find_given(base) or base)
        trainer.settings(generator_settings(plan, folder))
        if plan.generator.find_given(base):
            _check_base(folder)
        else:
            trainer.settings(base_settings(plan, base))
            read_raw(plan.generator.base_notes)
    if plan.generator.bits != FULL and find_spec("bitsandbytes") is None:
        raise InputError(
            f"--bits {plan.generator.bits} needs bitsandbytes, which is not installed; install it,"
            f" or take {FULL}"
        )
    _grouping(recipe)
    load_trainer(recipe.plugin).settings(recipe.settings)


def _check_base(folder: Path) -> None:
    if kind_of(folder) != "causal":
        raise InputError(f"base {folder.name} is a masked model; give the folder of a causal one")
    load_tokenizer(str(folder), allow_download=False)


def pretrain(notes: Sequence[Note], out: Path, settings: dict[str, Any], *, seed: int) -> None:
    """Train a causal language model into a folder, or go on there."""
    trainer = CausalTrainer()
    given = {"batch": _BATCH, "threads": 1, **settings}
    trainer.pretrain(
        notes, out, settings=trainer.settings(given), seed=seed, report=lambda _epoch: None
    )


def base_settings(plan: SynthesisPlan, base: str) -> dict[str, Any]:
    """Return the settings of a base model that is made here."""
    width = _WIDTHS[base]
    shape = {
        "layers": 3,
        "width": width,
        "heads": 4,
        "feed_forward": 3 * width,
        "vocabulary": 2_000,
        "context": plan.generator.length,
    }
    return {
        "new": shape,
        "length": plan.generator.length,
        "epochs": plan.generator.base_epochs,
        "learning_rate": _BASE_RATE,
    }
