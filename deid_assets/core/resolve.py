"""From every detector's predictions on a note to spans that do not overlap.

Overlap policies say which count; then spans grow to the borders of words, so that no half word is
left in a released text.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Self

from deid_assets.core.errors import ConfigError
from deid_assets.core.note import Note
from deid_assets.core.phi import SEVERITY, Phi
from deid_assets.core.span import DisjointSpans, Span, SpanSet

MERGED_SOURCE = "merged"

_NUMBER_SEPARATORS = frozenset(".,/:")
_LETTER, _DIGIT, _NEITHER = "letter", "digit", ""


@dataclass(frozen=True, slots=True)
class Ensemble:
    """The detectors whose spans count, the first having the highest priority.

    Args:
        sources: Detector names, in order of priority.
        weights: Trust in a detector for the ``score_weighted`` policy; 1 where not given.
        yielding: Categories that a redaction policy may leave in the text (``Policy.may_leave``).
            They never name a range that also has another category in it: what one detector takes
            for a country may be a surname.
        equals: No source has priority over another; length and score decide.

    Raises:
        ConfigError: No detector, one named twice, or a weight that is not positive.
    """

    sources: Sequence[str]
    weights: Mapping[str, float] = field(default_factory=dict)
    yielding: frozenset[Phi] = frozenset()
    equals: bool = False

    @classmethod
    def of_equals(cls, spans: Iterable[Span], *, yielding: frozenset[Phi] = frozenset()) -> Self:
        """Return the ensemble of all sources of some spans, for where nobody said which of them has
        priority.
        """
        return cls(
            sorted({span.source for span in spans}) or ["none"], yielding=yielding, equals=True
        )

    def __post_init__(self) -> None:
        if not self.sources or len(set(self.sources)) < len(self.sources):
            raise ConfigError("the ensemble needs at least one detector, each named once")
        if unknown := set(self.weights) - set(self.sources):
            raise ConfigError(
                f"weights for {', '.join(sorted(unknown))}, which the ensemble does not name"
            )
        if any(weight <= 0 for weight in self.weights.values()):
            raise ConfigError("the weights of an ensemble must be greater than 0")

    def rank(self, span: Span) -> tuple[int, int, float, int, int, str]:
        """Sort key: priority of the source.

        Then the longer, the surer, the earlier span; then the severer category.
        """
        return (
            self._order(span.source),
            span.start - span.end,
            -span.score,
            span.start,
            SEVERITY[span.label],
            span.native_label,
        )

    def _order(self, source: str) -> int:
        """Return the place of a source; one that is not named comes last."""
        if self.equals:
            return 0
        if source not in self.sources:
            return len(self.sources)
        return self.sources.index(source)

    def yields(self, span: Span) -> bool:
        """Whether the span's category gives way to any other."""
        return span.label in self.yielding

    def weight(self, source: str) -> float:
        """Trust in a detector."""
        return self.weights.get(source, 1.0)


def resolve(
    note: Note, predictions: Iterable[SpanSet], *, policy: str = "union", ensemble: Ensemble
) -> DisjointSpans:
    """Return disjoint spans for a note from the predictions of its ensemble.

    The policies are ``union`` (every character that any detector marked; an overlapping cluster
    becomes one span with the label of its highest-priority member, which is one that does not yield
    where there is one), ``priority`` (whole spans, higher priority first, what overlaps them is
    dropped), ``majority`` (characters marked by more than half of the ensemble), ``intersection``
    (characters marked by all) and ``score_weighted`` (characters whose weighted mean score over the
    ensemble is at least 0.5). Under every policy, spans then grow to the borders of the words that
    they begin or end inside, as ``snap_to_words`` has it.

    Raises:
        ConfigError: Unknown policy.
        DigestError: A prediction was made for another text.
    """
    if policy not in POLICIES:
        raise ConfigError(f"unknown overlap policy {policy!r}; choose one of {', '.join(POLICIES)}")
    spans = [
        span
        for prediction in predictions
        for span in prediction.check_against(note)
        if span.source in ensemble.sources
    ]
    return DisjointSpans.of(note, snap_to_words(note.text, POLICIES[policy](spans, ensemble)))


def _union(spans: Sequence[Span], ensemble: Ensemble) -> list[Span]:
    merged: list[Span] = []
    cluster: list[Span] = []
    end = -1
    for span in sorted(spans):
        if cluster and span.start >= end:
            merged.append(_lead(cluster, ensemble))
            cluster = []
        cluster.append(span)
        end = max(end, span.end) if len(cluster) > 1 else span.end
    return [*merged, _lead(cluster, ensemble)] if cluster else merged


def _lead(cluster: Sequence[Span], ensemble: Ensemble) -> Span:
    leader = (
        cluster[0]
        if len(cluster) == 1
        else min(cluster, key=lambda span: (ensemble.yields(span), ensemble.rank(span)))
    )
    return replace(leader, start=cluster[0].start, end=max(span.end for span in cluster))


def _priority(spans: Sequence[Span], ensemble: Ensemble) -> list[Span]:
    chosen: list[Span] = []  # disjoint and sorted, so only the two neighbours can overlap
    for span in sorted(spans, key=ensemble.rank):
        at = bisect_left(chosen, span)
        if not any(span.overlaps(other) for other in chosen[max(0, at - 1) : at + 1]):
            chosen.insert(at, span)
    return chosen


