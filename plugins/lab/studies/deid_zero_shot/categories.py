"""Categories of found words, learnt from the annotated notes that a threshold is chosen on.

Naive Bayes, no word kept.

A masked language model tells that a word was not to be guessed, not what it is. What it is shows in
its shape and in the ordinary words and field labels around it. Of other words, which may name
somebody, only the shape is kept. The same evidence tells words that are no PHI, where those were
learnt too.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deid_assets import Note, Phi, Span
from deid_assets.extending import Token
from deid_assets.extending.lists import vocabulary
from deid_zero_shot.shapes import CERTAIN, label_of

Counts = Mapping[str, Mapping[str, int]]
NO_PHI = ""
"""In the place of a category, for words that are not annotated."""
_LEFT, _RIGHT = 3, 2
"""Neighbours that count."""
_REACH = 60
"""Characters in which they are looked for."""
_LONGEST = 8
_SMOOTHING = 1.0
"""Weight of a feature's frequency over all categories, in words."""
_NEIGHBOUR = re.compile(r"\S+")
_MARKS = ".,;:()[]\"'"
Taught = tuple[Note, Sequence[Token], Sequence[Span]]
"""A note, its words in code points, and its annotated spans."""


@dataclass(frozen=True)
class FeatureCounts:
    """Counts of features by category.

    Args:
        words: Annotated words of each category; under ``NO_PHI`` the others, where those were
            learnt.
        features: Of each feature, how many words of each category have it.
    """

    words: Mapping[str, int]
    features: Counts = field(repr=False)

    @property
    def labels(self) -> frozenset[Phi]:
        """Every category that ``of`` gives beside those that a form tells."""
        return frozenset(Phi(label) for label in self.words if label != NO_PHI)

    def of(self, note: Note, start: int, end: int) -> Phi:
        """Return the likeliest category of the word [start, end), in code points of the note.

        An e-mail or web address is one by its form, and where nothing was learnt the form decides
        alone.
        """
        form = label_of(note.text[start:end])
        if form in CERTAIN or not self.labels:
            return form
        present = self._present(note, start, end)
        return Phi(
            max(sorted(self.labels), key=lambda label: self._log_probability(label, present))
        )

    def no_phi(self, note: Note, places: Sequence[Token]) -> frozenset[int]:
        """Return the numbers of the words that are likelier no PHI than any.

        None where such words were not learnt.
        """
        if not self.words.get(NO_PHI):
            return frozenset()
        return frozenset(
            number for number, place in enumerate(places) if self._is_no_phi(note, *place)
        )

    def _is_no_phi(self, note: Note, start: int, end: int) -> bool:
        if label_of(note.text[start:end]) in CERTAIN:
            return False
        present = self._present(note, start, end)
        against = self._log_probability(NO_PHI, present)
        return (
            sum(
                math.exp(min(50.0, self._log_probability(label, present) - against))
                for label in self.labels
            )
            < 1.0
        )

    def _present(self, note: Note, start: int, end: int) -> Sequence[Mapping[str, int]]:
        return [self.features[one] for one in features_of(note, start, end) if one in self.features]

    def _log_probability(self, label: str, present: Sequence[Mapping[str, int]]) -> float:
        total, own = sum(self.words.values()), self.words[label]
        found = math.log(own / total)
        for counts in present:
            everywhere = sum(counts.values()) / total
            found += math.log((counts.get(label, 0) + _SMOOTHING * everywhere) / (own + _SMOOTHING))
        return found


def learn(documents: Iterable[Taught], *, others: bool = False) -> FeatureCounts:
    """Return what the annotated words of notes tell.

    Args:
        documents: What to learn from.
        others: Whether words that are not annotated are learnt as well.
    """
    words: Counter[str] = Counter()
    features: dict[str, Counter[str]] = {}
    for note, places, spans in documents:
        for place, label in _label(places, spans):
            if label == NO_PHI and not others:
                continue
            words[label] += 1
            for one in features_of(note, *place):
                features.setdefault(one, Counter())[label] += 1
    return FeatureCounts(
        dict(words), {name: dict(counts) for name, counts in sorted(features.items())}
    )


def cross_counts(documents: Sequence[Taught]) -> Sequence[FeatureCounts]:
    """Return for each document what every other one that does not stand with it, at even or odd
    places, tells.
    """
    taught = [learn(documents[first::2], others=True) for first in (1, 0)]
    return [taught[at % 2] for at in range(len(documents))]


def _label(places: Sequence[Token], spans: Sequence[Span]) -> Iterator[tuple[Token, str]]:
    for start, end in places:
        labels = [span.label.value for span in spans if start < span.end and end > span.start]
        for label in labels or [NO_PHI]:
            yield (start, end), label


def features_of(note: Note, start: int, end: int) -> frozenset[str]:
    """Return what shows of a word.

    Its shape and length, its neighbours, the field label of its line.
    """
    text = note.text
    line = text.rfind("\n", 0, start) + 1
    left = _NEIGHBOUR.findall(text, max(0, start - _REACH), start)[-_LEFT:]
    right = _NEIGHBOUR.findall(text, end, end + _REACH)[:_RIGHT]
    found = {
        f"shape {shape(text[start:end])}",
        f"length {min(_LONGEST, end - start)}",
        f"first {start == line}",
    }
    # The word before tells most; which of the two before it stands where tells little.
    found.update(
        f"{'before' if at == 1 else 'further'} {_show(word, note)}"
        for at, word in enumerate(left[::-1], 1)
    )
    found.update(f"after {at} {_show(word, note)}" for at, word in enumerate(right, 1))
    label, colon, _ = text[line:start].partition(":")
    if colon:
        found.update(
            f"field {word}"
            for word in label.lower().split()
            if vocabulary.is_ordinary(word, note.lang)
        )
    return frozenset(found)


def _show(word: str, note: Note) -> str:
    """Return an ordinary word, and of another one only its shape: it may name somebody."""
    bare = word.strip(_MARKS).lower()
    return bare if vocabulary.is_ordinary(bare, note.lang) else f"~{shape(word)}"


def shape(word: str) -> str:
    """Return a word with ``X`` for capitals, ``x`` for other letters, ``d`` for digits.

    Runs of three and more as two.
    """
    letters = re.sub(r"[^\W\d_]", lambda letter: "X" if letter[0].isupper() else "x", word)
    return re.sub(r"(.)\1{2,}", r"\1\1", re.sub(r"\d", "d", letters))
