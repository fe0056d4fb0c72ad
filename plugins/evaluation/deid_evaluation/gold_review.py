"""Where the gold may be wrong.

What many systems find and it does not have, or has under another label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from deid_assets.extending import ConfigError, DigestError, Phi, Profile, SpanSet
from deid_evaluation.capture_recapture import Marked, clusters
from deid_evaluation.span_errors import Place, places, predictions


@dataclass(frozen=True, slots=True)
class AnnotationDoubt:
    """A place at which the gold may be wrong.

    Args:
        note_id: Where.
        start: First code point that enough systems mark.
        end: One past the last.
        label: What most of them say; of several the first in the alphabet.
        gold_label: What the gold says of an overlapping span; ``None`` where it is silent.
        systems: Names of those that mark any of it, sorted.
        score: The mean of their highest scores, in [0, 1].
    """

    note_id: str
    start: int
    end: int
    label: str
    gold_label: str | None
    systems: tuple[str, ...]
    score: float


def doubts(
    gold: SpanSet,
    by_system: Mapping[str, SpanSet],
    *,
    profile: Profile,
    scope: frozenset[Phi] | None = None,
    agreeing: int | None = None,
) -> Iterator[AnnotationDoubt]:
    """Yield places of one note where systems agree against the gold, in order.

    Either the gold is silent over the whole of a place that ``agreeing`` systems mark, or as many
    name another label for a span of it.

    Args:
        gold: What the annotators marked.
        by_system: System to its spans.
        profile: Labels to compare under.
        scope: Categories that the gold annotates; of others it may be silent.
        agreeing: How many systems must agree; more than half of them, and at least 2, where not
            given.

    Raises:
        ConfigError: ``agreeing`` is below 1 or above the number of systems, or there are fewer than
            two systems and ``agreeing`` is not given.
        DigestError: Spans are of another note or another text.
    """
    needed = quorum(len(by_system), agreeing)
    _check_text(gold, by_system)
    marked, scores = _mark(by_system.values(), profile, scope)
    golds, names = places(gold, profile), list(by_system)
    for cluster in clusters(marked):
        doubt = _doubt(cluster, golds, scores, needed)
        if doubt is not None:
            start, end, label, gold_label, who, score = doubt
            yield AnnotationDoubt(
                gold.note_id,
                start,
                end,
                label,
                gold_label,
                tuple(sorted(names[at] for at in who)),
                score,
            )


def _check_text(gold: SpanSet, by_system: Mapping[str, SpanSet]) -> None:
    """Check that all spans are of the text that was annotated.

    Raises:
        DigestError: Some are not.
    """
    for name, spans in by_system.items():
        if (spans.note_id, spans.digest) != (gold.note_id, gold.digest):
            raise DigestError(
                f"note {gold.note_id!r}: spans of {name!r} are of note {spans.note_id!r}, digest"
                f" {spans.digest[:12]}; detect again on the text that was annotated"
            )


def _mark(
    systems: Iterable[SpanSet], profile: Profile, scope: frozenset[Phi] | None
) -> tuple[list[Marked], dict[tuple[int, int, int], float]]:
    """Return what systems mark, and the highest score by system, start and end."""
    marked: list[Marked] = []
    scores: dict[tuple[int, int, int], float] = {}
    for at, spans in enumerate(systems):
        for found in predictions(spans, profile, scope=scope):
            if found.counts:
                marked.append((found.place[0], found.place[1], at, found.place[2]))
                key = (at, found.place[0], found.place[1])
                scores[key] = max(found.score, scores.get(key, 0.0))
    return marked, scores


def quorum(systems: int, agreeing: int | None) -> int:
    """Return how many of the systems must agree.

    Raises:
        ConfigError: As for ``doubts``.
    """
    if agreeing is None:
        if systems < 2:
            raise ConfigError(
                "annotations are doubted where systems agree; give at least two, or say how many"
                " must"
            )
        return max(2, systems // 2 + 1)
    if not 1 <= agreeing <= systems:
        raise ConfigError(f"{agreeing} of {systems} systems cannot agree; ask for 1 to {systems}")
    return agreeing


_Found = tuple[int, int, str, str | None, set[int], float]


def _doubt(
    cluster: list[Marked],
    golds: list[Place],
    scores: Mapping[tuple[int, int, int], float],
    needed: int,
) -> _Found | None:
    core = _core(cluster, needed)
    if core is None:
        return None
    start, end = core
    over = [span for span in cluster if span[0] < end and start < span[1]]
    best: dict[int, float] = {}
    for first, last, at, _ in over:
        best[at] = max(best.get(at, 0.0), scores[at, first, last])
    votes = Counter(label for _, label in {(at, label) for _, _, at, label in over})
    label = min(votes, key=lambda name: (-votes[name], name))
    named = {gold[2] for gold in golds if gold[0] < end and start < gold[1]}
    if named and (label in named or votes[label] < needed):
        return None
    gold_label = min(named) if named else None
    return start, end, label, gold_label, set(best), sum(best.values()) / len(best)


def _core(cluster: list[Marked], needed: int) -> tuple[int, int] | None:
    """Return the first longest stretch that enough systems mark."""
    bounds = sorted({bound for span in cluster for bound in span[:2]})
    stretches: list[list[int]] = []
    for start, end in pairwise(bounds):
        if len({at for first, last, at, _ in cluster if first <= start and end <= last}) >= needed:
            if stretches and stretches[-1][1] == start:
                stretches[-1][1] = end
            else:
                stretches.append([start, end])
    if not stretches:
        return None
    start, end = max(stretches, key=lambda stretch: stretch[1] - stretch[0])
    return start, end
