"""What a report is made of: annotated notes, systems with their spans, and how places are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from deid_assets.extending import InputError, Note, OverlapError, Phi, Profile, SpanSet
from deid_assets.extending.scoring import AnnotatedNotes, pair
from deid_evaluation.shapes import shape

Json = dict[str, Any]
Pair = tuple[SpanSet, SpanSet]

GROUP_KEYS = (
    "kind",
    "note_type",
    "type",
    "specialty",
    "site",
    "sex",
    "gender",
    "origin",
    "name_origin",
)
"""Keys of ``Note.meta`` that make subgroups without being asked for, where they have few values."""
FEW_VALUES = 20
"""Values above which a key makes no subgroups unless it is asked for: it may be an identifier."""
CONTEXT_CHARS = 40
"""Code points shown on either side of a place in a restricted report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledNotes(AnnotatedNotes):
    """Annotated notes, under a profile.

    Args:
        notes: As in ``AnnotatedNotes``.
        gold: As there.
        profile: Labels to count under.
        scope: Categories that the gold annotates, or ``None`` for all.
        overlaps_allowed: Leave out what needs gold without overlaps in place of refusing it.

    Raises:
        InputError: Notes and gold are not of the same notes, or no gold span counts.
        OverlapError: Gold spans overlap and may not.
    """

    profile: Profile
    scope: frozenset[Phi] | None = None
    overlaps_allowed: bool = False
    has_overlaps: bool = field(init=False)

    def __post_init__(self) -> None:
        if self.notes.keys() != self.gold.keys():
            raise InputError(
                "notes and annotations are not of the same notes; give the note of every annotation"
            )
        if not any(
            self.profile.label_of(span.label) for spans in self.gold.values() for span in spans
        ):
            raise InputError(
                f"the annotations hold no span under profile {self.profile.name!r} in"
                f" {len(self.gold)} notes, so that no recall is defined; score against annotated"
                " notes, or under another profile"
            )
        overlap = next(filter(None, (self._overlap(spans) for spans in self.gold.values())), None)
        object.__setattr__(self, "has_overlaps", overlap is not None)
        if overlap and not self.overlaps_allowed:
            raise OverlapError(overlap)

    def pairs(self, spans: Mapping[str, SpanSet]) -> list[Pair]:
        """Return gold and predictions of every note.

        Categories that the profile does not count are left out.

        Raises:
            InputError: The two are not of the same notes.
        """
        return list(pair(self.gold.values(), map(self._keep_counted, spans.values())))

    def keep_in_scope(self, pairs: Sequence[Pair]) -> Iterator[Pair]:
        """Yield pairs without the predictions that the gold cannot judge."""
        if self.scope is None:
            yield from pairs
            return
        labels = {self.profile.label_of(category) for category in self.scope}
        for gold, pred in pairs:
            kept = tuple(span for span in pred if self.profile.label_of(span.label) in labels)
            yield gold, SpanSet(pred.note_id, pred.digest, kept)

    def _keep_counted(self, spans: SpanSet) -> SpanSet:
        kept = tuple(span for span in spans if span.label in self.profile.labels)
        return spans if len(kept) == len(spans) else SpanSet(spans.note_id, spans.digest, kept)

    def _overlap(self, spans: SpanSet) -> str | None:
        counted = sorted(
            {
                (span.start, span.end, span.label)
                for span in spans
                if span.label in self.profile.labels
            }
        )
        for (start, end, _), (other, other_end, _) in pairwise(counted):
            if other < end:
                return (
                    f"note {spans.note_id!r}: annotated spans [{start}, {end}) and [{other},"
                    f" {other_end}) overlap; fix the annotations, or allow overlaps and do without"
                    " the scores that need one label per token"
                )
        return None


@dataclass(frozen=True, slots=True)
class System:
    """A system and its spans.

    Args:
        name: How it is shown.
        spans: Note id to its spans.
        members: Names of the systems whose union it is; empty for one that stands by itself.
        elsewhere: Spans it has in notes that are not annotated.
    """

    name: str
    spans: Mapping[str, SpanSet]
    members: tuple[str, ...] = ()
    elsewhere: int = 0


@dataclass(frozen=True, slots=True)
class Shown:
    """Display of a place in a note: its shape and length, and its text only where that is allowed.

    Args:
        notes: Note id to note.
        with_text: Whether text is shown.
    """

    notes: Mapping[str, Note] = field(repr=False)
    with_text: bool = False

    def at(self, note_id: str, start: int, end: int) -> Json:
        """Return what is shown of a place."""
        text = self.notes[note_id].text
        shown: Json = {"shape": shape(text[start:end]), "length": end - start}
        if self.with_text:
            before, after = (
                text[max(0, start - CONTEXT_CHARS) : start],
                text[end : end + CONTEXT_CHARS],
            )
            shown |= {"before": before, "text": text[start:end], "after": after}
        return shown


def groups_of(notes: Mapping[str, Note], keys: Sequence[str]) -> dict[str, dict[str, str | None]]:
    """Return key to note id to group.

    By language, by ``GROUP_KEYS`` that have few values, and by the keys asked for.

    Raises:
        InputError: No note has a key that was asked for.
    """
    found: dict[str, dict[str, str | None]] = {
        "lang": {note_id: note.lang for note_id, note in notes.items()}
    }
    for key in dict.fromkeys([*GROUP_KEYS, *keys]):
        values = {note_id: note.meta.get(key) for note_id, note in notes.items()}
        distinct = len({value for value in values.values() if value})
        if key in keys and key != "lang" and not distinct:
            present = sorted(Counter(name for note in notes.values() for name in note.meta)) or [
                "none"
            ]
            raise InputError(
                f"no note has {key!r} in its meta; the keys are {', '.join(present)}, and lang"
            )
        if key != "lang" and distinct and (key in keys or 1 < distinct <= FEW_VALUES):
            found[key] = values
    return found
