"""From the probabilities of a note's words to spans.

Shared by the taggers that decide word by word.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import OUTSIDE, Phi, Span, Token, WordLabels
from deid_compact.labels import Classes, merge_category

Floats = NDArray[np.float32]
_JOINING = frozenset(" \t\n-'\u2019/.")
"""What may stand between two words of one span."""
_LONGEST_GAP = 2
_NEVER_FIRST = frozenset(',;:.)]}>\u00bb\u201d" \t\n')
_NEVER_LAST = frozenset(',;:([{<\u00ab\u201c" \t\n')
_FULL_STOP = re.compile(r"(?:[^\W\d_]{2}|\d{3}|\))\.$")
"""A full stop that ends a sentence, not an initial or a day."""
_DIGITS = 4
"""Of a score; what is behind them may differ from one processor to another."""
MAY_BE_VETOED = frozenset(
    {
        Phi.NAME,
        Phi.DATE,
        Phi.AGE,
        Phi.CITY,
        Phi.REGION,
        Phi.COUNTRY,
        Phi.LOCATION,
        Phi.HOSPITAL,
        Phi.ORGANIZATION,
    }
)
"""Categories in which a word may be taken for another thing.

Numbers and addresses that a rule knows by form stay.
"""
EXTENDED = frozenset(
    {
        Phi.NAME,
        Phi.STREET,
        Phi.ZIP,
        Phi.CITY,
        Phi.REGION,
        Phi.COUNTRY,
        Phi.LOCATION,
        Phi.HOSPITAL,
        Phi.ORGANIZATION,
    }
)
"""Categories whose spans have several words, of which some are ordinary: *farmacia del ahorro*."""
_NEAR = frozenset({"", " "})
"""What may stand between a marked word and one that is marked for standing beside it."""


@dataclass(frozen=True, slots=True)
class WordScores:
    """Scores of the words of a note.

    Args:
        words: Where each begins and ends.
        marked: Probability that a word is marked at all: (words,).
        categories: Weight of each category: (words, categories).
        begins: Probability that the word begins a span: (words,).
    """

    words: Sequence[Token]
    marked: Floats
    categories: Floats
    begins: Floats


@dataclass(frozen=True, slots=True)
class Decision:
    """From which probability a word is marked.

    Args:
        threshold: Of categories without one of their own.
        thresholds: Category to threshold.
        silent: Categories that are not returned.
        beside: From which probability a word is marked beside a marked word of ``EXTENDED``
            (hysteresis: Canny 1986); 1 where standing beside one counts for nothing.
    """

    threshold: float
    thresholds: Mapping[Phi, float]
    silent: frozenset[Phi]
    beside: float = 1.0

    def as_json(self) -> dict[str, object]:
        """Return what a model folder keeps."""
        return {
            "threshold": self.threshold,
            "thresholds": {
                str(category): value for category, value in sorted(self.thresholds.items())
            },
            "silent": sorted(self.silent),
            "beside": self.beside,
        }

    @classmethod
    def of_json(cls, given: Mapping[str, object]) -> Decision:
        """Return what a model folder kept.

        Raises:
            ValueError: A value is not allowed.
            KeyError: A value is missing.
            TypeError: A value is of another type.
        """
        thresholds = given["thresholds"]
        silent = given["silent"]
        if not isinstance(thresholds, Mapping) or not isinstance(silent, list):
            raise TypeError
        return cls(
            threshold=float(str(given["threshold"])),
            thresholds={Phi(name): float(value) for name, value in thresholds.items()},
            silent=frozenset(Phi(name) for name in silent),
            beside=float(str(given.get("beside", 1.0))),  # models before 0.1.2 have none
        )

    def at(self, threshold: float | None) -> Decision:
        """Return this decision with one threshold for all categories, or itself where none is
        given.
        """
        if threshold is None:
            return self
        return replace(self, threshold=threshold, thresholds={})

    def least(self, classes: Classes) -> Floats:
        """Return the threshold of each category: (categories,)."""
        each = [self.thresholds.get(category, self.threshold) for category in classes.categories]
        return np.array(each, dtype=np.float32)

    def mark_returned(self, classes: Classes) -> NDArray[np.bool_]:
        """Return whether each category is returned: (categories,)."""
        return np.array([category not in self.silent for category in classes.categories])


def label_words(scores: WordScores, classes: Classes) -> WordLabels:
    """Return the probability of each category at each word; the rest is that of none."""
    outside = np.maximum(1 - scores.categories.sum(axis=1, keepdims=True), 0)
    labels = [OUTSIDE, *(str(category) for category in classes.categories)]
    return WordLabels(scores.words, labels, np.concatenate([outside, scores.categories], axis=1))


def calibrate(scores: Floats, temperature: float) -> Floats:
    """Return probabilities of scores: (..., outputs), rows that sum to 1."""
    scaled = scores / temperature
    scaled -= scaled.max(axis=-1, keepdims=True)
    np.exp(scaled, out=scaled)
    scaled /= scaled.sum(axis=-1, keepdims=True)
    return scaled


def spans_of(
    text: str, scores: WordScores, classes: Classes, decision: Decision, source: str
) -> list[Span]:
    """Return the spans of a note, in order."""
    if not scores.words:
        return []
    marks = _choose_words(text, scores, classes, decision)
    spans: list[Span] = []
    for number in np.flatnonzero(marks.is_chosen).tolist():
        start, end = scores.words[number]
        label = classes.categories[int(marks.best[number])]
        score = round(min(max(float(marks.scores[number]), 0.0), 1.0), _DIGITS)
        last = spans[-1] if spans else None
        if (
            last
            and last.label is label
            and not marks.begins[number]
            and _joins(text[last.end : start])
        ):
            spans[-1] = Span(last.start, end, label, min(last.score, score), source)
        else:
            spans.append(Span(start, end, label, score, source))
    return [span for found in spans if (span := _trim(text, found)) is not None]


@dataclass(frozen=True, slots=True)
class _Marks:
    """Which words are marked, as what: each (words,).

    Args:
        is_chosen: Whether it is marked.
        best: Number of its category.
        begins: Whether it begins a span.
        scores: Its probability; of a word that is marked for what stands beside it, that word's: a
            span is as sure as its own words, and no less for being longer.
    """

    is_chosen: NDArray[np.bool_]
    best: NDArray[np.int64]
    begins: NDArray[np.bool_]
    scores: Floats


def _choose_words(text: str, scores: WordScores, classes: Classes, decision: Decision) -> _Marks:
    allowed = np.where(decision.mark_returned(classes), scores.categories, -1.0)
    best = allowed.argmax(axis=1)
    is_chosen = scores.marked >= decision.least(classes)[best]
    marks = _Marks(is_chosen, best, scores.begins >= 0.5, scores.marked.copy())
    waiting = np.flatnonzero((scores.marked >= decision.beside) & ~is_chosen).tolist()
    is_extended = np.array([category in EXTENDED for category in classes.categories])
    _extend(marks, waiting, is_extended, text, scores.words, step=-1)
    _extend(marks, waiting[::-1], is_extended, text, scores.words, step=1)
    return marks


def _extend(
    marks: _Marks,
    waiting: Sequence[int],
    is_extended: NDArray[np.bool_],
    text: str,
    words: Sequence[Token],
    *,
    step: int,
) -> None:
    """Mark each waiting word whose neighbour is marked, as the same span."""
    for number in waiting:
        other = number + step
        if marks.is_chosen[number] or not 0 <= other < len(words):
            continue
        if not marks.is_chosen[other] or not is_extended[marks.best[other]]:
            continue
        first, second = sorted((number, other))
        if text[words[first][1] : words[second][0]] in _NEAR:
            marks.is_chosen[number] = True
            marks.best[number] = marks.best[other]
            marks.scores[number] = marks.scores[other]
            # Of a word before the marked one, the span begins where that one's did.
            marks.begins[first] |= marks.begins[second] and other == second
            marks.begins[second] = False


def _trim(text: str, span: Span) -> Span | None:
    """Return a span without the punctuation at its ends, or nothing where it is nothing else.

    Brackets stay where both are in the span. A full stop stays behind a single letter and behind a
    number of one or two digits: initials and days of the month are written with it.
    """
    start = span.start
    end = span.end
    while start < end and _begins_nothing(text[start:end]):
        start += 1
    while start < end and _ends_nothing(text[start:end]):
        end -= 1
    if start == end:
        return None
    return Span(start, end, span.label, span.score, span.source)


def _begins_nothing(covered: str) -> bool:
    return covered[0] in _NEVER_FIRST or (covered[0] == "(" and ")" not in covered)


def _ends_nothing(covered: str) -> bool:
    if covered[-1] == ")":
        return "(" not in covered
    return covered[-1] in _NEVER_LAST or _FULL_STOP.search(covered) is not None


def _joins(between: str) -> bool:
    if len(between) > _LONGEST_GAP:
        return False
    return between.count("\n") <= 1 and all(letter in _JOINING for letter in between)


def unite(own: Sequence[Span], others: Sequence[Span]) -> list[Span]:
    """Return spans of a network beside those of another detector, which tells categories apart that
    the network does not.

    A span within one of the other detector adds nothing and is left out.

    Args:
        own: Of the network.
        others: Of the other detector, kept.
    """
    ordered = sorted(others, key=lambda other: other.start)
    starts = [other.start for other in ordered]
    ends = list(accumulate((other.end for other in ordered), max))
    alone = [
        span
        for span in own
        if not (before := bisect_right(starts, span.start)) or ends[before - 1] < span.end
    ]
    return [*name_spans(alone, others), *others]


def name_spans(own: Sequence[Span], others: Sequence[Span]) -> list[Span]:
    """Return spans of a network, each with the category of a span of its own class that it
    overlaps.

    A record number is told from its label, not from its digits.

    Args:
        own: Of the network, in order.
        others: Of another detector, which tells categories apart that the network does not.
    """
    found = []
    waiting = deque(sorted(others, key=lambda other: other.start))
    near: list[Span] = []
    for span in own:
        while waiting and waiting[0].start < span.end:
            near.append(waiting.popleft())
        near = [other for other in near if other.end > span.start]
        finer = (other.label for other in near if merge_category(other.label) is span.label)
        label = next(finer, span.label)
        found.append(Span(span.start, span.end, label, span.score, span.source))
    return found


def veto_spans(spans: Sequence[Span], scores: WordScores, veto: float) -> list[Span]:
    """Return the spans of another detector without those that a network holds for nearly
    impossible.

    Args:
        spans: Of the other detector.
        scores: Of the network.
        veto: A span of ``MAY_BE_VETOED`` is left out where none of its words has this probability.
    """
    starts = np.array([start for start, _ in scores.words], dtype=np.int64)
    ends = np.array([end for _, end in scores.words], dtype=np.int64)
    left = []
    for span in spans:
        first = int(np.searchsorted(ends, span.start, side="right"))
        stop = int(np.searchsorted(starts, span.end, side="left"))
        is_doubted = first < stop and scores.marked[first:stop].max() < veto
        if not is_doubted or span.label not in MAY_BE_VETOED:
            left.append(span)
    return left
