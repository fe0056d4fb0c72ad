"""Classes of a tagger, and what each piece of a training note may be.

Corpora mark different things: one has no employers, another calls every place LOCATION. Each corpus
is taken at its word only for what it marks, so that corpora can be learnt together:

- a category that a corpus never marks may stand behind its unmarked words;
- a category that a corpus marks instead of finer ones may be any of those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import Phi

FINER: Mapping[Phi, frozenset[Phi]] = {
    Phi.LOCATION: frozenset({Phi.STREET, Phi.ZIP, Phi.CITY, Phi.REGION, Phi.COUNTRY}),
    Phi.ORGANIZATION: frozenset({Phi.HOSPITAL}),
}
"""Categories that some corpora mark as one."""

MERGED: Mapping[Phi, Phi] = {
    Phi.FAX: Phi.PHONE,
    Phi.IP: Phi.URL,
    Phi.USERNAME: Phi.ID,
    Phi.MRN: Phi.ID,
    Phi.ACCOUNT: Phi.ID,
    Phi.HEALTH_PLAN: Phi.ID,
    Phi.NATIONAL_ID: Phi.ID,
    Phi.LICENSE: Phi.ID,
    Phi.DEVICE: Phi.ID,
    Phi.VEHICLE: Phi.ID,
    Phi.BIOMETRIC: Phi.ID,
}
"""Categories of which the labels beside a number tell more than the number.

``rules`` reads those labels.
"""

NOT_LEARNT = frozenset({Phi.SEX, Phi.RELATIVE, Phi.OTHER})
"""Marked in few corpora, and hardly identifying."""

OUTSIDE = 0
NO_TARGET = -1
"""Of a piece from which nothing is learnt."""


@dataclass(frozen=True, slots=True)
class Classes:
    """Categories that a network tells apart, and the order of its outputs.

    Outside, then begin and inside of each.

    Args:
        categories: In the order of the outputs.
    """

    categories: tuple[Phi, ...]

    @classmethod
    def of(cls, labels: Iterable[Phi]) -> Classes:
        """Return the classes for notes with these labels."""
        merged = {MERGED.get(label, label) for label in labels} - NOT_LEARNT
        return cls(tuple(sorted(merged)))

    @property
    def outputs(self) -> int:
        """Scores of each piece."""
        return 1 + 2 * len(self.categories)

    def begin(self, category: Phi) -> int:
        """Return the output of the first piece of a span."""
        return 1 + 2 * self.categories.index(category)

    def inside(self, category: Phi) -> int:
        """Return the output of its other pieces."""
        return 2 + 2 * self.categories.index(category)

    def by_category(self, probabilities: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the probability of each category, whether begun or continued.

        Args:
            probabilities: (..., outputs).

        Returns:
            (..., categories).
        """
        return probabilities[..., 1::2] + probabilities[..., 2::2]

    def translate(self, probabilities: NDArray[np.float32], other: Classes) -> NDArray[np.float32]:
        """Return probabilities under other classes.

        Those of categories that these lack count as outside.

        Args:
            probabilities: (words, outputs).
            other: Of another network.
        """
        found = np.zeros((len(probabilities), other.outputs), dtype=np.float32)
        found[:, OUTSIDE] = probabilities[:, OUTSIDE]
        for category in self.categories:
            if category in other.categories:
                found[:, other.begin(category)] = probabilities[:, self.begin(category)]
                found[:, other.inside(category)] = probabilities[:, self.inside(category)]
            else:
                found[:, OUTSIDE] += (
                    probabilities[:, self.begin(category)] + probabilities[:, self.inside(category)]
                )
        return found


@dataclass(slots=True)
class Targets:
    """Sets of outputs, any of which is right for a piece; each set once.

    Args:
        classes: Of the network.
    """

    classes: Classes
    _numbers: dict[frozenset[int], int] = field(default_factory=dict)

    def outside(self, marked: frozenset[Phi]) -> int:
        """Return the target of an unmarked piece in a corpus that marks these categories."""
        unmarked = [category for category in self.classes.categories if category not in marked]
        outputs = {OUTSIDE}
        for category in unmarked:
            outputs |= {self.classes.begin(category), self.classes.inside(category)}
        return self._number(outputs)

    def find_targets(self, category: Phi, marked: frozenset[Phi]) -> tuple[int, int]:
        """Return the targets of the first and of the other pieces of a span.

        Args:
            category: Of the span, merged.
            marked: Categories that its corpus marks.
        """
        possible = {category} | (FINER.get(category, frozenset()) - marked)
        known = [each for each in possible if each in self.classes.categories]
        begin = self._number({self.classes.begin(each) for each in known})
        return begin, self._number({self.classes.inside(each) for each in known})

    def table(self) -> NDArray[np.bool_]:
        """Return which outputs each target allows: (targets, outputs)."""
        table = np.zeros((len(self._numbers), self.classes.outputs), dtype=bool)
        for outputs, number in self._numbers.items():
            table[number, sorted(outputs)] = True
        return table

    def _number(self, outputs: Iterable[int]) -> int:
        return self._numbers.setdefault(frozenset(outputs), len(self._numbers))


def merge_category(category: Phi) -> Phi | None:
    """Return the class of a category, or none where it is not learnt."""
    if category in NOT_LEARNT:
        return None
    return MERGED.get(category, category)
