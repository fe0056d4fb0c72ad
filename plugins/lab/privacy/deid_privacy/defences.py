"""Defences side by side.

None, notes scrubbed by each detector, and training with differential privacy.
"""

from __future__ import annotations

import json
import math
import re
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deid_assets import Failed, Note, deidentify_notes
from deid_assets.extending import ConfigError
from deid_assets.extending.files import atomic_file
from deid_assets.extending.measuring import auc
from deid_audits.models.canaries import questions_of
from deid_audits.models.measures import AttackEstimate, bootstrap, estimate_measure
from deid_audits.models.opened import LanguageModel, pair_with_tokenizer
from deid_audits.models.planted import Planted, make_planted_corpus, name_questions
from deid_audits.models.scoring import Scorer
from deid_audits.models.slots import rank_answers, summary
from deid_causal.new_model import make_model, make_tokenizer
from deid_causal.settings import NewCausal
from deid_privacy.private import Course, train_private
from deid_privacy.utility.versions import parse_detectors
from deid_training.guarantee import ACCOUNTANTS, Guarantee, guarantee_for
from deid_training.optimize import generator

REPEATS = (1, 8, 25)
SHAPE = {
    "vocabulary": 600,
    "context": 64,
    "width": 64,
    "layers": 2,
    "heads": 4,
    "feed_forward": 128,
}
BEATEN = "others beaten"


