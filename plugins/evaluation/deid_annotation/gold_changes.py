"""What a correction of the gold changed, span by span."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from deid_assets.extending import DigestError, InputError, Profile, SpanSet
from deid_evaluation.span_errors import Place, places


class ChangeKind(StrEnum):
    """Outcome of a span."""

    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"
    """Same label, other boundaries."""
    RELABELLED = "relabelled"
    """Other label, whatever the boundaries."""


@dataclass(frozen=True, slots=True)
class SpanChange:
    """A span that was corrected.

    Args:
        note_id: Where.
        kind: What became of it.
        before: The span as it was; ``None`` where it was added.
        after: The span as it is; ``None`` where it was removed.
    """

    note_id: str
    kind: ChangeKind
    before: Place | None
    after: Place | None


def gold_changes(before: SpanSet, after: SpanSet, *, profile: Profile) -> list[SpanChange]:
    """Return what a correction changed in one note, in order.

    Raises:
        DigestError: The two are not of the same note and text.
    """
    if (before.note_id, before.digest) != (after.note_id, after.digest):
        raise DigestError(
            f"note {before.note_id!r}: the correction is of note {after.note_id!r}, digest"
            f" {after.digest[:12]}; correct spans, not the text"
        )
    old, new = places(before, profile), places(after, profile)
    gone = [place for place in old if place not in set(new)]
    come = [place for place in new if place not in set(old)]
    changes = []
    for place in gone:
        heir = max(
            (one for one in come if _common(place, one)),
            key=lambda one: _likeness(place, one),
            default=None,
        )
        if heir is None:
            changes.append(SpanChange(before.note_id, ChangeKind.REMOVED, place, None))
            continue
        come.remove(heir)
        kind = ChangeKind.MOVED if heir[2] == place[2] else ChangeKind.RELABELLED
        changes.append(SpanChange(before.note_id, kind, place, heir))
    changes += [SpanChange(before.note_id, ChangeKind.ADDED, None, place) for place in come]
    return sorted(changes, key=lambda change: change.after or change.before or (0, 0, ""))


def corrections(
    before: Mapping[str, SpanSet], after: Mapping[str, SpanSet], *, profile: Profile
) -> Iterator[SpanChange]:
    """Yield what a correction changed in all notes.

    Raises:
        InputError: A note is in one of the two alone.
        DigestError: A note has another text.
    """
    _same_notes(before.keys(), after.keys())
    for note_id, spans in before.items():
        yield from gold_changes(spans, after[note_id], profile=profile)


def _same_notes(before: Iterable[str], after: Iterable[str]) -> None:
    old, new = set(before), set(after)
    if strangers := sorted(old ^ new):
        raise InputError(
            f"{len(strangers)} notes are in one of the two golds alone, the first is"
            f" {strangers[0]!r}; give the correction of every note, unchanged ones too"
        )


def _common(one: Place, other: Place) -> int:
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def _likeness(one: Place, other: Place) -> tuple[bool, bool, int]:
    return one[:2] == other[:2], one[2] == other[2], _common(one, other)
