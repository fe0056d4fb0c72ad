"""A note as the tagger reads it: words, lines, the field that a word stands in, and what other sources say."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from deid_assets.extending import Token, tokenize
from deid_crf.words import normal, short_shape

_CHUNK = re.compile(r"\S+")
_LABEL_WORDS = 2
_FIELD_STEPS = (1, 2, 3, 4, 5, 8, 13, 21)
_FAR = len(_FIELD_STEPS)
_NEAR_FIELD = 6
_MIN_LETTERS = 3
_NEAR_STEPS = (2, 3, 5, 8, 13)
_TOO_FAR = len(_NEAR_STEPS)
_LINE_STEPS = (1, 2, 3, 5, 8, 12, 20, 40)
_TOKEN_STEPS = (1, 2, 3, 5, 8, 15)
_MAX_CHUNK = 24


@dataclass(frozen=True, slots=True)
class View:
    """One note.

    Args:
        text: The note's text.
        tokens: Offsets.
        words: Text of the tokens.
        lows: Words in normal form.
        predictions: What another detector found at each token, ``O`` or ``B-LABEL`` or ``I-LABEL``.
        hits: Lists that hold each token, or the phrase that it is part of.
    """

    text: str = field(repr=False)
    tokens: Sequence[Token]
    words: Sequence[str] = field(repr=False)
    lows: Sequence[str] = field(repr=False)
    predictions: Sequence[str] = ()
    hits: Sequence[tuple[str, ...]] = ()

    @classmethod
    def of(cls, text: str) -> View:
        """Return a text's view, without predictions and lists."""
        tokens = tokenize(text)
        words = [text[start:end] for start, end in tokens]
        return cls(text, tokens, words, [normal(word) for word in words])


@dataclass(frozen=True, slots=True)
class Layout:
    """Layout of a note: the place of each token.

    Args:
        fields: The last two words before the last colon of the line, and how many tokens ago it was, in steps.
        lines: First words of the line, and the first field of the line before.
        places: Line from the top and from the bottom, token from the left and from the right, in steps.
        chunks: Shape of what stands between blanks, and the number of the token in it.
    """

    fields: Sequence[tuple[str, str, int]]
    lines: Sequence[tuple[str, str]]
    places: Sequence[tuple[int, int, int, int]]
    chunks: Sequence[tuple[str, int]]


def layout(view: View) -> Layout:
    """Return where each token stands."""
    ranges = _lines(view)
    fields: list[tuple[str, str, int]] = []
    lines: list[tuple[str, str]] = []
    places: list[tuple[int, int, int, int]] = []
    before = ""
    for number, line in enumerate(ranges):
        lows = view.lows[line.start : line.stop]
        found = _fields(lows)
        fields += found
        lines += [(" ".join(lows[:2]), before)] * len(lows)
        before = next((last for last, _, step in found if step < _FAR), "")
        top, bottom = bisect_right(_LINE_STEPS, number), bisect_right(_LINE_STEPS, len(ranges) - 1 - number)
        size = len(lows)
        places += [
            (top, bottom, bisect_right(_TOKEN_STEPS, at), bisect_right(_TOKEN_STEPS, size - 1 - at))
            for at in range(size)
        ]
    return Layout(fields, lines, places, _chunks(view))


def _lines(view: View) -> list[range]:
    """The lines that hold tokens, as ranges of token numbers."""
    starts = [start for start, _ in view.tokens]
    borders = [0]
    at = view.text.find("\n")
    while at >= 0:
        border = bisect_left(starts, at)
        if border > borders[-1]:
            borders.append(border)
        at = view.text.find("\n", at + 1)
    if borders[-1] < len(starts):
        borders.append(len(starts))
    return [range(first, stop) for first, stop in pairwise(borders)]


def _fields(lows: Sequence[str]) -> list[tuple[str, str, int]]:
    """Return for each token of a line its field's last word, last two words, and the steps since the colon."""
    found = []
    last = both = ""
    since = _FIELD_STEPS[-1]
    for at, low in enumerate(lows):
        found.append((last, both, bisect_right(_FIELD_STEPS, since)))
        since += 1
        if low == ":":
            label = [word for word in lows[max(0, at - _LABEL_WORDS) : at] if word.isalpha()]
            last, both, since = label[-1] if label else "", " ".join(label), 0
    return found


def _chunks(view: View) -> list[tuple[str, int]]:
    """Return for each token the shape of its chunk and its number there; a chunk of one token has no shape."""
    found: list[tuple[str, int]] = []
    at, count, tokens = 0, len(view.tokens), view.tokens
    for match in _CHUNK.finditer(view.text):
        first, end = at, match.end()
        while at < count and tokens[at][0] < end:
            at += 1
        if at - first == 1:
            found.append(("", 0))
        elif at > first:
            name = "".join([short_shape(word) for word in view.words[first : min(at, first + _MAX_CHUNK)]])
            found += [(name[:_MAX_CHUNK], min(number, _MAX_CHUNK)) for number in range(at - first)]
    return found


def nearby(predictions: Sequence[str]) -> list[tuple[str, int, str, int]]:
    """Return for each token the label of the prediction before it and of the one after it, and how far, in steps."""
    left = _last(predictions)
    right = _last(predictions[::-1])[::-1]
    return [(*before, *after) for before, after in zip(left, right, strict=True)]


def _last(predictions: Sequence[str]) -> list[tuple[str, int]]:
    """The label of the last prediction that ended before each token."""
    found = []
    ended, since, current = "", 0, "O"
    for tag in predictions:
        since += 1
        if current != "O" and tag[2:] != current[2:]:
            ended, since = current[2:], 1
        current = tag
        step = bisect_right(_NEAR_STEPS, since)
        found.append((ended, step) if ended and step < _TOO_FAR else ("", 0))
    return found


def elsewhere(view: View, fields: Sequence[tuple[str, str, int]]) -> list[tuple[str, ...]]:
    """Return for each name-like token the fields, and the predictions, under which it stands elsewhere in the note."""
    places: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    predictions = view.predictions or ["O"] * len(view.words)
    named = [_features(*place) for place in zip(view.words, fields, predictions, strict=True)]
    for low, names in zip(view.lows, named, strict=True):
        for name in names:
            places[low][name] += 1
    found: list[tuple[str, ...]] = []
    for word, low, own in zip(view.words, view.lows, named, strict=True):
        known = places.get(low) if _is_telling(word) else None
        if not known:
            found.append(())
        else:
            found.append(tuple(sorted(name for name, count in known.items() if count > (name in own))))
    return found


def _is_telling(word: str) -> bool:
    return len(word) >= _MIN_LETTERS and (word[0].isupper() or word[0].isdecimal())


def _features(word: str, place: tuple[str, str, int], prediction: str) -> tuple[str, ...]:
    if not _is_telling(word):
        return ()
    last, _, step = place
    in_field = (f"f{last}",) if last and step < _NEAR_FIELD else ()
    return in_field if prediction == "O" else (*in_field, f"o{prediction[2:]}")