@dataclass(frozen=True, slots=True, kw_only=True)
class DefenceSettings:
    """Settings of the comparison.

    Args:
        notes: Sentences in each part of the planted corpus.
        people: Planted people for each number of repeats, and as many canaries.
        detectors: Each scrubs the notes by itself.
        policy: What replaces what they find.
        epsilons: Budgets of differential privacy.
        course: Of every training.
        private: Of the trainings with a budget, by budget, where it is another.
        seed: Of everything but the surrogates' key.
    """

    notes: int = 150
    people: int = 7
    detectors: Sequence[str] = ("rules",)
    policy: str = "surrogate"
    epsilons: Sequence[float] = (1.0, 8.0, 64.0)
    course: Course = field(default_factory=Course)
    private: Mapping[float, Course] = field(default_factory=dict)
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
        course: Of the training.
    """

    name: str
    kind: str
    notes: int
    withheld: int
    guarantee: Guarantee | None
    epsilons: dict[str, float]
    loss: AttackEstimate
    attacks: tuple[AttackEstimate, ...] = field(default=())
    seconds: float = 0.0
    course: Course | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it under plain names."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Arm:
        """Return what ``to_json`` wrote."""
        guarantee = fields["guarantee"] and Guarantee(**fields["guarantee"])
        course = fields["course"] and Course(**fields["course"])
        attacks = tuple(AttackEstimate(**one) for one in fields["attacks"])
        own = {
            "guarantee": guarantee,
            "course": course,
            "loss": AttackEstimate(**fields["loss"]),
            "attacks": attacks,
        }
        return cls(**{**fields, **own})


def compare(
    wanted: DefenceSettings, folder: Path, report: Callable[[Arm], None] = lambda _: None
) -> list[Arm]:
    """Return every defence, trained and attacked on the same planted corpus.

    The tokenizer is learnt from the calibration notes, which are nobody's training notes: learnt
    from the training notes it would be outside the guarantee.

    Args:
        wanted: Settings.
        folder: Where each defence is kept as soon as it is measured; what is there is not run
            again.
        report: Called with each.

    Raises:
        ConfigError: A budget is out of range.
        PluginError: A detector is not installed.
    """
    corpus = corpus_of(wanted)
    if wanted.course.batch >= len(corpus.training):
        raise ConfigError(
            f"a batch of {wanted.course.batch} of {len(corpus.training)} notes; take a smaller one"
        )
    found = []
    with tempfile.TemporaryDirectory() as made:
        tokenizer = tokenizer_of(corpus, Path(made))
        for number, defence in enumerate(_defences(corpus, wanted)):
            name = re.sub(r"[^a-z0-9]+", "-", defence.name.lower())
            path = folder / f"arm-{number:02d}-{name}.json"
            if path.exists():
                found.append(Arm.from_json(json.loads(path.read_text("utf-8"))))
                continue
            arm = _measure(defence, corpus, tokenizer, wanted)
            with atomic_file(path) as file:
                file.write(json.dumps(arm.to_json(), indent=1).encode())
            report(arm)
            found.append(arm)
    return found


def _measure(defence: _Defence, corpus: Planted, tokenizer: Any, wanted: DefenceSettings) -> Arm:
    """Return a defence, trained and attacked."""
    guarantee = defence.guarantee
    texts, began = defence.texts_of(), time.process_time()
    lm = train_model(
        texts,
        tokenizer,
        defence.course,
        seed=wanted.seed,
        noise=guarantee.noise if guarantee else 0.0,
    )
    seconds = time.process_time() - began
    return Arm(
        defence.name,
        defence.kind,
        len(texts),
        len(corpus.training) - len(texts),
        guarantee,
        {one: guarantee.epsilon(one) for one in ACCOUNTANTS} if guarantee else {},
        loss_of(corpus, lm, seed=wanted.seed),
        _attacks(corpus, lm, wanted),
        seconds,
        defence.course,
    )


def corpus_of(wanted: DefenceSettings) -> Planted:
    """Return the planted corpus of a comparison."""
    return make_planted_corpus(
        notes=wanted.notes,
        people=wanted.people,
        repeats=REPEATS,
        canaries=wanted.people,
        seed=wanted.seed,
    )


def tokenizer_of(corpus: Planted, folder: Path) -> Any:
    """Return a tokenizer of the calibration notes."""
    return make_tokenizer(
        [note.text for note in corpus.calibration], folder, vocabulary=SHAPE["vocabulary"], whole=()
    )


class _Defence(NamedTuple):
    """A defence that is to be measured: the notes as they are trained on, and how."""

    name: str
    kind: str
    texts_of: Callable[[], list[str]]
    guarantee: Guarantee | None
    course: Course


def _defences(corpus: Planted, wanted: DefenceSettings) -> Iterator[_Defence]:
    plain = [note.text for note in corpus.training]
    yield _Defence("undefended", "none", lambda: plain, None, wanted.course)
    for name in wanted.detectors:
        scrubbed = partial(scrub, corpus.training, detector=name, policy=wanted.policy)
        told = f"scrubbed by {name.partition('=')[0]}"
        yield _Defence(told, "scrubbed", scrubbed, None, wanted.course)
    for epsilon in wanted.epsilons:
        course = wanted.private.get(epsilon, wanted.course)
        yield _Defence(
            f"DP, ε = {epsilon:g}",
            "dp",
            lambda: plain,
            compute_guarantee(epsilon, course, len(plain)),
            course,
        )


def compute_guarantee(epsilon: float, course: Course, notes: int) -> Guarantee:
    """Return the guarantee of a budget over so many notes, with δ a tenth of one by
    their number.
    """
    return guarantee_for(
        epsilon, rate=course.batch / notes, steps=course.steps, delta=1 / (10 * notes)
    )


def scrub(notes: Sequence[Note], *, detector: str, policy: str) -> list[str]:
    """Return the texts that may leave after one detector, those that are withheld left out."""
    names, options = parse_detectors([detector])
    outcomes = deidentify_notes(
        notes, detectors=names, options=options, policy=policy, secret=secrets.token_bytes(32)
    )
    return [one.text for one in outcomes if not isinstance(one, Failed)]


def train_model(
    texts: Sequence[str], tokenizer: Any, course: Course, *, seed: int, noise: float
) -> LanguageModel:
    """Return a causal model trained on texts, with noise or without."""
    generator(seed, 70)
    model = make_model(NewCausal(**SHAPE), tokenizer)
    coded = tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
    end = int(tokenizer.eos_token_id)
    rows = [[end, *ids, end] for ids in coded if ids]
    train_private(model, rows, course, noise=noise, end=end, seed=seed)
    return pair_with_tokenizer("trained", "causal", model, tokenizer)


def loss_of(corpus: Planted, lm: LanguageModel, *, seed: int) -> AttackEstimate:
    """Return the loss on held-out notes, with its interval."""
    losses = np.array(
        [one.loss for one in Scorer(lm).tokens([note.text for note in corpus.held_out])]
    )

    def mean(one: Any, _: Any) -> float:
        return float(one.mean())

    low, high = bootstrap(losses, losses, mean, seed=seed)
    guess = math.log(lm.vocabulary)
    return AttackEstimate(
        "loss per token of held-out notes", float(losses.mean()), low, high, guess, len(losses)
    )


def _attacks(
    corpus: Planted, lm: LanguageModel, wanted: DefenceSettings
) -> tuple[AttackEstimate, ...]:
    """Return membership of ordinary notes, and ranks of planted names and secrets.

    The attacker holds the originals.
    """
    scorer = Scorer(lm)
    said = {one.patient_id for one in corpus.people} | {
        f"canary-{at}" for at in range(len(corpus.canaries))
    }
    inside = [note.text for note in corpus.training if note.patient_id not in said]
    losses = [
        -np.array([one.loss for one in scorer.tokens(side)])
        for side in (inside, [note.text for note in corpus.held_out])
    ]
    found = [
        estimate_measure("membership AUC", losses[0], losses[1], auc, chance=0.5, seed=wanted.seed)
    ]
    people = [one for one in corpus.people if one.repeats]
    names = [one.name for one in corpus.people if not one.repeats] + [one.other for one in people]
    planted = [one for one in corpus.canaries if one.repeats]
    for name, questions in (
        ("names beaten", name_questions(people, others=names)),
        ("secrets beaten", questions_of(planted, seed=wanted.seed, count=100)),
    ):
        own = next(
            one
            for one in summary(rank_answers(questions, scorer), seed=wanted.seed)
            if one.name == BEATEN
        )
        found.append(AttackEstimate(name, own.value, own.low, own.high, own.chance, own.units))
    return tuple(found)
