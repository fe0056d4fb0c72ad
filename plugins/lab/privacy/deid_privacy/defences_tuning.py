"""Learning rate and clipping of DP-SGD, chosen on another corpus, so that no note of the reported
one was used.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

from deid_assets.extending.files import atomic_file
from deid_privacy.defences import (
    DefenceSettings,
    compute_guarantee,
    corpus_of,
    loss_of,
    tokenizer_of,
    train_model,
)
from deid_privacy.private import Course

_OTHER = 40_000
"""Added to the seed for the corpus of the choice."""
CHOICE = "tuning.json"


@dataclass(frozen=True, slots=True)
class Tried:
    """A setting that was tried.

    Args:
        epsilon: Budget.
        learning_rate: Highest.
        clip: Longest gradient of a note.
        loss: Per token of held-out notes of the other corpus.
    """

    epsilon: float
    learning_rate: float
    clip: float
    loss: float


def choose(
    wanted: DefenceSettings,
    rates: Sequence[float],
    clips: Sequence[float],
    folder: Path,
    report: Callable[[Tried], None] = lambda _: None,
) -> tuple[dict[float, Course], list[Tried]]:
    """Return for each budget the course of least loss on a corpus of another seed, and all that
    were tried.

    Args:
        wanted: Of the comparison.
        rates: Learning rates to try.
        clips: Lengths of gradients to try, each with each rate.
        folder: Where each trial is kept as soon as it is known; what is there is not tried again.
        report: Called with each.
    """
    path = folder / CHOICE
    known = [Tried(**one) for one in json.loads(path.read_text("utf-8"))] if path.exists() else []
    done = {(one.epsilon, one.learning_rate, one.clip) for one in known}
    other = replace(wanted, seed=wanted.seed + _OTHER)
    corpus = corpus_of(other)
    texts = [note.text for note in corpus.training]
    with tempfile.TemporaryDirectory() as made:
        tokenizer = tokenizer_of(corpus, Path(made))
        for epsilon, rate, clip in product(wanted.epsilons, rates, clips):
            if (epsilon, rate, clip) in done:
                continue
            course = replace(wanted.course, learning_rate=rate, clip=clip)
            lm = train_model(
                texts,
                tokenizer,
                course,
                seed=other.seed,
                noise=compute_guarantee(epsilon, course, len(texts)).noise,
            )
            known.append(Tried(epsilon, rate, clip, loss_of(corpus, lm, seed=other.seed).value))
            with atomic_file(path) as file:
                file.write(json.dumps([asdict(one) for one in known], indent=1).encode())
            report(known[-1])
    best = {
        epsilon: min((one for one in known if one.epsilon == epsilon), key=lambda one: one.loss)
        for epsilon in wanted.epsilons
    }
    courses = {
        epsilon: replace(wanted.course, learning_rate=one.learning_rate, clip=one.clip)
        for epsilon, one in best.items()
    }
    return courses, known
