"""The evidence that speaks most for each label.

Attributes hold words of the notes: they stay where the notes are.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from deid_crf.model import Model, read_model

_NAME = re.compile(r"([a-z])(-?\d*):(.*)", re.DOTALL)
_CHANNELS = {
    "w": "a word",
    "b": "two words",
    "z": "shapes of words",
    "c": "what stands between blanks",
    "f": "the field to the left",
    "i": "how the line begins",
    "p": "the place in line and note",
    "t": "labels of the word in training",
    "o": "what the other detector says",
    "n": "what the other detector says nearby",
    "e": "the same word elsewhere in the note",
    "g": "a list",
}
_FORMS = {
    "w": {
        "g": "three letters in it",
        "h": "its shape",
        "l": "in lower case",
        "n": "its length",
        "p": "its beginning",
        "s": "its end",
        "w": "as it stands",
        "z": "its shape in short",
    },
    "z": {"l": "with the one before", "r": "with the one after", "t": "with both neighbours"},
    "c": {"s": "its shape"},
    "f": {"b": "its last two words", "l": "its last word"},
    "i": {"b": "the field of the line before", "i": "its first words"},
    "p": {
        "b": "lines from the end",
        "l": "words from the left",
        "r": "words from the right",
        "t": "lines from the top",
        "w": "words from left and right",
    },
    "o": {"a": "after", "b": "before", "l": "before and here", "r": "here and after", "t": "here"},
    "n": {"l": "to the left", "r": "to the right"},
}
"""Meaning of the first letter of an attribute."""


def evidence(model: Path, *, most: int) -> list[dict[str, Any]]:
    """Return rows of ``label``, ``about``, ``what`` and ``weight``, the strongest of each label
    first.

    Of the tags of a label, such as ``B-NAME`` and ``I-NAME``, each attribute counts with the
    greatest weight.

    Raises:
        ConfigError: The folder is missing or broken.
    """
    read = read_model(model)
    names = list(read.weights.numbers)
    best = _best(read)
    found = []
    for label in sorted(best):
        values = best[label]
        strongest = np.argsort(-values, kind="stable")[:most]
        found += [
            {"label": label, **_describe(names[number]), "weight": round(float(values[number]), 3)}
            for number in strongest.tolist()
            if values[number] > 0
        ]
    return found


def _best(read: Model) -> dict[str, Any]:
    """Return for each label the greatest weight of each attribute."""
    weights = read.weights
    attributes = np.repeat(np.arange(len(weights.first) - 1), np.diff(weights.first))
    found: dict[str, Any] = {}
    for number, tag in enumerate(read.tags):
        label = tag.partition("-")[2]
        if label:
            here = weights.tags == number
            values = found.setdefault(label, np.zeros(len(weights.first) - 1, np.float32))
            np.maximum.at(values, attributes[here], weights.values[here])
    return found


def _describe(name: str) -> dict[str, str]:
    match = _NAME.fullmatch(name)
    if match is None:
        return {"about": "other", "what": name}
    channel, offset, what = match.groups()
    about, place = _CHANNELS.get(channel, channel), int(offset or 0)
    if place:
        about += f", {abs(place)} to the {'left' if place < 0 else 'right'}"
    form = _FORMS.get(channel, {}).get(what[:1])
    if form is None:
        return {"about": about, "what": what}
    # Beginnings and ends of a word say their length before their letters.
    return {
        "about": f"{about}, {form}",
        "what": what[2:] if channel == "w" and what[0] in "ps" else what[1:],
    }
