"""One gold from several annotators, by majority; where there is none, a person decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from deid_assets.extending import ConfigError, Phi, Span, SpanSet, check_same_text
from deid_evaluation.capture_recapture import Marked, clusters

SOURCE = "adjudicated"


@dataclass(frozen=True, slots=True)
class Tie:
    """A place on which annotators do not agree by majority.

    Args:
        note_id: Where.
        start: First code point that any of them marks.
        end: One past the last.
        annotations: Annotator to the spans (start, end, category) marked there; those who marked
            nothing have none.
    """

    note_id: str
    start: int
    end: int
    annotations: Mapping[str, tuple[tuple[int, int, str], ...]] = field(default_factory=dict)


def adjudicate(annotators: Mapping[str, SpanSet]) -> tuple[SpanSet, list[Tie]]:
    """Return the spans of one note that have a majority, and the ties.

    A span has a majority where more than half of the annotators marked it alike. Spans that overlap
    are one place. A place is settled where some span of it, boundaries and category, has a
    majority, or where more than half marked nothing there. Else it is a tie, and none of its spans
    is in the result: do not take the note for annotated before a person has decided.

    Raises:
        ConfigError: There are fewer than two annotators.
        DigestError: Two annotators marked different notes or texts.
    """
    if len(annotators) < 2:
        raise ConfigError(f"a majority needs at least two annotators, got {len(annotators)}")
    first, *others = annotators.values()
    check_same_text(first, *others)
    marked: set[Marked] = {
        (span.start, span.end, at, span.label.value)
        for at, spans in enumerate(annotators.values())
        for span in spans.spans
    }
    spans: list[Span] = []
    ties = []
    for cluster in clusters(marked):
        agreed = _find_agreed(cluster, len(annotators))
        spans += [Span(start, end, Phi(label), source=SOURCE) for start, end, label in agreed]
        silent = len(annotators) - len({at for _, _, at, _ in cluster})
        if not agreed and 2 * silent <= len(annotators):
            ties.append(_tie(first.note_id, cluster, list(annotators)))
    return SpanSet(first.note_id, first.digest, tuple(spans)), ties


def _find_agreed(cluster: list[Marked], annotators: int) -> list[tuple[int, int, str]]:
    """Return the spans with a majority.

    Where they overlap, the one with most votes is returned, then the longest.
    """
    votes = Counter((start, end, label) for start, end, _, label in cluster)
    agreed = [place for place, count in votes.items() if 2 * count > annotators]
    kept: list[tuple[int, int, str]] = []
    for place in sorted(agreed, key=lambda one: (-votes[one], one[0] - one[1], one)):
        if not any(place[0] < other[1] and other[0] < place[1] for other in kept):
            kept.append(place)
    return kept


def _tie(note_id: str, cluster: list[Marked], names: list[str]) -> Tie:
    annotations = {
        name: tuple(sorted((start, end, label) for start, end, who, label in cluster if who == at))
        for at, name in enumerate(names)
    }
    return Tie(note_id, cluster[0][0], max(end for _, end, _, _ in cluster), annotations)
