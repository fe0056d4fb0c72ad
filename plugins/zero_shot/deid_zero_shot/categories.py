"""Categories of found words, learnt from the annotated notes that a threshold is chosen on: naive Bayes, no word kept.

A masked language model tells that a word was not to be guessed, not what it is. What it is shows in its shape and in
the ordinary words and field labels around it. Of other words, which may name somebody, only the shape is kept.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deid_assets import Note, Phi, Span
from deid_assets.extending.lists import vocabulary
from deid_zero_shot.scorer import Word
from deid_zero_shot.shapes import CERTAIN, label_of

Counts = Mapping[str, Mapping[str, int]]
_LEFT, _RIGHT = 3, 2
"""Neighbours that count."""
_REACH = 60
"""Characters in which they are looked for."""
_LONGEST = 8
_SMOOTHING = 1.0
"""Weight of a feature's frequency over all categories, in words."""
_NEIGHBOUR = re.compile(r"\S+")
_MARKS = ".,;:()[]\"'"


@dataclass(frozen=True)
class Categories:
    """Counts of features by category.

    Args:
        words: Annotated words of each category.
        features: Of each feature, how many words of each category have it.
    """

    words: Mapping[str, int]
    features: Counts = field(repr=False)

    @property
    def labels(self) -> frozenset[Phi]:
        """Every category that ``of`` gives beside those that a form tells."""
        return frozenset(map(Phi, self.words))

    def of(self, note: Note, start: int, end: int) -> Phi:
        """Return the likeliest category of the word [start, end), in code points of the note.

        An e-mail or web address is one by its form, and where nothing was learnt the form decides alone.
        """
        form = label_of(note.text[start:end])
        if form in CERTAIN or not self.words:
            return form
        present = [self.features[one] for one in features_of(note, start, end) if one in self.features]
        return Phi(max(sorted(self.words), key=lambda label: self._log_probability(label, present)))

    def _log_probability(self, label: str, present: Sequence[Mapping[str, int]]) -> float:
        total, own = sum(self.words.values()), self.words[label]
        found = math.log(own / total)
        for counts in present:
            everywhere = sum(counts.values()) / total
            found += math.log((counts.get(label, 0) + _SMOOTHING * everywhere) / (own + _SMOOTHING))
        return found


def learn(documents: Iterable[tuple[Note, Sequence[Word], Iterable[Span]]]) -> Categories:
    """Return what the annotated words of notes tell.

    Args:
        documents: Note, its words as they are scored, and its annotated spans.
    """
    words: Counter[str] = Counter()
    features: dict[str, Counter[str]] = {}
    for note, scored, spans in documents:
        for word, label in _annotated(scored, spans):
            words[label] += 1
            for one in features_of(note, word.start, word.end):
                features.setdefault(one, Counter())[label] += 1
    return Categories(dict(words), {name: dict(counts) for name, counts in sorted(features.items())})


def _annotated(words: Sequence[Word], spans: Iterable[Span]) -> Iterator[tuple[Word, str]]:
    for span in spans:
        for word in words:
            if word.start < span.end and word.end > span.start:
                yield word, span.label.value


def features_of(note: Note, start: int, end: int) -> frozenset[str]:
    """Return what shows of a word: its shape and length, its neighbours, the field label of its line."""
    text = note.text
    line = text.rfind("\n", 0, start) + 1
    left = _NEIGHBOUR.findall(text, max(0, start - _REACH), start)[-_LEFT:]
    right = _NEIGHBOUR.findall(text, end, end + _REACH)[:_RIGHT]
    found = {f"shape {shape(text[start:end])}", f"length {min(_LONGEST, end - start)}", f"first {start == line}"}
    # The word before tells most; which of the two before it stands where tells little.
    found.update(f"{'before' if at == 1 else 'further'} {_shown(word, note)}" for at, word in enumerate(left[::-1], 1))
    found.update(f"after {at} {_shown(word, note)}" for at, word in enumerate(right, 1))
    label, colon, _ = text[line:start].partition(":")
    if colon:
        found.update(f"field {word}" for word in label.lower().split() if vocabulary.is_ordinary(word, note.lang))
    return frozenset(found)


def _shown(word: str, note: Note) -> str:
    """Return an ordinary word, and of another one only its shape: it may name somebody."""
    bare = word.strip(_MARKS).lower()
    return bare if vocabulary.is_ordinary(bare, note.lang) else f"~{shape(word)}"


def shape(word: str) -> str:
    """Return a word with ``X`` for capitals, ``x`` for other letters, ``d`` for digits; runs of three and more as two."""
    letters = re.sub(r"[^\W\d_]", lambda letter: "X" if letter[0].isupper() else "x", word)
    return re.sub(r"(.)\1{2,}", r"\1\1", re.sub(r"\d", "d", letters))
