"""How often each word stood inside each label in training, without the patient that is being
described.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

Tally = Mapping[str, Mapping[str, int]]
"""Word in normal form to label, or ``O``, to number of tokens.

Under ``PATIENTS`` the number of patients.
"""
PATIENTS = "#"
UNSEEN = ("?",)
REMEMBERED = 60_000
_SHARES = (0.02, 0.2, 0.5, 0.8, 0.98)
_SIZES = (2, 5, 20, 100)


def tally(words: Iterable[str], labels: Iterable[str]) -> dict[str, Counter[str]]:
    """Count the labels of each word of one patient."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for word, label in zip(words, labels, strict=True):
        counted[word][label] += 1
    for labels_of_word in counted.values():
        labels_of_word[PATIENTS] = 1
    return counted


def total(tallies: Iterable[Tally]) -> dict[str, Counter[str]]:
    """Add up the tallies of patients."""
    summed: dict[str, Counter[str]] = defaultdict(Counter)
    for one in tallies:
        for word, labels in one.items():
            summed[word].update(labels)
    return summed


def select_known(counted: Tally, *, min_patients: int) -> dict[str, dict[str, int]]:
    """Return the words of at least ``min_patients`` patients: what a model may keep."""
    return {
        word: dict(labels) for word, labels in counted.items() if labels[PATIENTS] >= min_patients
    }


def keys(
    words: Iterable[str], counted: Tally, own: Tally, *, min_patients: int
) -> list[tuple[str, ...]]:
    """Return ``describe_word`` for a training note's words; those of its own patient do not count.

    So in training a word looks as new as it would in a note of a new patient.

    Args:
        words: In normal form.
        counted: Of all patients.
        own: Of the patient whose words they are.
        min_patients: Words of fewer other patients are unseen.
    """
    described_: dict[str, tuple[str, ...]] = {}
    for word in own:
        others = Counter(counted[word])
        others.subtract(own[word])
        described_[word] = describe_word(others) if others[PATIENTS] >= min_patients else UNSEEN
    return [described_[word] for word in words]


def describe_word(labels: Mapping[str, int] | None) -> tuple[str, ...]:
    """Return what is known of a word: ``LABEL:share`` and ``LABEL:share:size``, in steps."""
    if not labels:
        return UNSEEN
    size = sum(count for label, count in labels.items() if label != PATIENTS)
    step = bisect_right(_SIZES, size)
    named = []
    for label in sorted(label for label, count in labels.items() if count and label != PATIENTS):
        share = f"{label}:{bisect_right(_SHARES, labels[label] / size)}"
        named += [share, f"{share}:{step}"]
    return tuple(named)


class WordStatistics(dict[str, tuple[str, ...]]):
    """Statistics of each word, computed when it is first asked for.

    Args:
        counted: As ``select_known``.
    """

    def __init__(self, counted: Tally) -> None:
        super().__init__()
        self._counted = counted

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(self) >= REMEMBERED:
            self.clear()
        self[word] = found = describe_word(self._counted.get(word))
        return found
