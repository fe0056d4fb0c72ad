"""Training on notes of one's own with differential privacy; a patient is the unit.

A base learns by DP-SGD (Abadi et al. 2016): each step draws patients independently, clips the
gradient of all of a patient's notes as one, and adds noise to the sum. Draws and noise come from
the operating system, so that no seed gives them away.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

import torch

from deid_assets import Note
from deid_assets.extending import ConfigError, Report, TrainingError
from deid_assets.extending.corpora import PROMISE, learnt_from
from deid_causal.run import CHECKPOINT, CURVE, EPOCHS, begin_model, cut_rows, write_model
from deid_causal.settings import CLIP, CausalSettings
from deid_causal.spent import SpentSteps
from deid_causal.steps import Pair, adamw, batch_of, response_loss
from deid_training.checkpoint import Checkpoint
from deid_training.fingerprints import notes_fingerprint
from deid_training.guarantee import Guarantee, guarantee_for
from deid_training.learner import EpochScore, Learner, LoopSettings, Loss
from deid_training.loop import Loop
from deid_training.noise import NoisySum, draw_units, secret_generator
from deid_training.optimize import device_of, generator, linear_rate

AT_ONCE = 16
"""Sequences of a patient that are read at once; more are read in turn."""
NOT_COVERED = (
    "what the base and its tokenizer had read before",
    "settings chosen by trying them on these notes: the epsilons of several trainings add up",
    "the numbers of patients and notes, which this card tells",
    "pretraining.json and spent.json, which have digests of the notes, and logs: keep them",
    "patients whose notes bear several ids, or none: a note without one is covered by itself",
    "people who are named in the notes of several patients",
    "attacks on the rounding of numbers, and on the time that a training takes",
)


@dataclass(frozen=True, slots=True)
class PatientUnit:
    """All notes of a patient, or one note without a patient.

    Args:
        rows: Tokens of each sequence.
    """

    rows: Sequence[Sequence[int]]

    @property
    def tokens(self) -> int:
        """Tokens that are learnt."""
        return sum(len(row) - 1 for row in self.rows)


@dataclass(frozen=True, slots=True)
class UnitPart:
    """Sequences of a unit that are read at once.

    Args:
        pairs: They.
        tokens: Of the whole unit, of which the loss is the mean.
        is_last: Whether they are the unit's last.
    """

    pairs: Sequence[Pair]
    tokens: int
    is_last: bool


def make_private_model(
    notes: Sequence[Note],
    out: Path,
    settings: CausalSettings,
    *,
    seed: int,
    version: str,
    report: Report,
) -> None:
    """Write a model whose training keeps ``settings.epsilon``, and what it promises.

    What a killed run began is spent: resumed, the training has that many steps less.

    Raises:
        ConfigError: Epsilon is not reached, the base read these notes, or opacus is not installed.
        TrainingError: There is no text, or the folder holds another training.
    """
    if settings.threads:
        torch.set_num_threads(settings.threads)
    _check_base(settings.base, notes)
    generator(seed, 0)
    model, tokenizer = begin_model((), out, settings)
    units = [
        PatientUnit(rows)
        for texts in group_texts(notes)
        if (rows := cut_rows(texts, tokenizer, settings))
    ]
    guarantee = promise(len(units), settings)
    patients = [note.patient_id for note in notes]
    fingerprint = notes_fingerprint(notes, patients, json.dumps(settings.to_json()), seed, version)
    spent = SpentSteps(out, fingerprint, guarantee.steps)
    if spent.is_done:
        return
    learner = UnitLearner(model, tokenizer, units, settings, guarantee, spent=spent, out=out)
    # clipped unit by unit; dropout would be drawn from the seed
    loop_settings = LoopSettings(epochs=settings.epochs, clip=None, phase=-1, has_dropout=False)
    progress = Loop(learner, loop_settings, Checkpoint(out / CHECKPOINT, fingerprint), report).run()
    write_model(model, tokenizer, out)
    # the loss of the notes is measured without noise
    curve = [{key: point[key] for key in point if key != "loss"} for point in progress.curve]
    (out / CURVE).write_text(json.dumps(curve, indent=1), encoding="utf-8")
    card = describe_promise(guarantee, settings, notes, units=len(units), steps=progress.step)
    (out / PROMISE).write_text(json.dumps(card, indent=1), encoding="utf-8")
    spent.end()
    shutil.rmtree(out / CHECKPOINT, ignore_errors=True)


def _check_base(base: str, notes: Sequence[Note]) -> None:
    if read := learnt_from(Path(base), notes):
        raise ConfigError(
            f"base {base} has read {len(read)} of these notes, which its weights may tell whatever"
            " epsilon is; name one that read none"
        )


def group_texts(notes: Sequence[Note]) -> list[list[str]]:
    """Return the texts of each unit: those of a patient, or of one note without a patient."""
    found: dict[object, list[str]] = {}
    for number, note in enumerate(notes):
        found.setdefault(note.patient_id or number, []).append(note.text)
    return list(found.values())


def promise(units: int, settings: CausalSettings) -> Guarantee:
    """Return the guarantee of a training over so many units, with the least noise.

    Raises:
        ConfigError: Epsilon is not reached, or delta or batch do not fit so few units.
        TrainingError: There is none.
    """
    if not units:
        raise TrainingError("no note has text for one sequence; give more notes")
    if settings.epsilon is None:
        raise ConfigError("a training with noise needs epsilon")
    if settings.batch > units:
        raise ConfigError(
            f"a batch of {settings.batch} of {units} patients; take a smaller one, or more patients"
        )
    delta = settings.delta or 1 / (10 * units)
    if delta >= 1 / units:
        raise ConfigError(
            f"delta {delta:g} lets one of {units} patients be told whole; take one below a"
            f" {units}th, or leave it out"
        )
    steps = settings.epochs * _steps_of_epoch(units, settings)
    return guarantee_for(settings.epsilon, rate=settings.batch / units, steps=steps, delta=delta)


def _steps_of_epoch(units: int, settings: CausalSettings) -> int:
    return -(-units // settings.batch)


class UnitLearner(Learner[UnitPart]):
    """Learns units that are drawn independently for every step, each clipped as one.

    Args:
        model: At its start; of an adapted one, the adapter is learnt.
        tokenizer: Of it.
        units: That are drawn from.
        settings: Of the recipe.
        guarantee: Noise, sampling rate and steps.
        spent: Steps that were begun.
        out: Folder, under which each epoch's model is written where the recipe wants it.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        units: Sequence[PatientUnit],
        settings: CausalSettings,
        guarantee: Guarantee,
        *,
        spent: SpentSteps,
        out: Path,
    ) -> None:
        self.model = model
        self.optimizer: torch.optim.Optimizer = adamw(
            model, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self._tokenizer = tokenizer
        self._units = units
        self._settings = settings
        self._guarantee = guarantee
        self._spent = spent
        self._out = out
        self._rng = secret_generator()
        self._sum = NoisySum(
            self.list_clipped(),
            clip=settings.clip or CLIP,
            noise=guarantee.noise,
            divisor=guarantee.rate * len(units),
            rng=self._rng,
        )
        self.optimizer.register_step_pre_hook(lambda *_: self._sum.write_gradients())

    def batches(self, epoch: int) -> Iterator[list[UnitPart]]:
        """Yield the units of every step, which may be none; a resumed run draws others."""
        del epoch
        for _ in range(_steps_of_epoch(len(self._units), self._settings)):
            if not self._spent.begin_step():
                return
            drawn = draw_units(len(self._units), self._guarantee.rate, self._rng)
            yield [part for number in drawn for part in _parts(self._units[number])]

    def loss(self, part: UnitPart) -> Loss:
        """Return the loss, of which the gradient is that of the mean over the unit's tokens."""
        batch = batch_of(part.pairs, self._tokenizer.eos_token_id, device_of(self.model))
        total, count = response_loss(self.model, batch)
        return Loss(total, count, part.tokens)

    def end_part(self, part: UnitPart) -> None:
        """Clip and add the gradient where the unit was read whole."""
        if part.is_last:
            self._sum.add_unit()

    def rate(self, step: int) -> float:
        """Return the share of the highest learning rate."""
        return linear_rate(step, steps=self._guarantee.steps, warm_up=self._settings.warm_up)

    def judge(self, epoch: int, loss: float) -> EpochScore:
        """Keep the epoch's model where the recipe wants it; nothing is measured on the notes."""
        del loss
        if self._settings.keep_epochs:
            write_model(self.model, self._tokenizer, self._out / EPOCHS / f"{epoch:03d}")
        return EpochScore()


def _parts(unit: PatientUnit) -> Iterator[UnitPart]:
    for at in range(0, len(unit.rows), AT_ONCE):
        rows = unit.rows[at : at + AT_ONCE]
        pairs = [Pair(list(row[:1]), list(row[1:])) for row in rows]
        yield UnitPart(pairs, unit.tokens, at + AT_ONCE >= len(unit.rows))


def describe_promise(
    guarantee: Guarantee,
    settings: CausalSettings,
    notes: Sequence[Note],
    *,
    units: int,
    steps: int,
) -> Mapping[str, Any]:
    """Return the card of a private training: what is promised, how it was accounted, and what it
    does not cover.

    Args:
        guarantee: That was kept.
        settings: Of the recipe.
        notes: That were given.
        units: That have text.
        steps: That made the weights; the others were begun by killed runs.
    """
    return {
        "epsilon": guarantee.epsilon(),
        "epsilon_asked": settings.epsilon,
        "delta": guarantee.delta,
        "unit": "all notes of a patient; a note without a patient is a unit of its own",
        "neighbours": "one unit more or less",
        "units": units,
        "notes": len(notes),
        "notes_without_patient": sum(not note.patient_id for note in notes),
        "mechanism": "DP-SGD (Abadi et al. 2016): Gaussian noise on the sum of clipped gradients",
        "steps": guarantee.steps,
        "steps_lost": guarantee.steps - steps,
        "noise_multiplier": guarantee.noise,
        "sampling": "Poisson: each step draws each unit by itself",
        "sampling_rate": guarantee.rate,
        "clipping": settings.clip or CLIP,
        "accountant": "Rényi divergences (Mironov 2017) of the sampled Gaussian mechanism (Mironov,"
        f" Talwar and Zhang 2019), as opacus {version_of('opacus')} has them",
        "randomness": "of the operating system, for draws and noise; no seed",
        "is_reproducible": False,
        "does_not_cover": list(NOT_COVERED),
    }
