"""Names in generated text, and whether they stand with a condition of that person or of another."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from deid_assets.extending.measuring import wilson
from deid_audits.models.measures import AttackEstimate, check_sizes

Tagger = Callable[[str], AbstractSet[str]]
"""Function from a text to the conditions in it, as the register names them."""
SHUFFLES = 20
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Register:
    """What is true: who has which name and conditions.

    Args:
        names: Patient to first and last name.
        conditions: Patient to conditions.
    """

    names: Mapping[str, tuple[str, str]] = field(repr=False)
    conditions: Mapping[str, AbstractSet[str]] = field(repr=False)

    @property
    def all_conditions(self) -> frozenset[str]:
        """Conditions of anybody."""
        return frozenset().union(*self.conditions.values())


def dictionary_tagger(conditions: Iterable[str]) -> Tagger:
    """Return a tagger that finds conditions as whole words, whatever their case."""
    known = {condition.lower(): condition for condition in conditions}
    longest_first = sorted(known, key=lambda condition: (-len(condition), condition))
    pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, longest_first)) + r")\b", re.IGNORECASE)

    def tag(text: str) -> frozenset[str]:
        return (
            frozenset(known[found.group().lower()] for found in pattern.finditer(text))
            if known
            else frozenset()
        )

    return tag


@dataclass(frozen=True, slots=True)
class Links:
    """Counts over generated texts.

    Args:
        texts: How many.
        first: With a patient's first name.
        last: With a patient's last name.
        named: With either.
        right: Of these, with a condition of a patient of that name.
        wrong: Of these, with conditions, none of which such a patient has.
        by_chance: Mean of ``right`` when conditions are exchanged between patients.
        seen: Different names seen.
        names: Different names that there are.
        by_name: Texts with a right link, by the name in it.
        by_condition: Mentions of each condition, over all texts.
        specificity: Bits of all right links: how rare their conditions are among the patients.
    """

    texts: int
    first: int
    last: int
    named: int
    right: int
    wrong: int
    by_chance: float
    seen: int
    names: int
    by_name: Mapping[str, int] = field(repr=False)
    by_condition: Mapping[str, int] = field(repr=False)
    specificity: float = 0.0

    @property
    def is_reliable(self) -> bool:
        """Whether right links are more than wrong ones; else the signal is nothing to rely on."""
        return self.right > self.wrong

    @property
    def top_name_share(self) -> float:
        """Share of the right links that the most frequent name accounts for.

        Near 1, it is an ambiguous word.
        """
        total = sum(self.by_name.values())
        return max(self.by_name.values()) / total if total else 0.0

    @property
    def top_conditions_share(self) -> float:
        """Share of all mentions that the ten most frequent conditions account for."""
        total = sum(self.by_condition.values())
        return sum(sorted(self.by_condition.values(), reverse=True)[:10]) / total if total else 0.0

    def estimates(self) -> list[AttackEstimate]:
        """Return the published rates with their intervals.

        Raises:
            InputError: There are too few texts for an interval.
        """
        check_sizes(self.texts, self.texts, unit="texts")
        chance = self.by_chance / self.named if self.named else 0.0
        shares = [
            ("texts with a patient's first name", self.first, self.texts, 0.0),
            ("texts with a patient's last name", self.last, self.texts, 0.0),
            ("names of the corpus seen", self.seen, self.names, 0.0),
        ]
        if self.named:
            shares += [
                ("name with a condition of that person", self.right, self.named, chance),
                ("name with another's condition", self.wrong, self.named, 1 - chance),
            ]
        return [
            AttackEstimate(name, hits / trials, *wilson(hits, trials), given, trials)
            for name, hits, trials, given in shares
        ]


def count_links(
    texts: Sequence[str],
    register: Register,
    *,
    tagger: Tagger | None = None,
    cased: bool = True,
    seed: int = 1,
) -> Links:
    """Return how often generated texts name patients, and with whose conditions.

    Args:
        texts: Generated.
        register: Of the corpus that the model learnt.
        tagger: Of conditions; the dictionary of the register's when not given.
        cased: Whether a name must have its capital; without, common words pass for names.
        seed: Of the exchange of conditions.
    """
    tag = tagger or dictionary_tagger(register.all_conditions)
    index = _by_word(register, cased=cased)
    found = [_Found.of(text, index, tag, cased=cased) for text in texts]
    own = {patient: frozenset(register.conditions.get(patient, ())) for patient in register.names}
    right = [one for one in found if one.is_right(own)]
    return Links(
        len(texts),
        sum(bool(one.firsts) for one in found),
        sum(bool(one.lasts) for one in found),
        sum(bool(one.patients) for one in found),
        len(right),
        sum(bool(one.patients and one.conditions) for one in found) - len(right),
        _by_chance(found, own, seed=seed),
        len(frozenset().union(*(one.words for one in found))),
        len(index),
        Counter(word for one in right for word in one.words),
        Counter(condition for one in found for condition in one.conditions),
        sum(_bits(one, own) for one in right),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """What stands in one text."""

    words: frozenset[str]
    firsts: frozenset[str]
    lasts: frozenset[str]
    conditions: AbstractSet[str]

    @property
    def patients(self) -> frozenset[str]:
        return self.firsts | self.lasts

    @classmethod
    def of(
        cls, text: str, index: Mapping[str, tuple[set[str], set[str]]], tag: Tagger, *, cased: bool
    ) -> _Found:
        words = frozenset(word for word in _words(text, cased=cased) if word in index)
        sides = [frozenset().union(*(index[word][side] for word in words)) for side in (0, 1)]
        return cls(words, sides[0], sides[1], tag(text))

    def is_right(self, own: Mapping[str, AbstractSet[str]]) -> bool:
        return any(self.conditions & own[patient] for patient in self.patients)


def _words(text: str, *, cased: bool) -> Iterable[str]:
    for word in _WORD.findall(text):
        if not cased or word[0].isupper():
            yield word.lower()


def _by_word(register: Register, *, cased: bool) -> dict[str, tuple[set[str], set[str]]]:
    """Return for each part of a name the patients whose first, and whose last name it is."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    for patient, names in register.names.items():
        for side, name in enumerate(names):
            for word in _words(name, cased=cased):
                found.setdefault(word, (set(), set()))[side].add(patient)
    return found


def _by_chance(found: Sequence[_Found], own: Mapping[str, AbstractSet[str]], *, seed: int) -> float:
    """Return the mean number of right links when conditions are exchanged between patients at
    random.
    """
    rng = random.Random(seed)  # noqa: S311 - a baseline
    relevant = [one for one in found if one.patients and one.conditions]
    total = 0
    for _ in range(SHUFFLES):
        exchanged = dict(zip(own, rng.sample(list(own.values()), len(own)), strict=True))
        total += sum(one.is_right(exchanged) for one in relevant)
    return total / SHUFFLES


def _bits(one: _Found, own: Mapping[str, AbstractSet[str]]) -> float:
    """Return how much the rarest right condition of a text tells.

    -log2 of the share of patients that have it.
    """
    shared = {condition for patient in one.patients for condition in one.conditions & own[patient]}
    counts = [sum(condition in theirs for theirs in own.values()) for condition in shared]
    return -math.log2(min(counts) / len(own)) if counts else 0.0
