"""How like the real notes synthetic ones are, beside how like each other two halves of the real
ones are.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import numpy as np

from deid_assets.extending import InputError
from deid_assets.extending.commands import Annotated
from deid_fidelity.divergence import Floats, jensen_shannon, mauve

FEWEST = 20
"""Notes of each side, below which nothing can be said."""
SPLITS = 5
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ComparedNote:
    """What is compared of a note.

    Args:
        text: Of the note.
        owner: Patient, or the note where it names none.
        labels: Category of each mark; none where the note is not annotated.
    """

    text: str = field(repr=False)
    owner: str
    labels: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class FidelityMeasure:
    """A measure, of synthetic against real notes and of real against real ones.

    Args:
        name: Of the measure.
        synthetic: Its mean over the splits, with the least and the greatest.
        real: The same of two halves of the real notes: what no synthetic notes need to beat.
    """

    name: str
    synthetic: tuple[float, float, float]
    real: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class FidelityReport:
    """What was found; it holds no text.

    Args:
        notes: Compared on each side in a split.
        of: Synthetic and real notes that there are.
        measures: In the order in which they are shown.
        missing: What was not measured, and why.
    """

    notes: int
    of: tuple[int, int]
    measures: tuple[FidelityMeasure, ...]
    missing: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as a document."""
        return {
            "notes": self.notes,
            "synthetic": self.of[0],
            "real": self.of[1],
            "splits": SPLITS,
            "measures": {
                one.name: {"synthetic": list(one.synthetic), "real": list(one.real)}
                for one in self.measures
            },
            "not measured": list(self.missing),
        }


def read_compared(notes: Iterable[Annotated]) -> list[ComparedNote]:
    """Return what is compared of notes."""
    return [
        ComparedNote(
            one.note.text,
            one.note.patient_id or one.note.note_id,
            None if one.spans is None else tuple(span.label.value for span in one.spans),
        )
        for one in notes
    ]


def measure_fidelity(
    synthetic: Sequence[ComparedNote],
    real: Sequence[ComparedNote],
    *,
    embed: Callable[[Sequence[str]], Floats],
    most: int,
    seed: int = 1,
) -> FidelityReport:
    """Return how like real notes synthetic ones are.

    In each of five splits the patients of the real notes are parted in two halves, and as many
    synthetic notes are drawn as a half has. All measures are of equal numbers of notes, since they
    depend on these.

    Args:
        synthetic: Notes that were made.
        real: Notes that they shall be like.
        embed: Returns a state of each text.
        most: Notes of a half at most; of larger corpora as many are drawn before they are split,
            so that no more than three times as many are ever embedded.
        seed: Of the splits.

    Raises:
        InputError: There are fewer than 20 synthetic notes, or than 40 real ones, or a side has no
            word.
    """
    draws = random.Random(f"fidelity {seed}")  # noqa: S311 - draws
    made = draws.sample(synthetic, min(len(synthetic), most))
    others = draws.sample(real, min(len(real), 2 * most))
    splits = [_split(made, others, most, draws) for _ in range(SPLITS)]
    if not all(any(map(_has_word, side)) for split in splits for side in split):
        raise InputError("the notes of one side have no word; there is nothing to compare")
    measures = [_measure(name, splits, own) for name, own in MEASURES.items()]
    missing = []
    if all(one.labels is not None for one in (*synthetic, *real)):
        measures += [_measure(name, splits, own) for name, own in OF_MARKS.items()]
    else:
        missing.append("marks: not all notes are annotated")
    measures.append(_measure_mauve(splits, embed, seed))
    sizes = len(synthetic), len(real)
    return FidelityReport(len(splits[0][0]), sizes, tuple(measures), tuple(missing))


Side = Sequence[ComparedNote]
Split = tuple[Side, Side, Side]
"""Synthetic notes, and two halves of the real ones; all of one size."""


