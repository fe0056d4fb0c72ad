"""What the gold is like: tokens per entity, rare categories, and how rare its values are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from deid_assets.extending import Note, Profile, SpanSet
from deid_assets.extending.scoring import is_inside, union
from deid_evaluation.span_errors import Place, places

_TOKEN = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Entities:
    """Gold spans of one label.

    Args:
        label: Profile label.
        spans: How many.
        tokens: Runs of letters and digits in them; a span without any is one.
        chars: Code points in them.
        notes: Notes that have any.
    """

    label: str
    spans: int
    tokens: int
    chars: int
    notes: int


def entities(scored: Iterable[tuple[Note, SpanSet]], *, profile: Profile) -> list[Entities]:
    """Return the gold by label, in alphabetical order.

    The ratio of tokens to spans tells why scores by entity and by token differ (Catelli 2021, table
    4.13).
    """
    spans, tokens, chars, notes = (Counter[str]() for _ in range(4))
    for note, gold in scored:
        found = places(gold, profile)
        notes.update({label for _, _, label in found})
        for start, end, label in found:
            spans[label] += 1
            tokens[label] += len(_TOKEN.findall(note.text, start, end)) or 1
            chars[label] += end - start
    return [
        Entities(label, spans[label], tokens[label], chars[label], notes[label])
        for label in sorted(spans)
    ]


@dataclass(frozen=True, slots=True)
class Instance:
    """A gold span of a rare label, and what a system made of it.

    Args:
        note_id: Where.
        place: The span.
        predicted: Labels of the predictions that touch it, sorted; none where it was missed.
        is_covered: Whether all of it is covered.
    """

    note_id: str
    place: Place
    predicted: tuple[str, ...]
    is_covered: bool


def instances(
    gold: SpanSet, pred: SpanSet, *, labels: frozenset[str], profile: Profile
) -> Iterator[Instance]:
    """Yield every gold span of some labels in one note, with what was predicted there."""
    cover = union((span.start, span.end) for span in pred.spans)
    for place in places(gold, profile):
        if place[2] in labels:
            over = {
                profile.label_of(span.label) or span.label.value
                for span in pred.spans
                if span.start < place[1] and place[0] < span.end
            }
            yield Instance(gold.note_id, place, tuple(sorted(over)), is_inside(place[:2], cover))


def shares_of_values(
    scored: Iterable[tuple[Note, SpanSet]], *, profile: Profile, patients: Mapping[str, str]
) -> dict[tuple[str, str], float]:
    """Return the share of people in this gold whose notes hold a value.

    Shares are by label and value in lower case. People are patients, or notes where the patient is
    not known. What is common here need not be common elsewhere. The result holds note text: keep it
    in memory.
    """
    people: dict[tuple[str, str], set[str]] = {}
    everyone = set()
    for note, gold in scored:
        person = patients.get(note.note_id, note.note_id)
        everyone.add(person)
        for start, end, label in places(gold, profile):
            people.setdefault(value_key(note, start, end, label), set()).add(person)
    return {key: len(bearers) / len(everyone) for key, bearers in people.items()}


def value_key(note: Note, start: int, end: int, label: str) -> tuple[str, str]:
    """Return a value as ``shares_of_values`` names it."""
    return label, " ".join(note.text[start:end].casefold().split())
