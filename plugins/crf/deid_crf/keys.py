"""Keys of the channels for all tokens of many notes at once.

Each distinct key once, and which of them each token has.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from deid_assets.extending import OUTSIDE
from deid_crf.layout import FIELD_STEPS, Fields, LineLayout, TokenLayout, chunks, fields, lines
from deid_crf.statistics import WordStatistics
from deid_crf.view import NoteView
from deid_crf.vocabulary import Numbers, Vocabulary

_NEAR_FIELD = 6
_NEAR_STEPS = (2, 3, 5, 8, 13)
_LINE_STEPS = (1, 2, 3, 5, 8, 12, 20, 40)
_TOKEN_STEPS = (1, 2, 3, 5, 8, 15)


class Keys(NamedTuple):
    """Keys of one channel.

    Args:
        values: Keys; every distinct one is there, some perhaps more than once.
        places: Of each token, the place of its key among them.
    """

    values: Sequence[Hashable]
    places: Numbers

    def of_tokens(self) -> list[Any]:
        """Return the key of each token."""
        return [self.values[place] for place in self.places.tolist()]


def keys_of(
    views: Sequence[NoteView], vocabulary: Vocabulary, statistics: WordStatistics | Keys
) -> Iterator[Keys]:
    """Yield each channel's keys, in the order of ``channels``.

    Args:
        views: The notes.
        vocabulary: Learns their words.
        statistics: What is known of words from training, or of each token.
    """
    tokens = TokenLayout.of(views, vocabulary)
    where = lines(tokens)
    in_fields = fields(tokens, where, vocabulary)
    shapes = vocabulary.shape(tokens.words)
    predictions, names, label_of, labels = _predictions(views, len(tokens.words))
    yield _words(tokens, vocabulary)
    yield _pairs(tokens, vocabulary)
    yield _triples(tokens, shapes, vocabulary.shapes)
    yield _chunks(tokens)
    yield _fields(in_fields, shapes, vocabulary)
    yield _lines(tokens, where, in_fields, vocabulary)
    yield _places(where)
    yield (
        _statistics(tokens, statistics, vocabulary)
        if isinstance(statistics, WordStatistics)
        else statistics
    )
    yield _triples(tokens, predictions, names)
    yield _nearby(tokens, label_of, labels)
    yield _elsewhere(tokens, in_fields, label_of, vocabulary, labels)
    yield _hits(views, len(tokens.words))


def _predictions(
    views: Sequence[NoteView], size: int
) -> tuple[Numbers, list[str], Numbers, list[str]]:
    """Return each token's prediction as the number of a tag and as that of a label, and the names
    of both; 0 is none.
    """
    found = [each for view in views for each in view.predictions]
    labels = {"": 0}
    label = np.array([labels.setdefault(name, len(labels)) for _, _, name in found], dtype=np.int64)
    before = np.cumsum([0, *(len(view.words) for view in views)])
    note = np.repeat(np.arange(len(views)), [len(view.predictions) for view in views])
    first, stop = (
        np.array([each[:2] for each in found], dtype=np.int64).reshape(-1, 2)
        + before[note][:, None]
    ).T
    opened, closed = np.zeros(size + 1, dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
    opened[first], closed[stop] = label, label
    label_of = np.cumsum(opened - closed)[:size]
    tags = np.where(label_of > 0, 2 * label_of, 0)
    tags[first] -= 1
    names = [OUTSIDE, *(f"{prefix}-{name}" for name in [*labels][1:] for prefix in "BI")]
    return tags, names, label_of, [*labels]


def _distinct(codes: Numbers) -> tuple[Numbers, Numbers]:
    """Return the distinct codes in order, and the place of each code among them."""
    stop = int(codes.max(initial=-1)) + 1
    if stop > 4 * len(codes) + 1_000:
        return np.unique(codes, return_inverse=True)
    is_there = np.zeros(stop, dtype=bool)
    is_there[codes] = True
    found = np.flatnonzero(is_there)
    numbers = np.zeros(stop, dtype=np.int64)
    numbers[found] = np.arange(len(found))
    return found, numbers[codes]


def _words(tokens: TokenLayout, vocabulary: Vocabulary) -> Keys:
    found, places = _distinct(tokens.words)
    return Keys([vocabulary.words[number] for number in found.tolist()], places)


def _pairs(tokens: TokenLayout, vocabulary: Vocabulary) -> Keys:
    """The normal form of the word before, and of the word."""
    lows, size = vocabulary.lows, len(vocabulary.lows)
    found, places = _distinct(tokens.before(tokens.lows) * size + tokens.lows)
    before, this = np.divmod(found, size)
    return Keys(
        [(lows[a], lows[b]) for a, b in zip(before.tolist(), this.tolist(), strict=True)], places
    )


def _triples(tokens: TokenLayout, numbers: Numbers, names: Sequence[str]) -> Keys:
    """What the token before has, the token, and the one after it.

    Number 0 stands for a note's edges.
    """
    size = len(names)
    pairs, of_pairs = _distinct(tokens.before(numbers) * size + numbers)
    found, places = _distinct(of_pairs * size + tokens.after(numbers))
    pair, after = np.divmod(found, size)
    before, this = np.divmod(pairs[pair], size)
    columns = (before.tolist(), this.tolist(), after.tolist())
    return Keys([(names[a], names[b], names[c]) for a, b, c in zip(*columns, strict=True)], places)


def _chunks(tokens: TokenLayout) -> Keys:
    """The shape of the token's chunk, and its place there."""
    names, of_token, place = chunks(tokens)
    size = int(place.max(initial=0)) + 1
    found, places = _distinct(np.where(of_token, of_token * size + place, 0))
    return Keys([(names[code // size], code % size) for code in found.tolist()], places)


def _fields(where: Fields, shapes: Numbers, vocabulary: Vocabulary) -> Keys:
    """The last word before the colon, the last two, and the steps since; and the token's shape."""
    lows, size, steps = vocabulary.lows, len(vocabulary.lows), len(FIELD_STEPS) + 1
    pairs, of_pairs = _distinct(where.both * size + where.last)
    named = [
        (lows[code % size], f"{lows[code // size]} {lows[code % size]}".lstrip(" "))
        for code in pairs.tolist()
    ]
    width = len(vocabulary.shapes)
    found, places = _distinct((of_pairs * steps + where.step) * width + shapes)
    place, shape = np.divmod(found, width)
    pair, step = np.divmod(place, steps)
    columns = (pair.tolist(), step.tolist(), shape.tolist())
    return Keys(
        [((*named[a], b), vocabulary.shapes[c]) for a, b, c in zip(*columns, strict=True)], places
    )


def _lines(
    tokens: TokenLayout, where: LineLayout, in_fields: Fields, vocabulary: Vocabulary
) -> Keys:
    """The first two words of the line, and the first field of the line before."""
    lows = vocabulary.lows
    second = (
        tokens.lows[np.where(where.size > 1, where.first + 1, 0)]
        if len(where.first)
        else where.first
    )
    columns = (
        tokens.lows[where.first].tolist(),
        second.tolist(),
        where.size.tolist(),
        in_fields.before.tolist(),
    )
    values = [
        (f"{lows[a]} {lows[b]}" if size > 1 else lows[a], lows[before])
        for a, b, size, before in zip(*columns, strict=True)
    ]
    return Keys(values, where.of)


def _places(where: LineLayout) -> Keys:
    """The line from the top and from the bottom, the token from the left and from the right, in
    steps.
    """
    left = np.arange(len(where.of)) - where.first[where.of]
    right = where.size[where.of] - 1 - left
    top, bottom = (
        np.searchsorted(_LINE_STEPS, each, side="right")[where.of]
        for each in (where.top, where.bottom)
    )
    left, right = (np.searchsorted(_TOKEN_STEPS, each, side="right") for each in (left, right))
    shape = (len(_LINE_STEPS) + 1,) * 2 + (len(_TOKEN_STEPS) + 1,) * 2
    found, places = _distinct(np.ravel_multi_index((top, bottom, left, right), shape))
    return Keys(
        [*zip(*(each.tolist() for each in np.unravel_index(found, shape)), strict=True)], places
    )


def _statistics(tokens: TokenLayout, known: WordStatistics, vocabulary: Vocabulary) -> Keys:
    """What is known of the word from training."""
    found, places = _distinct(tokens.lows)
    return Keys([known[vocabulary.lows[number]] for number in found.tolist()], places)


def _nearby(tokens: TokenLayout, label_of: Numbers, labels: Sequence[str]) -> Keys:
    """The label of the prediction before the token and of the one after it, and how far,
    in steps.
    """
    at, size, steps = np.arange(len(label_of)), len(labels), len(_NEAR_STEPS)
    before, after = tokens.before(label_of), tokens.after(label_of)
    first = np.maximum.accumulate(np.where(tokens.is_first, at, 0))
    ended = np.maximum.accumulate(np.where((before > 0) & (before != label_of), at, -1))
    last = np.minimum.accumulate(np.where(tokens.is_last, at, len(at))[::-1])[::-1]
    ahead = np.minimum.accumulate(np.where((after > 0) & (after != label_of), at, len(at))[::-1])[
        ::-1
    ]
    codes = np.zeros(len(at), dtype=np.int64)
    for inside, since, place, near in (
        (ended >= first, at - ended + 1, ended, before),
        (ahead <= last, ahead - at + 1, ahead, after),
    ):
        step = np.searchsorted(_NEAR_STEPS, since, side="right")
        label = near[np.clip(place, 0, max(len(at) - 1, 0))]
        codes = codes * (size * steps) + np.where(inside & (step < steps), label * steps + step, 0)
    found, places = _distinct(codes)
    sides = zip(*(each.tolist() for each in np.divmod(found, size * steps)), strict=True)
    return Keys(
        [(labels[a // steps], a % steps, labels[b // steps], b % steps) for a, b in sides], places
    )


def _elsewhere(
    tokens: TokenLayout,
    where: Fields,
    label_of: Numbers,
    vocabulary: Vocabulary,
    labels: Sequence[str],
) -> Keys:
    """For each name-like token the fields, and the labels, under which it stands elsewhere in the
    note.
    """
    telling = np.flatnonzero(vocabulary.is_telling(tokens.words))
    _, word = _distinct(tokens.note[telling] * len(vocabulary.lows) + tokens.lows[telling])
    in_field = np.where(where.step < _NEAR_FIELD, where.last, 0)[telling]
    label = label_of[telling]
    kept = np.flatnonzero(
        (np.bincount(word)[word] > 1) & (np.bincount(word, (in_field > 0) | (label > 0))[word] > 0)
    )
    words, word = _distinct(word[kept])
    own = np.stack([in_field[kept] * 2, np.where(label[kept] > 0, label[kept] * 2 + 1, 0)])
    size = 2 * max(len(vocabulary.lows), len(labels))
    pairs, of_pair, counts = np.unique(word * size + own, return_inverse=True, return_counts=True)
    names: list[list[str]] = [[] for _ in words]
    for number, feature in zip(*(each.tolist() for each in np.divmod(pairs, size)), strict=True):
        if feature:
            names[number].append(
                f"o{labels[feature // 2]}" if feature % 2 else f"f{vocabulary.lows[feature // 2]}"
            )
    """What is elsewhere is what is anywhere, without what is here alone."""
    here = np.where(counts[of_pair.reshape(own.shape)] == 1, own, 0)
    alone = np.flatnonzero(here.any(axis=0))
    values: list[tuple[str, ...]] = [(), *(tuple(sorted(each)) for each in names)]
    for number, a, b in zip(word[alone].tolist(), *here[:, alone].tolist(), strict=True):
        without = {f"f{vocabulary.lows[a // 2]}" if a else "", f"o{labels[b // 2]}" if b else ""}
        values.append(tuple(name for name in values[number + 1] if name not in without))
    place = word + 1
    place[alone] = np.arange(len(alone)) + len(words) + 1
    places = np.zeros(len(tokens.words), dtype=np.int64)
    places[telling[kept]] = place
    return Keys(values, places)


def _hits(views: Sequence[NoteView], size: int) -> Keys:
    if not any(view.hits for view in views):
        return Keys([()], np.zeros(size, dtype=np.int64))
    hits = chain.from_iterable(view.hits or [()] * len(view.words) for view in views)
    return Keys([*hits], np.arange(size))
