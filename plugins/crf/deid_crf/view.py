"""A note as the tagger reads it: words, lines, the field that a word stands in, and what other sources say."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
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
_NO_FIELD = ("", "", _FAR)
_FIELD_STEP = [bisect_right(_FIELD_STEPS, since) for since in range(_FIELD_STEPS[-1] + 1)]
_NEAR_STEP = [bisect_right(_NEAR_STEPS, since) for since in range(1, _NEAR_STEPS[-1])]
"""Steps of the tokens after a colon, and of those after the end of a prediction."""


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
        places += [(top, bottom, left, right) for left, right in _sides(len(lows))]
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


@lru_cache(256)
def _sides(size: int) -> list[tuple[int, int]]:
    """The places of the tokens of a line with so many, from the left and from the right, in steps."""
    left = [bisect_right(_TOKEN_STEPS, at) for at in range(size)]
    return list(zip(left, left[::-1], strict=True))


def _fields(lows: Sequence[str]) -> list[tuple[str, str, int]]:
    """Return for each token of a line its field's last word, last two words, and the steps since the colon."""
    colons = [at for at, low in enumerate(lows) if low == ":"]
    found = [_NO_FIELD] * (colons[0] + 1 if colons else len(lows))
    for colon, end in pairwise([*colons, len(lows) - 1]):
        label = [word for word in lows[max(0, colon - _LABEL_WORDS) : colon] if word.isalpha()]
        last, both, size = label[-1] if label else "", " ".join(label), end - colon
        found += [(last, both, step) for step in _FIELD_STEP[:size]]
        found += [(last, both, _FAR)] * (size - len(_FIELD_STEP))
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
    found = [("", 0)] * len(predictions)
    for at, (before, this) in enumerate(pairwise(predictions), start=1):
        if before != "O" and this[2:] != before[2:]:
            ended = [(before[2:], step) for step in _NEAR_STEP[: len(found) - at]]
            found[at : at + len(ended)] = ended
    return found


def elsewhere(view: View, fields: Sequence[tuple[str, str, int]]) -> list[tuple[str, ...]]:
    """Return for each name-like token the fields, and the predictions, under which it stands elsewhere in the note."""
    places: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    telling = [at for at, word in enumerate(view.words) if _is_telling(word)]
    named = [_features(fields[at], view.predictions[at] if view.predictions else "O") for at in telling]
    for at, names in zip(telling, named, strict=True):
        for name in names:
            places[view.lows[at]][name] += 1
    found: list[tuple[str, ...]] = [()] * len(view.words)
    for at, own in zip(telling, named, strict=True):
        if known := places.get(view.lows[at]):
            found[at] = tuple(sorted(name for name, count in known.items() if count > (name in own)))
    return found


def _is_telling(word: str) -> bool:
    return len(word) >= _MIN_LETTERS and (word[0].isupper() or word[0].isdecimal())


def _features(place: tuple[str, str, int], prediction: str) -> tuple[str, ...]:
    last, _, step = place
    in_field = (f"f{last}",) if last and step < _NEAR_FIELD else ()
    return in_field if prediction == "O" else (*in_field, f"o{prediction[2:]}")
