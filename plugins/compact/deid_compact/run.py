"""A training run: from a task to a model folder."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from deid_assets import Note, Span
from deid_assets.extending import ConfigError, Document, Phi, Report, Task, Token, load
from deid_compact.augmentation import Pools, pools_of
from deid_compact.detector import VERSION, word_scores
from deid_compact.folder import (
    LISTS_FILE,
    CompactDescription,
    read_network,
    write_about,
    write_weights,
)
from deid_compact.inputs import NoteInput, input_of, label_rows
from deid_compact.institutions import institutions_for_copies
from deid_compact.labels import Classes, Targets
from deid_compact.lexicon import make_lexicon
from deid_compact.losses import fit_temperature
from deid_compact.names import names_for_copies, towns_for_copies
from deid_compact.nets import CompactNet, weights_of
from deid_compact.notes import MarkedNote, add_copies, batch_items, mark_notes, targets_of
from deid_compact.settings import CompactSettings
from deid_compact.spelling import Spelling
from deid_compact.thresholds import choose_thresholds
from deid_compact.training import CompactLearner, WordExample, pieces_of
from deid_compact.words import Decision, WordScores
from deid_training.learner import LoopSettings
from deid_training.loop import Loop


@runtime_checkable
class Teacher(Protocol):
    """A larger model that says what it holds of each word."""

    def word_probabilities(
        self, text: str, tokens: Sequence[Token], classes: Classes
    ) -> NDArray[np.float32]:
        """Return probabilities of words: (words, outputs)."""
        ...


class ExampleBuilder:
    """Turns notes into examples.

    Args:
        settings: Of the recipe.
        classes: Of the network.
    """

    def __init__(self, settings: CompactSettings, classes: Classes) -> None:
        self._other = load(settings.predictions_of)
        self._settings = settings
        self.labels = ("", *sorted(str(label) for label in self._other.labels))
        self._numbers = {label: number for number, label in enumerate(self.labels) if label}
        self.lexicon = make_lexicon()
        self.spelling = Spelling(self.lexicon)
        self.classes = classes
        self.targets = Targets(classes)
        self._teacher = _teacher(settings.teacher)

    def example(self, note: MarkedNote, *, is_taught: bool = False) -> WordExample:
        """Return a note as it is learnt from."""
        given = input_of(note.text, self._predictions(note), self._numbers)
        teacher = None
        if is_taught and self._teacher is not None:
            held = self._teacher.word_probabilities(note.text, given.tokens, self.classes)
            teacher = held.astype(np.float16)
        return WordExample(
            words=self.spelling.numbers_of(given.words),
            gaps=given.gaps,
            labels=given.labels,
            targets=targets_of(note, given.tokens, self.targets),
            teacher=teacher,
        )

    def input(self, note: MarkedNote) -> NoteInput:
        """Return a note as the detector gives it to the network."""
        return input_of(note.text, self._predictions(note), self._numbers)

    def _predictions(self, note: MarkedNote) -> list[Span]:
        (found,) = self._other.detect([Note(note.note_id or "copy", note.text)])
        return list(found)


def _teacher(folder: str) -> Teacher | None:
    if not folder:
        return None
    teacher = load("encoder", options={"model": folder, "alone": True})
    if not isinstance(teacher, Teacher):
        raise ConfigError(
            f"teacher {folder}: its detector gives no probabilities of words; name an encoder's"
            " folder"
        )
    return teacher


def run(task: Task, out: Path, report: Report) -> None:
    """Train on a task's documents and write the model folder."""
    settings = CompactSettings.model_validate(task.settings)
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    torch.manual_seed(task.seed)
    classes = Classes.of(task.labels.values())
    materials = ExampleBuilder(settings, classes)
    training = mark_notes(document for phase in task.phases for document in phase)
    examples = _examples(training, materials, settings, seed=task.seed)
    examples += [
        materials.example(MarkedNote(note.text, [], frozenset()), is_taught=True)
        for note in task.raw
        if settings.teacher
    ]
    dev = [materials.example(note) for note in mark_notes(task.dev)]
    materials.spelling.close()
    allowed = torch.from_numpy(materials.targets.table())
    net = CompactNet(
        width=settings.width,
        parts=settings.parts,
        labels=label_rows(len(materials.labels)),
        outputs=classes.outputs,
        dropout=settings.dropout,
    )
    learner = CompactLearner(
        net,
        settings,
        materials.spelling,
        allowed,
        batches=_batches(examples, settings),
        dev=_batches(dev, settings),
        seed=task.seed,
    )
    Loop(learner, LoopSettings(epochs=settings.epochs), report=report).run()
    about = CompactDescription(
        version=VERSION,
        classes=classes,
        labels=materials.labels,
        temperature=fit_temperature(learner.dev_scores(), allowed),
        decision=Decision(settings.threshold, {}, settings.silent, settings.beside),
        predictions_of=settings.predictions_of,
        veto=settings.veto,
    )
    write_weights(out, weights_of(net))
    materials.lexicon.save(out / LISTS_FILE)
    write_about(out, _set_thresholds(about, out, task.dev, materials, settings))


def _examples(
    notes: Sequence[MarkedNote], materials: ExampleBuilder, settings: CompactSettings, *, seed: int
) -> list[WordExample]:
    chance = random.Random(seed)  # noqa: S311 - no secret
    pools = _pools(notes, seed)
    return [
        materials.example(copy)
        for note in notes
        for copy in add_copies(note, pools, settings.copies, chance)
    ]


def _pools(notes: Sequence[MarkedNote], seed: int) -> Pools:
    pools = pools_of([(note.text, note.marks) for note in notes], names_for_copies(seed))
    more = {**institutions_for_copies(), Phi.CITY: towns_for_copies(seed)}
    return Pools(
        pools.names,
        {
            category: sorted({*texts, *more.get(category, ())})
            for category, texts in pools.others.items()
        },
    )


def _batches(examples: Sequence[WordExample], settings: CompactSettings) -> list[list[WordExample]]:
    pieces = [piece for example in examples for piece in pieces_of(example, settings.longest)]
    return batch_items(pieces, lambda piece: len(piece.words), settings.batch_words)


def _set_thresholds(
    about: CompactDescription,
    folder: Path,
    dev: Sequence[Document],
    materials: ExampleBuilder,
    settings: CompactSettings,
) -> CompactDescription:
    if settings.wanted_precision is None:
        return about
    thresholds = choose_thresholds(
        _judge_notes(about, folder, dev, materials),
        about.classes,
        wanted_precision=settings.wanted_precision,
        silent=settings.silent,
        highest=settings.highest_threshold,
    )
    return replace(about, decision=replace(about.decision, thresholds=thresholds))


def _judge_notes(
    about: CompactDescription, folder: Path, dev: Sequence[Document], materials: ExampleBuilder
) -> Iterator[tuple[Document, WordScores]]:
    network = read_network(folder)
    for document, note in zip(dev, mark_notes(dev), strict=True):
        yield document, word_scores(network, about, materials.input(note))
