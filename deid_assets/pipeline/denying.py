"""Deny: a value that somebody forbade is covered wherever it stands, whoever's note it is. Allow:
what people found to be a false alarm is left, where nothing says otherwise.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from deid_assets.core.note import Note
from deid_assets.core.phi import SEVERITY, Phi
from deid_assets.core.span import DisjointSpans, Span, SpanSet
from deid_assets.pipeline.batch import Batch, Hits, Predictions
from deid_assets.pipeline.leaks import LeakPlace

DENIED = "denied"
"""Source of the spans that a deny rule covers; no detector may have this name."""
CERTAIN = frozenset({"known_identity", DENIED})
"""Sources that know what they mark: no rule leaves what one of them marks."""
_JOINING = re.compile(r"[ \t\u00a0.,'\u2019-]{0,3}")
"""What stands between the parts of one name or number."""


@dataclass(frozen=True, slots=True)
class Deny:
    """A value that somebody forbade is covered wherever it stands.

    Args:
        places: Note id to where such values stand.
        categories: Name of a value to its category.
        yielding: Categories that one of the redaction policies may leave in the text: no such span
            hides a value.
    """

    places: Mapping[str, Sequence[LeakPlace]] = field(repr=False)
    categories: Mapping[str, Phi] = field(repr=False)
    yielding: frozenset[Phi]
    name: ClassVar[str] = "deny"

    def __str__(self) -> str:
        return f"{len(self.categories):,} values that must be in no release"

    def run(self, batch: Batch) -> Batch:
        """Return the batch with these values covered."""
        wider = {
            note.note_id: self._cover(note, batch.spans[note.note_id])
            for note in batch.notes
            if note.note_id in batch.spans and self.places.get(note.note_id)
        }
        return replace(batch, spans={**batch.spans, **wider})

    def _cover(self, note: Note, found: DisjointSpans) -> DisjointSpans:
        """Return the spans of a note with its denied values; what may be left gives way."""
        ranges = [
            Span(
                place.start,
                place.end,
                choose_category(self.categories[place.name], self.yielding),
                source=DENIED,
                native_label=place.name,
            )
            for place in self.places[note.note_id]
        ]
        given_way = [
            span
            for span in found
            if span.label in self.yielding and any(map(span.overlaps, ranges))
        ]
        firm = [span for span in found if span not in given_way]
        more = list[Span]()
        for one in sorted(_join([*ranges, *given_way])):
            more += _outside(one, firm, note.text)
        return DisjointSpans(found.note_id, found.digest, (*firm, *more))


def choose_category(category: Phi, yielding: Collection[Phi]) -> Phi:
    """Return the category, or one that every policy replaces where a policy may leave it."""
    others = sorted(Phi, key=SEVERITY.__getitem__)
    return next((one for one in (category, Phi.OTHER, *others) if one not in yielding), category)


def _join(ranges: Sequence[Span]) -> list[Span]:
    """Return ranges that overlap as one, with the category of the denied value in it."""
    joined: list[Span] = []
    for one in sorted(ranges):
        if not joined or one.start >= joined[-1].end:
            joined.append(one)
            continue
        last = joined[-1]
        denied = last if last.source == DENIED else one
        joined[-1] = replace(denied, start=last.start, end=max(last.end, one.end))
    return joined


def _outside(one: Span, firm: Sequence[Span], text: str) -> list[Span]:
    """Return the pieces of a range that no span covers, but for blanks and punctuation."""
    pieces: list[Span] = []
    cursor = one.start
    for span in sorted(firm):
        if span.end <= cursor or span.start >= one.end:
            continue
        if span.start > cursor:
            pieces.append(replace(one, start=cursor, end=span.start))
        cursor = span.end
    if cursor < one.end:
        pieces.append(replace(one, start=cursor))
    return [piece for piece in pieces if any(map(str.isalnum, text[piece.start : piece.end]))]


@dataclass(frozen=True, slots=True)
class AllowedValue:
    """A value that people found to be no identifier.

    Args:
        rule: Name of its rule.
        value: As it is spelt; another spelling is another value.
        lang: Of the notes in which it is left; empty for notes of no known language.
        said: Detectors that took it for an identifier, with the category that each gave it.
    """

    rule: str
    value: str = field(repr=False)
    lang: str
    said: frozenset[tuple[str, Phi]]


@dataclass(frozen=True, slots=True)
class AllowedPlace:
    """A place where a value that is left stands.

    Args:
        start: First code point.
        end: One past the last.
        rules: The names of its rules.
        said: Detectors that may have taken it for an identifier, with the category.
    """

    start: int
    end: int
    rules: frozenset[str]
    said: frozenset[tuple[str, Phi]]

    def is_vetoed(self, text: str, predictions: Iterable[Span]) -> bool:
        """Whether a detector says something here that no rule speaks of: something else, more than
        the value, or, of the same kind, what stands beside it, as the first name before a surname.

        Args:
            text: Of the note.
            predictions: Of all detectors on it.
        """
        return any(self._is_against(text, span) for span in predictions)

    def _is_against(self, text: str, span: Span) -> bool:
        if span.end <= self.start or self.end <= span.start:
            gap = text[span.end : self.start] or text[self.end : span.start]
            kinds = {label for _, label in self.said}
            return span.label in kinds and _JOINING.fullmatch(gap) is not None
        beyond = text[span.start : self.start] + text[self.end : span.end]
        is_known = (span.source, span.label) in self.said and span.source not in CERTAIN
        return not is_known or any(map(str.isalnum, beyond))


class AllowedValues:
    """Values that are left, looked for in their spelling but for blanks.

    Args:
        values: Some of which may be alike, and have several categories.
    """

    def __init__(self, values: Iterable[AllowedValue]) -> None:
        self._by_spelling: dict[tuple[str, str], list[AllowedValue]] = defaultdict(list)
        spellings: dict[str, set[str]] = defaultdict(set)
        for one in values:
            spelt = " ".join(one.value.split())
            self._by_spelling[one.lang, spelt].append(one)
            spellings[one.lang].add(spelt)
        self._patterns = {lang: _pattern_of(found) for lang, found in spellings.items()}
        self._in_any_case = {
            one.rule: _pattern_of([spelt], re.IGNORECASE)
            for (_, spelt), same in self._by_spelling.items()
            for one in same
        }

    def __bool__(self) -> bool:
        return bool(self._by_spelling)

    @property
    def rules(self) -> frozenset[str]:
        """Names of the rules."""
        return frozenset(one.rule for same in self._by_spelling.values() for one in same)

    def rules_in(self, text: str) -> frozenset[str]:
        """Return the rules whose values stand in a text, in any language and case."""
        return frozenset(rule for rule, one in self._in_any_case.items() if one.search(text))

    def find_annotated(self, note: Note, spans: Iterable[Span]) -> frozenset[str]:
        """Return the rules whose values people annotated in a note, in any language and case."""
        ranges = list(spans)
        found = frozenset[str]()
        for rule, pattern in self._in_any_case.items() if ranges else ():
            for place in pattern.finditer(note.text):
                if any(one.start < place.end() and place.start() < one.end for one in ranges):
                    found |= {rule}
                    break
        return found

    def places(self, note: Note) -> Iterator[AllowedPlace]:
        """Yield where one of the values stands in a note, as whole words."""
        lang = note.lang or ""
        if lang not in self._patterns:
            return
        for found in self._patterns[lang].finditer(note.text):
            same = self._by_spelling[lang, " ".join(found.group().split())]
            rules = frozenset(one.rule for one in same)
            said = frozenset[tuple[str, Phi]]().union(*(one.said for one in same))
            yield AllowedPlace(*found.span(), rules, said)


def _pattern_of(spellings: Collection[str], flags: int = 0) -> re.Pattern[str]:
    longest_first = sorted(spellings, key=lambda one: (-len(one), one))
    words = (r"\s+".join(map(re.escape, one.split())) for one in longest_first)
    return re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)", flags)


def find_allowed_places(
    notes: Iterable[Note], values: AllowedValues, predictions: Predictions
) -> dict[str, list[AllowedPlace]]:
    """Return, by note id, where a value may be left: no detector says there what no rule knows of.

    Args:
        notes: The notes.
        values: The values.
        predictions: Of the ensemble.
    """
    found: dict[str, list[AllowedPlace]] = {}
    for note in notes if values else ():
        places = list(values.places(note))
        if not places:
            continue
        outcomes = [of[note.note_id] for of in predictions.values() if note.note_id in of]
        said = [span for one in outcomes if isinstance(one, SpanSet) for span in one]
        free = [place for place in places if not place.is_vetoed(note.text, said)]
        if free:
            found[note.note_id] = free
    return found


@dataclass(frozen=True, slots=True)
class Allow:
    """What people found to be a false alarm is left.

    It runs after resolve and before spread, so that a value that follows from what stands elsewhere
    in the patient's notes is covered all the same.

    Args:
        places: Note id to where such values stand.
    """

    places: Mapping[str, Sequence[AllowedPlace]] = field(repr=False)
    name: ClassVar[str] = "allow"

    def __str__(self) -> str:
        return (
            f"{sum(map(len, self.places.values())):,} places that people found to be no identifier"
        )

    def run(self, batch: Batch) -> Batch:
        """Return the batch without the spans that are such a value and nothing more."""
        left = {
            note.note_id: self._leave(note, batch.spans[note.note_id])
            for note in batch.notes
            if note.note_id in batch.spans and self.places.get(note.note_id)
        }
        return replace(batch, spans={**batch.spans, **left})

    def _leave(self, note: Note, found: DisjointSpans) -> DisjointSpans:
        ranges = {
            (_trim(note.text, place.start, place.end), label)
            for place in self.places[note.note_id]
            for _, label in place.said
        }
        kept = [
            span
            for span in found
            if (_trim(note.text, span.start, span.end), span.label) not in ranges
        ]
        return DisjointSpans(found.note_id, found.digest, tuple(kept))

    def list_left(self, spans: Mapping[str, DisjointSpans]) -> dict[str, list[AllowedPlace]]:
        """Return, by note id, the places that no span covers in the end."""
        found = {}
        for note_id, places in self.places.items():
            covered = spans.get(note_id, ())
            free = [
                place
                for place in places
                if not any(one.start < place.end and place.start < one.end for one in covered)
            ]
            if free and note_id in spans:
                found[note_id] = free
        return found


def make_allowed_spans(places: Iterable[AllowedPlace]) -> list[Span]:
    """Return places as spans, one for each detector and category that the search may leave."""
    return [
        Span(place.start, place.end, label, 1.0, source, " ".join(sorted(place.rules)))
        for place in places
        for source, label in sorted(place.said)
    ]


def witnesses(predictions: Iterable[Span]) -> str:
    """Return who marked what, as ``compact:NAME rules:HOSPITAL``."""
    return " ".join(sorted({f"{one.source}:{one.label.value}" for one in predictions}))


def drop_allowed(hits: Hits, allowed: Mapping[str, Sequence[Span]]) -> Hits:
    """Return what was found in redacted text without what people found to be no identifier: that is
    a hit all the same where a detector marks it that no rule speaks of.

    Args:
        hits: By note id, in offsets of the original; their native labels as ``witnesses`` has them.
        allowed: Note id to places, as ``make_allowed_spans`` has them.
    """
    return {
        note_id: tuple(one for one in hit if not _is_allowed(one, allowed.get(note_id, ())))
        if isinstance(hit, tuple)
        else hit
        for note_id, hit in hits.items()
    }


def _is_allowed(hit: Span, allowed: Iterable[Span]) -> bool:
    here = [one for one in allowed if one.start <= hit.start and hit.end <= one.end]
    said = {*witnesses(here).split()}
    return said.issuperset([witnesses([hit]), *hit.native_label.split()])


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a range without what is neither letter nor digit at its ends."""
    while start < end and not text[start].isalnum():
        start += 1
    while end > start and not text[end - 1].isalnum():
        end -= 1
    return start, end
