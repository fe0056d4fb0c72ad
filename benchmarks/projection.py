"""Spans carried into a translation through word alignments of falling quality, as Markdown.

python benchmarks/projection.py [--notes N] [--seed S]

The parallel corpus is made: the same patient in English and Spanish, values drawn from the
generator's notes, every sentence with the alignment of its parts. Links are dropped and others put
in at random, as aligners do.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from conditions import conditions

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span
from deid_assets.training import read_corpus
from deid_zero_shot.projection import Why, project, words

SENTENCES: Sequence[tuple[Sequence[str], Sequence[str], Sequence[int]]] = (
    (
        ("The patient", "NAME", "aged", "AGE", "years", "was seen on", "DATE"),
        ("El", "DATE", "fue vista la paciente", "NAME", "de", "AGE", "años"),
        (5, 6, 0, 1, 2, 3, 4),
    ),
    (
        ("She lives in", "CITY", "and can be reached at", "PHONE"),
        ("Vive en", "CITY", "y su teléfono es el", "PHONE"),
        (0, 1, 2, 3),
    ),
    (
        ("She was referred to", "HOSPITAL", "by Dr.", "NAME"),
        ("Fue remitida por la Dra.", "NAME", "al", "HOSPITAL"),
        (2, 3, 0, 1),
    ),
    (
        ("Her record number is", "MRN", ", address", "STREET"),
        ("Su domicilio es", "STREET", "y su número de historia", "MRN"),
        (2, 3, 0, 1),
    ),
)
"""English and Spanish parts, a category where a value stands, and for each Spanish part its English
one.
"""
REASONS = (Why.UNALIGNED, Why.SCATTERED, Why.TAKEN, Why.EDGE, Why.SEX)
QUALITIES = ((0.0, 0.0), (0.05, 0.02), (0.15, 0.05), (0.3, 0.1))
"""Shares of links that are dropped, and that are put in at random."""


class Pair(NamedTuple):
    """A note, its translation, the spans of both, and the true links."""

    source: Note
    target: Note
    spans: Sequence[Span]
    expected: Sequence[Span]
    links: Sequence[tuple[int, int]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--notes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(conditions(str(options.seed)) + "\n")
    values = _values()
    pairs = [
        _pair(f"n{number}", values, Random(f"{options.seed} {number}"))
        for number in range(options.notes)
    ]
    names = [why.value for why in REASONS]
    print(
        "| Links dropped | Put in | Spans | Exact | Placed elsewhere, told | Placed elsewhere, not"
        " told | Lost | " + " | ".join(names) + " |\n" + "|--:" * (7 + len(names)) + "|"
    )
    for dropped, added in QUALITIES:
        print(_row(pairs, dropped, added, Random(f"{options.seed} {dropped}")), flush=True)


def _values() -> Mapping[Phi, list[str]]:
    found: dict[Phi, list[str]] = {}
    for document in read_corpus("synthetic:en:60:31").documents:
        for span in document.spans:
            value = document.note.text[span.start : span.end]
            if "\n" not in value:
                found.setdefault(span.label, []).append(value)
    return found


def _pair(note_id: str, values: Mapping[Phi, list[str]], rng: Random) -> Pair:
    texts, spans, places = ["", ""], [[], []], [{}, {}]
    for number, (english, spanish, order) in enumerate(SENTENCES):
        drawn = {part: rng.choice(values[Phi(part)]) for part in english if part in Phi.__members__}
        for side, parts in enumerate((english, spanish)):
            for at, part in enumerate(parts):
                text = drawn.get(part, part)
                start = len(texts[side])
                texts[side] += text
                places[side][number, at if side == 0 else order[at]] = (start, len(texts[side]))
                if part in drawn:
                    spans[side].append(Span(start, len(texts[side]), Phi(part)))
                texts[side] += " "
    return Pair(
        Note(note_id, texts[0], lang="en"),
        Note(note_id, texts[1], lang="es"),
        *spans,
        _links(texts, places),
    )


def _links(
    texts: Sequence[str], places: Sequence[Mapping[tuple[int, int], tuple[int, int]]]
) -> list[tuple[int, int]]:
    """Link the words of each part, one after the other, the last with all that are left."""
    numbered = [words(text) for text in texts]
    found = []
    for key, place in places[0].items():
        one, other = (
            [
                number
                for number, (start, end) in enumerate(some)
                if start < spot[1] and end > spot[0]
            ]
            for some, spot in zip(numbered, (place, places[1][key]), strict=True)
        )
        found += [(word, other[min(at, len(other) - 1)]) for at, word in enumerate(one)]
        found += [(one[-1], word) for word in other[len(one) :]]
    return found


def _row(pairs: Sequence[Pair], dropped: float, added: float, rng: Random) -> str:
    counts: Counter[str] = Counter()
    reasons: Counter[Why] = Counter()
    for pair in pairs:
        last = len(words(pair.target.text)) - 1
        links = [link for link in pair.links if rng.random() >= dropped]
        links += [(link[0], rng.randint(0, last)) for link in pair.links if rng.random() < added]
        found = project(pair.source, pair.spans, pair.target, links)
        right = {(span.start, span.end, span.label) for span in pair.expected}
        exact = sum((span.start, span.end, span.label) in right for span in found.spans)
        told = sum(doubt.placed for doubt in found.doubts)
        reasons.update(doubt.why for doubt in found.doubts)
        elsewhere = len(found.spans) - exact
        counts.update(spans=found.total, exact=exact, lost=found.lost, told=min(told, elsewhere))
        counts["silent"] += max(0, elsewhere - told)
    total = counts["spans"]
    shares = " | ".join(
        f"{counts[name] / total:.1%}" for name in ("exact", "told", "silent", "lost")
    )
    return (
        f"| {dropped:.0%} | {added:.0%} | {total} | {shares} | "
        + " | ".join(str(reasons[why]) for why in REASONS)
        + " |"
    )


if __name__ == "__main__":
    main()
