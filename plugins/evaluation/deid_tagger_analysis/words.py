"""Words and what lies near them: text of the notes, for a restricted page alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import OUTSIDE, Document, InputError, tokenize
from deid_tagger_analysis.vectors import NEIGHBOURS, Rows, Space, cosines

MISSED, FREQUENT = 12, 2
"""Words that are shown with their neighbours: missed ones, and frequent ones of each label."""
PLACES = 40
"""Words with more than one label that are shown."""


def word_counts(documents: Sequence[Document]) -> Counter[str]:
    """Return how often each token occurs."""
    found: Counter[str] = Counter()
    for document in documents:
        text = document.note.text
        found.update(text[start:end] for start, end in tokenize(text))
    return found


def neighbour_lists(
    space: Space,
    *,
    known: Mapping[str, int],
    missed: Sequence[bool],
    asked: Sequence[str] = (),
    nearest: int = NEIGHBOURS,
) -> list[dict[str, Any]]:
    """Return words with their nearest other words in the first and in the last layer.

    A word under a label has the mean of its tokens' vectors: one that is a name here and a place
    there stands twice.

    Args:
        space: The tokens.
        known: How often a word occurs in the training notes, or in these.
        missed: For each token whether it is of an identifier and the tagger says ``O``.
        asked: Words to show, beside those missed and the most frequent of each label.
        nearest: Neighbours of each.

    Raises:
        InputError: A word that is asked for is not among the tokens.
    """
    entries = _entries(space)
    keys = list(entries)
    first, *_, last = [*space.layers, *space.layers]
    near = {
        name: cosines(_means(space.layers[name], entries)) for name in dict.fromkeys((first, last))
    }
    folded = np.array([word.casefold() for word, _ in keys])
    chosen = _choose(space, keys, entries, missed=missed, asked=asked)
    return [
        {
            **_entry(keys[at], known),
            "why": why,
            "layers": {
                name: [
                    {**_entry(keys[other], known), "cosine": round(float(rows[at, other]), 4)}
                    for other in _list_nearest(at, rows, folded)[:nearest]
                ]
                for name, rows in near.items()
            },
        }
        for at, why in chosen.items()
    ]


def _list_nearest(at: int, cosines: Rows, folded: NDArray[np.str_]) -> list[int]:
    """Return the other words than one, the nearest first; it is the same in upper case."""
    is_same = folded == folded[at]
    order = np.argsort(np.where(is_same, np.inf, -cosines[at]), kind="stable")
    return [other for other in order.tolist() if not is_same[other]]


def _entry(key: tuple[str, str], known: Mapping[str, int]) -> dict[str, Any]:
    word, label = key
    return {"word": word, "label": label, "count": known.get(word, 0)}


def ambiguous(space: Space) -> list[dict[str, Any]]:
    """Return the words that have several labels.

    With each comes the cosine of its mean vectors in each layer. 1 is what a vector without context
    gives. The lower it falls, the more the context tells the two apart.
    """
    entries = _entries(space)
    by_word: dict[str, list[str]] = {}
    for word, label in entries:
        by_word.setdefault(word, []).append(label)
    rows: list[dict[str, Any]] = []
    for word, labels in sorted(by_word.items()):
        for at, one in enumerate(labels):
            for other in labels[at + 1 :]:
                pair = {key: entries[key] for key in ((word, one), (word, other))}
                layers = {
                    name: round(float(cosines(_means(values, pair))[0, 1]), 4)
                    for name, values in space.layers.items()
                }
                tokens = sum(map(len, pair.values()))
                rows.append(
                    {"word": word, "labels": [one, other], "tokens": tokens, "layers": layers}
                )
    return sorted(rows, key=lambda row: -row["tokens"])[:PLACES]


def _entries(space: Space) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for at, key in enumerate(zip(space.words, space.labels, strict=True)):
        found.setdefault(key, []).append(at)
    return found


def _means(rows: Rows, entries: Mapping[tuple[str, str], Sequence[int]]) -> Rows:
    return np.stack([rows[list(places)].mean(axis=0) for places in entries.values()])


def _choose(
    space: Space,
    keys: Sequence[tuple[str, str]],
    entries: Mapping[tuple[str, str], Sequence[int]],
    *,
    missed: Sequence[bool],
    asked: Sequence[str],
) -> dict[int, str]:
    """Return which entries to show, and why."""
    found: dict[int, str] = {}
    for word in asked:
        places = [at for at, (known, _) in enumerate(keys) if known.casefold() == word.casefold()]
        if not places:
            raise InputError(
                "a word given with --word is not among the words that were drawn; raise --tokens,"
                " or leave it out"
            )
        found |= dict.fromkeys(places, "asked for")
    lost = [
        key
        for key, is_missed in zip(zip(space.words, space.labels, strict=True), missed, strict=True)
        if is_missed
    ]
    place = {key: at for at, key in enumerate(keys)}
    for key, _ in Counter(lost).most_common(MISSED):
        found.setdefault(place[key], "missed")
    shown: Counter[str] = Counter()
    for at in sorted(range(len(keys)), key=lambda at: -len(entries[keys[at]])):
        label = keys[at][1]
        if label != OUTSIDE and shown[label] < FREQUENT and at not in found:
            found[at] = "frequent"
            shown[label] += 1
    return found