def _split(synthetic: Side, real: Side, most: int, draws: random.Random) -> Split:
    owners = sorted({one.owner for one in real})
    draws.shuffle(owners)
    place = {owner: number for number, owner in enumerate(owners)}
    ordered = sorted(draws.sample(real, len(real)), key=lambda one: place[one.owner])
    middle = len(ordered) // 2
    while 0 < middle < len(ordered) and ordered[middle - 1].owner == ordered[middle].owner:
        middle += 1
    halves = ordered[:middle], ordered[middle:]
    size = min(len(synthetic), len(halves[0]), len(halves[1]), most)
    if size < FEWEST:
        raise InputError(
            f"{len(synthetic)} synthetic notes and {len(real)} real ones, {len(halves[1])} of them"
            f" of other patients than the rest; {FEWEST} on each of three sides are compared at"
            " least"
        )
    drawn = [draws.sample(list(side), size) for side in (synthetic, *halves)]
    return drawn[0], drawn[1], drawn[2]


def _measure(
    name: str, splits: Sequence[Split], own: Callable[[Side, Side], float]
) -> FidelityMeasure:
    synthetic = [own(made, half) for made, half, _ in splits]
    real = [own(other, half) for _, half, other in splits]
    return FidelityMeasure(name, _spread(synthetic), _spread(real))


def _measure_mauve(
    splits: Sequence[Split], embed: Callable[[Sequence[str]], Floats], seed: int
) -> FidelityMeasure:
    """Return MAUVE; each text is embedded once."""
    texts = sorted({one.text for split in splits for side in split for one in side})
    states = dict(zip(texts, embed(texts), strict=True))

    def compare(side: Side, half: Side) -> float:
        one, other = (np.array([states[note.text] for note in notes]) for notes in (side, half))
        return mauve(one, other, seed=seed)

    return _measure("MAUVE", splits, compare)


def _spread(values: Sequence[float]) -> tuple[float, float, float]:
    return fmean(values), min(values), max(values)


def _has_word(note: ComparedNote) -> bool:
    return _WORD.search(note.text) is not None


def _words_of(side: Side) -> list[list[str]]:
    return [_WORD.findall(one.text.lower()) for one in side]


def compare_lengths(side: Side, half: Side) -> float:
    """Return the greatest difference of the shares of notes up to a length in words."""
    return _greatest_difference(*(list(map(len, _words_of(notes))) for notes in (side, half)))


def compare_words(side: Side, half: Side) -> float:
    """Return the Jensen-Shannon divergence of the words, in bits."""
    counts = [
        Counter(word for words in _words_of(notes) for word in words) for notes in (side, half)
    ]
    return jensen_shannon(counts[0], counts[1])


def compare_diversity(side: Side, half: Side) -> float:
    """Return different words in the first words of one side by those of the other.

    As many words of each are counted as the smaller side has.
    """
    words = [[word for own in _words_of(notes) for word in own] for notes in (side, half)]
    size = min(map(len, words))
    return len(set(words[0][:size])) / max(len(set(words[1][:size])), 1)


def compare_labels(side: Side, half: Side) -> float:
    """Return the Jensen-Shannon divergence of the categories of the marks, in bits.

    1 where one side has no mark and the other some.
    """
    counts = [
        Counter(label for one in notes for label in one.labels or ()) for notes in (side, half)
    ]
    if not all(counts):
        return float(any(counts))
    return jensen_shannon(counts[0], counts[1])


def compare_density(side: Side, half: Side) -> float:
    """Return the greatest difference of the shares of notes up to a number of marks."""
    return _greatest_difference(
        *([len(one.labels or ()) for one in notes] for notes in (side, half))
    )


def _greatest_difference(one: Sequence[int], other: Sequence[int]) -> float:
    """Return the statistic of Kolmogorov and Smirnov: of the shares up to any number."""
    at = np.concatenate([one, other])
    shares = [np.searchsorted(np.sort(own), at, side="right") / len(own) for own in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())


MEASURES = {
    "lengths, greatest difference": compare_lengths,
    "words, bits": compare_words,
    "different words, ratio": compare_diversity,
}
OF_MARKS = {
    "categories of marks, bits": compare_labels,
    "marks a note, greatest difference": compare_density,
}
