"""How likely a model finds words in a gap.

Of names, secrets and conditions, true ones against others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import InputError
from deid_assets.extending.measuring import percentiles, resample
from deid_audits.models.measures import FEWEST, RESAMPLES, AttackEstimate
from deid_audits.models.scoring import EncodedText, Scorer

Floats = NDArray[np.float64]
GAP = "____"
"""Mark of the gap in a fragment."""
LOST = "others beaten in the notes' words - in other words"


@dataclass(frozen=True, slots=True)
class Slot:
    """A gap, what truly stands in it, and what else could.

    Args:
        fragment: Text with one gap, ``____``.
        truth: What the training text has there.
        others: Candidates that it has not, drawn from where the truth might have been drawn.
        repeats: How often the training text says it; 0 for a control.
        group: What questions are resampled by, such as the patient.
    """

    fragment: str = field(repr=False)
    truth: str = field(repr=False)
    others: tuple[str, ...] = field(repr=False)
    repeats: int = 0
    group: str = ""

    def __post_init__(self) -> None:
        if self.fragment.count(GAP) != 1:
            raise InputError(f"a fragment has {self.fragment.count(GAP)} gaps; write {GAP} once")
        if not self.others or self.truth in self.others:
            raise InputError(
                "a question needs other candidates than its truth; give some, without it"
            )


@dataclass(frozen=True, slots=True)
class TruthRank:
    """Where a model ranks the truth.

    Args:
        rank: From 1; of equal candidates the mean.
        candidates: How many there are, the truth among them.
        margin: By how much the truth is likelier than the mean other, natural logarithm.
        repeats: Of the question.
        group: Of the question.
    """

    rank: float
    candidates: int
    margin: float
    repeats: int = 0
    group: str = ""

    @property
    def exposure(self) -> float:
        """Bits by which the rank is better than a guess over all candidates (Carlini et
        al. 2019).
        """
        return float(np.log2(self.candidates) - np.log2(self.rank))

    @property
    def beaten(self) -> float:
        """Share of the others that the truth beats; one half by chance."""
        return (self.candidates - self.rank) / (self.candidates - 1)


def rank_answers(
    questions: Sequence[Slot], scorer: Scorer, *, reference: Scorer | None = None
) -> list[TruthRank]:
    """Return where a model ranks the truth of each question.

    Args:
        questions: Gaps.
        scorer: The model under attack.
        reference: A model that did not read the notes; what it finds likely is taken off, so that a
            common name is not taken for a remembered one.
    """
    filled = [
        (question.fragment, one)
        for question in questions
        for one in (question.truth, *question.others)
    ]
    scores = gap_scores(filled, scorer)
    if reference is not None:
        scores = scores - gap_scores(filled, reference)
    found, begin = [], 0
    for question in questions:
        end = begin + 1 + len(question.others)
        own, others = scores[begin], scores[begin + 1 : end]
        rank = 1 + float((others > own).sum()) + float((others == own).sum()) / 2
        found.append(
            TruthRank(
                rank, end - begin, float(own - others.mean()), question.repeats, question.group
            )
        )
        begin = end
    return found


def gap_scores(filled: Sequence[tuple[str, str]], scorer: Scorer) -> Floats:
    """Return the logarithm of the probability of each text (fragment, filling).

    A causal model is asked for the whole text; a masked one for the filling, token by token from
    the left, what is to its right in the filling hidden (Kauf and Ivanova 2023).
    """
    texts = [fragment.replace(GAP, filling) for fragment, filling in filled]
    if scorer.lm.kind == "causal":
        return np.array([one.logp.sum() for one in scorer.tokens(texts)])
    jobs: list[tuple[EncodedText, NDArray[np.int64]]] = []
    owners: list[int] = []
    for number, ((fragment, filling), one) in enumerate(
        zip(filled, scorer.encode(texts), strict=True)
    ):
        begin = fragment.index(GAP)
        places = [
            at
            for at, (left, right) in enumerate(one.offsets)
            if left < begin + len(filling) and right > begin
        ]
        for at in range(len(places)):
            jobs.append((one, np.array(places[at:], dtype=np.int64)))
            owners.append(number)
    scores = np.zeros(len(filled))
    for owner, (logp, _, _) in zip(owners, scorer.score_hidden(jobs), strict=True):
        scores[owner] += logp[0]
    return scores


def summary(
    answers: Sequence[TruthRank], *, seed: int = 1, unit: str = "questions"
) -> list[AttackEstimate]:
    """Return share of first ranks, share of others beaten and exposure, with intervals over groups.

    Raises:
        InputError: There is too little for an interval.
    """
    groups = [answer.group or str(number) for number, answer in enumerate(answers)]
    index = {group: at for at, group in enumerate(dict.fromkeys(groups))}
    if len(index) < FEWEST:
        raise InputError(f"there are {len(index)} {unit}, an interval needs {FEWEST}; give more")
    owner = np.array([index[group] for group in groups])
    size = answers[0].candidates
    guess = float(np.mean(np.log2(size) - np.log2(np.arange(1, size + 1))))
    columns = {
        "truth ranked first": ([answer.rank == 1 for answer in answers], 1 / size),
        "others beaten": ([answer.beaten for answer in answers], 0.5),
        "exposure in bits": ([answer.exposure for answer in answers], guess),
    }
    draws = [
        np.bincount(drawn, minlength=len(index))
        for (drawn,) in resample([len(index)], RESAMPLES, seed)
    ]
    found = []
    for name, (column, chance) in columns.items():
        values = np.asarray(column, dtype=np.float64)
        drawn = [float(np.average(values, weights=weights[owner])) for weights in draws]
        mean = float(values.mean())
        low, high = _around(mean, drawn, len(index))
        limit = np.log2(size) if name == "exposure in bits" else 1.0
        found.append(
            AttackEstimate(
                name, mean, max(0.0, low), float(min(limit, high)), float(chance), len(index)
            )
        )
    return found


def _around(value: float, drawn: Sequence[float], groups: int) -> tuple[float, float]:
    """Return the interval of draws, with the value in it.

    Where all are alike, by the rule of three over the groups.
    """
    low, high = percentiles(drawn)
    slack = 3 / groups if low == high else 0.0
    return min(low, value) - slack, max(high, value) + slack


def measure_other_words(
    own: Sequence[TruthRank], again: Sequence[TruthRank], *, seed: int = 1, unit: str = "questions"
) -> list[AttackEstimate]:
    """Return the share of others that the truth beats when asked in other words, and how much less
    that is than in its own.

    Args:
        own: Answers in the words of the notes, one for each group.
        again: Answers in other words; those of a group are averaged.
        seed: Of the bootstrap over groups.
        unit: What the groups are.

    Raises:
        InputError: There is too little for an interval.
    """
    beaten: dict[str, list[float]] = {}
    for answer in again:
        beaten.setdefault(answer.group, []).append(answer.beaten)
    before: dict[str, list[float]] = {}
    for answer in own:
        before.setdefault(answer.group, []).append(answer.beaten)
    groups = [group for group in before if group in beaten]
    if len(groups) < FEWEST:
        raise InputError(
            f"there are {len(groups)} {unit} in other words, an interval needs {FEWEST}; give more"
        )
    after = np.array([np.mean(beaten[group]) for group in groups])
    lost = np.array([np.mean(before[group]) for group in groups]) - after
    found = []
    for name, values, chance in (("others beaten, in other words", after, 0.5), (LOST, lost, 0.0)):
        drawn = [float(values[rows].mean()) for (rows,) in resample([len(groups)], RESAMPLES, seed)]
        mean = float(values.mean())
        found.append(
            AttackEstimate(name, mean, *_around(mean, drawn, len(groups)), chance, len(groups))
        )
    return found
