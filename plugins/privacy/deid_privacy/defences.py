"""Defences side by side: none, notes scrubbed by each detector, and training with differential privacy."""

from __future__ import annotations

import math
import secrets
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deid_assets import Failed, Note, deidentify_notes
from deid_assets.extending import ConfigError
from deid_assets.extending.measuring import auc
from deid_generative.newmodel import make_model, make_tokenizer
from deid_generative.settings import NewModel
from deid_privacy.canaries import questions_of
from deid_privacy.measures import Estimate, bootstrap, estimated
from deid_privacy.opened import LanguageModel, fitted
from deid_privacy.planted import Planted, name_questions, planted_corpus
from deid_privacy.private import ACCOUNTANTS, Course, Guarantee, guarantee_for, train_private
from deid_privacy.scoring import Scorer
from deid_privacy.slots import answered, summary
from deid_transformers.optimize import generator

REPEATS = (1, 8, 25)
SHAPE = {"vocabulary": 600, "context": 64, "width": 64, "layers": 2, "heads": 4, "feed_forward": 128}
BEATEN = "others beaten"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Settings of the comparison.

    Args:
        notes: Sentences in each part of the planted corpus.
        people: Planted people for each number of repeats, and as many canaries.
        detectors: Each scrubs the notes by itself.
        policy: What replaces what they find.
        epsilons: Budgets of differential privacy.
        course: Of every training.
        seed: Of everything but the surrogates' key.
    """

    notes: int = 150
    people: int = 7
    detectors: Sequence[str] = ("rules",)
    policy: str = "surrogate"
    epsilons: Sequence[float] = (1.0, 8.0, 64.0)
    course: Course = field(default_factory=Course)
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Arm:
    """One defence, measured.

    Args:
        name: Of the defence.
        kind: ``none``, ``scrubbed`` or ``dp``.
        notes: Read in training.
        withheld: Notes that the scrubbing withheld.
        guarantee: Of differential privacy.
        epsilons: By each accountant.
        loss: Per token of held-out notes: utility, the less the better.
        attacks: AUC of membership, and what planted names and secrets beat, with their intervals.
        seconds: Of CPU, of the training.
    """

    name: str
    kind: str
    notes: int
    withheld: int
    guarantee: Guarantee | None
    epsilons: dict[str, float]
    loss: Estimate
    attacks: tuple[Estimate, ...] = field(default=())
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return it under plain names."""
        return asdict(self)


def compare(wanted: Wanted, report: Callable[[Arm], None] = lambda _: None) -> list[Arm]:
    """Return every defence, trained and attacked on the same planted corpus.

    The tokenizer is learnt from the calibration notes, which are nobody's training notes: learnt from the training notes
    it would be outside the guarantee.

    Raises:
        ConfigError: A budget is out of range.
        PluginError: A detector is not installed.
    """
    corpus = planted_corpus(
        notes=wanted.notes, people=wanted.people, repeats=REPEATS, canaries=wanted.people, seed=wanted.seed
    )
    if wanted.course.batch >= len(corpus.training):
        raise ConfigError(f"a batch of {wanted.course.batch} of {len(corpus.training)} notes; take a smaller one")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = make_tokenizer(
            [note.text for note in corpus.calibration], Path(folder), vocabulary=SHAPE["vocabulary"], whole=()
        )
        for name, kind, texts, guarantee in _arms(corpus, wanted):
            began = time.process_time()
            lm = _trained(texts, tokenizer, wanted, noise=guarantee.noise if guarantee else 0.0)
            seconds = time.process_time() - began
            said: dict[str, float] = {one: guarantee.epsilon(one) for one in ACCOUNTANTS} if guarantee else {}
            arm = Arm(
                name, kind, len(texts), len(corpus.training) - len(texts), guarantee, said, _utility(corpus, lm, wanted),
                _attacks(corpus, lm, wanted), seconds,
            )  # fmt: skip
            report(arm)
            found.append(arm)
    return found


def _arms(corpus: Planted, wanted: Wanted) -> list[tuple[str, str, list[str], Guarantee | None]]:
    plain = [note.text for note in corpus.training]
    found: list[tuple[str, str, list[str], Guarantee | None]] = [("undefended", "none", plain, None)]
    for name in wanted.detectors:
        scrubbed = scrub(corpus.training, detector=name, policy=wanted.policy)
        found.append((f"scrubbed by {name}", "scrubbed", scrubbed, None))
    rate, delta = wanted.course.batch / len(plain), 1 / (10 * len(plain))
    for epsilon in wanted.epsilons:
        guarantee = guarantee_for(epsilon, rate=rate, steps=wanted.course.steps, delta=delta)
        found.append((f"DP, ε = {epsilon:g}", "dp", plain, guarantee))
    return found


def scrub(notes: Sequence[Note], *, detector: str, policy: str) -> list[str]:
    """Return the texts that may leave after one detector, those that are withheld left out."""
    outcomes = deidentify_notes(notes, detectors=(detector,), policy=policy, secret=secrets.token_bytes(32))
    return [one.text for one in outcomes if not isinstance(one, Failed)]


def _trained(texts: Sequence[str], tokenizer: Any, wanted: Wanted, *, noise: float) -> LanguageModel:
    generator(wanted.seed, 70)
    model = make_model(NewModel(**SHAPE), tokenizer)
    coded = tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
    end = int(tokenizer.eos_token_id)
    rows = [[end, *ids, end] for ids in coded if ids]
    train_private(model, rows, wanted.course, noise=noise, end=end, seed=wanted.seed)
    return fitted("trained", "causal", model, tokenizer)


def _utility(corpus: Planted, lm: LanguageModel, wanted: Wanted) -> Estimate:
    losses = np.array([one.loss for one in Scorer(lm).tokens([note.text for note in corpus.held_out])])

    def mean(one: Any, _: Any) -> float:
        return float(one.mean())

    low, high = bootstrap(losses, losses, mean, seed=wanted.seed)
    guess = math.log(lm.vocabulary)
    return Estimate("loss per token of held-out notes", float(losses.mean()), low, high, guess, len(losses))


def _attacks(corpus: Planted, lm: LanguageModel, wanted: Wanted) -> tuple[Estimate, ...]:
    """Return membership of ordinary notes, and ranks of planted names and secrets; the attacker holds the originals."""
    scorer = Scorer(lm)
    said = {one.patient_id for one in corpus.people} | {f"canary-{at}" for at in range(len(corpus.canaries))}
    inside = [note.text for note in corpus.training if note.patient_id not in said]
    losses = [-np.array([one.loss for one in scorer.tokens(side)]) for side in (
        inside, [note.text for note in corpus.held_out])]  # fmt: skip
    found = [estimated("membership AUC", losses[0], losses[1], auc, chance=0.5, seed=wanted.seed)]
    people = [one for one in corpus.people if one.repeats]
    names = [one.name for one in corpus.people if not one.repeats] + [one.other for one in people]
    planted = [one for one in corpus.canaries if one.repeats]
    for name, questions in (
        ("names beaten", name_questions(people, others=names)),
        ("secrets beaten", questions_of(planted, seed=wanted.seed, count=100)),
    ):
        own = next(one for one in summary(answered(questions, scorer), seed=wanted.seed) if one.name == BEATEN)
        found.append(Estimate(name, own.value, own.low, own.high, own.chance, own.units))
    return tuple(found)
