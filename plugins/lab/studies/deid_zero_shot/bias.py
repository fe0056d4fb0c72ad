"""Recall of names by their origin: the same notes with names of one list and of another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deid_assets import Note, Phi, SpanSet
from deid_assets.extending import Document, InputError
from deid_assets.extending.measuring import wilson
from deid_surrogates.locales import locale_of

_SAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Origin:
    """Recall of the names of one list.

    Args:
        name: Of the list.
        found: Names all of whose characters are in a span.
        names: All of them.
        interval: Wilson's, 95 %.
    """

    name: str
    found: int
    names: int
    interval: tuple[float, float]

    @property
    def recall(self) -> float:
        """Share that is found."""
        return self.found / self.names


@dataclass(frozen=True, slots=True)
class RecallGap:
    """Difference in recall between the best found list and the worst.

    Args:
        best: Name of that list.
        worst: Name of the other.
        value: Recall of the first less that of the second.
        interval: 95 %, over resampled notes, which the lists share.
    """

    best: str
    worst: str
    value: float
    interval: tuple[float, float]


def names_of(lang: str) -> list[str]:
    """Return full names of the locale pack of a language, each given name with a surname."""
    locale = locale_of(lang)
    last = locale.last.names
    given = sorted({*locale.female.names, *locale.male.names})
    return [f"{name} {last[at % len(last)]}" for at, name in enumerate(given)]


def rename_people(
    documents: Iterable[Document], names: Sequence[str], *, seed: int
) -> list[tuple[Note, list[tuple[int, int]]]]:
    """Return notes with another name in the place of each annotated one, and the ranges of these.

    The same places get the same number of the list, whichever list it is.

    Args:
        documents: Annotated notes.
        names: At least one.
        seed: Of the draw.
    """
    rng = np.random.default_rng(seed)
    found = []
    for document in documents:
        text, parts, ranges, cursor, size = document.note.text, [], [], 0, 0
        for span in document.spans:
            if span.label is Phi.NAME:
                name = names[int(rng.random() * len(names))]
                parts += [text[cursor : span.start], name]
                size += span.start - cursor + len(name)
                ranges.append((size - len(name), size))
                cursor = span.end
        note = Note(
            document.note.note_id, "".join([*parts, text[cursor:]]), lang=document.note.lang
        )
        found.append((note, ranges))
    return found


def recall_by_origin(
    detect: Callable[[Sequence[Note]], Iterable[SpanSet]],
    documents: Sequence[Document],
    lists: Mapping[str, Sequence[str]],
    *,
    seed: int = 0,
) -> tuple[list[Origin], RecallGap]:
    """Return the recall of names for each list, and the gap between the best and the worst.

    Args:
        detect: Of a detector.
        documents: Annotated notes of one language.
        lists: Names by what the list is called; two or more.
        seed: Of the draws.

    Raises:
        InputError: There are fewer than two lists, or no names in the notes.
    """
    if len(lists) < 2 or not all(lists.values()):
        raise InputError("a gap needs two lists of names; give two")
    counts: dict[str, np.ndarray] = {}
    for name, names in lists.items():
        notes = rename_people(documents, names, seed=seed)
        answers = detect([note for note, _ in notes])
        counts[name] = np.array(
            [
                (_count_covered(note, spans, some), len(some))
                for spans, (note, some) in zip(answers, notes, strict=True)
            ]
        )
    origins = []
    for name, of_notes in counts.items():
        found, total = (int(number) for number in of_notes.sum(axis=0))
        if not total:
            raise InputError("the notes have no names; give notes with spans of NAME")
        origins.append(Origin(name, found, total, wilson(found, total)))
    best, worst = max(origins, key=lambda one: one.recall), min(origins, key=lambda one: one.recall)
    rng = np.random.default_rng([seed, 1])
    drawn = rng.integers(0, len(documents), (_SAMPLES, len(documents)))
    first, second = counts[best.name][drawn].sum(axis=1), counts[worst.name][drawn].sum(axis=1)
    gaps = (first[:, 0] / first[:, 1].clip(1)) - (second[:, 0] / second[:, 1].clip(1))
    low, high = np.quantile(gaps, [0.025, 0.975])
    return origins, RecallGap(
        best.name, worst.name, best.recall - worst.recall, (float(low), float(high))
    )


def _count_covered(note: Note, spans: SpanSet, ranges: Sequence[tuple[int, int]]) -> int:
    """Return how many ranges have all that is no blank in spans."""
    covered = {place for span in spans for place in range(span.start, span.end)}
    return sum(
        all(place in covered or note.text[place].isspace() for place in range(start, end))
        for start, end in ranges
    )