def _vote(
    accept: Callable[[Mapping[str, float], Ensemble], bool],
) -> Callable[[Sequence[Span], Ensemble], list[Span]]:
    """Return a policy that decides on each stretch between two span boundaries by its detectors'
    best scores.
    """

    def policy(spans: Sequence[Span], ensemble: Ensemble) -> list[Span]:
        stretches: list[Span] = []
        for start, end, over in _stretches(spans):
            scores: dict[str, float] = {}
            for span in over:
                scores[span.source] = max(span.score, scores.get(span.source, 0.0))
            if accept(scores, ensemble):
                leader = min(
                    over,
                    key=lambda span: (
                        ensemble.yields(span),
                        -_votes(over, span.label),
                        ensemble.rank(span),
                    ),
                )
                stretches.append(replace(leader, start=start, end=end))
        return _join(stretches)

    return policy


def _stretches(spans: Sequence[Span]) -> Iterable[tuple[int, int, list[Span]]]:
    """Yield the ranges between neighbouring boundaries with the spans that cover each.

    Linear in what is open.
    """
    ordered = sorted(spans)
    bounds = sorted({bound for span in ordered for bound in (span.start, span.end)})
    opened, active = 0, list[Span]()
    for start, end in pairwise(bounds):
        active = [span for span in active if span.end > start]
        while opened < len(ordered) and ordered[opened].start <= start:
            active.append(ordered[opened])
            opened += 1
        if active:
            yield start, end, active


def _votes(over: Sequence[Span], label: Phi) -> int:
    return len({span.source for span in over if span.label is label})


def _join(stretches: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for span in stretches:
        if joined and joined[-1].end == span.start and joined[-1].label is span.label:
            joined[-1] = replace(joined[-1], end=span.end, score=max(joined[-1].score, span.score))
        else:
            joined.append(span)
    return joined


def _by_majority(scores: Mapping[str, float], ensemble: Ensemble) -> bool:
    return 2 * len(scores) > len(ensemble.sources)


def _by_all(scores: Mapping[str, float], ensemble: Ensemble) -> bool:
    return len(scores) == len(ensemble.sources)


def _by_score(scores: Mapping[str, float], ensemble: Ensemble) -> bool:
    total = sum(ensemble.weight(source) for source in ensemble.sources)
    return sum(ensemble.weight(source) * score for source, score in scores.items()) / total >= 0.5


POLICIES: Mapping[str, Callable[[Sequence[Span], Ensemble], list[Span]]] = {
    "union": _union,
    "priority": _priority,
    "majority": _vote(_by_majority),
    "intersection": _vote(_by_all),
    "score_weighted": _vote(_by_score),
}


def snap_to_words(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the spans, none of them smaller, grown to the borders of the words that they begin or
    end inside.

    A word is a run of letters with their combining marks, or of digits with single ``. , / :``
    between them. Letters and digits that touch are two words where they change once (``70jährige``,
    ``12/12/2012REPORT``), and one where they change more often (``f1504dhulz``); an underscore or
    an invisible character inside joins. Apostrophes and hyphens divide, so that the ``'s`` of
    ``Lee's`` and the syndrome of ``Parkinson-Syndrom`` stay. UAX #29 differs in that it joins
    letters and digits always, and letters over an apostrophe.

    Args:
        text: What the spans are of.
        spans: Disjoint and sorted. A span grows up to its neighbour, never over it.
    """
    grown: list[Span] = []
    for index, span in enumerate(spans):
        floor = grown[-1].end if grown else 0
        ceiling = spans[index + 1].start if index + 1 < len(spans) else len(text)
        start, end = span.start, span.end
        while start > floor and inside_word(text, start):
            start -= 1
        while end < ceiling and inside_word(text, end):
            end += 1
        while start < span.start and not _kind(text[start]):
            # what joins a word to its neighbour belongs to neither
            start += 1
        while end > span.end and not _kind(text[end - 1]):
            end -= 1
        grown.append(replace(span, start=start, end=end))
    return grown


def inside_word(text: str, at: int) -> bool:
    """Whether the characters on both sides of an offset belong to one word."""
    if not 0 < at < len(text):
        return False
    left, right = _kind(text[at - 1]), _kind(text[at])
    if left and right:
        return left == right or _changes_again(text, at)
    if left or right:
        return _joins(text, at if left else at - 1)
    return False


def _kind(character: str) -> str:
    if character.isalpha() or unicodedata.category(character)[0] == "M":
        return _LETTER
    return _DIGIT if character.isalnum() else _NEITHER


def _changes_again(text: str, at: int) -> bool:
    """Whether letters and digits that change at an offset also change elsewhere in their run."""
    first, left = at - 1, _kind(text[at - 1])
    while first > 0 and _kind(text[first - 1]) == left:
        first -= 1
    last, right = at, _kind(text[at])
    while last + 1 < len(text) and _kind(text[last + 1]) == right:
        last += 1
    return (first > 0 and _kind(text[first - 1]) != _NEITHER) or (
        last + 1 < len(text) and _kind(text[last + 1]) != _NEITHER
    )


def _joins(text: str, at: int) -> bool:
    """Whether a character that is no letter or digit stands inside one word."""
    if not 0 < at < len(text) - 1:
        return False
    left, right = _kind(text[at - 1]), _kind(text[at + 1])
    if text[at] in _NUMBER_SEPARATORS:
        return left == right == _DIGIT
    return bool(left and right) and (text[at] == "_" or unicodedata.category(text[at]) == "Cf")
