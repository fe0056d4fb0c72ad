"""Channels: the features around a token.

A channel has one key per token, and maps a key to attributes.

Attributes of a key are made once per distinct key, in training as one row of a sparse matrix and in
use as one row of summed weights. So the cost per token is a look-up per channel, whatever the
number of attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from deid_crf.words import EDGE, attributes


@dataclass(frozen=True, slots=True)
class Channel:
    """One kind of evidence.

    Args:
        name: Prefix of its attributes.
        offsets: Neighbours whose keys count for a token, 0 being its own.
        attributes: A key's attributes, without prefix, by distance.
        edge: Key of what is before and after the note; ``None`` has no attributes.
    """

    name: str
    offsets: tuple[int, ...]
    attributes: Callable[[Any, int], Sequence[str]]
    edge: Hashable = None

    def name_attributes(self, key: Hashable, offset: int) -> list[str]:
        """Return a key's attributes as they stand in a model."""
        prefix = self.prefix(offset)
        return [f"{prefix}{name}" for name in self.features([key], offset)[0]]

    def prefix(self, offset: int) -> str:
        """Return what begins the names of the attributes at an offset."""
        return f"{self.name}{offset}:" if len(self.offsets) > 1 else f"{self.name}:"

    def features(self, keys: Sequence[Hashable], offset: int) -> list[Sequence[str]]:
        """Return each key's attributes without prefix.

        Those at an offset to the left are those to the right.
        """
        distance = abs(offset)
        return [() if key is None else self.attributes(key, distance) for key in keys]


def channels(window: int) -> tuple[Channel, ...]:
    """Return the channels, in the order of ``keys_of``.

    Args:
        window: Words to either side of a token that count.
    """
    around = (-1, 0, 1)
    return (
        Channel("w", tuple(range(-window, window + 1)), attributes, EDGE),
        Channel("b", (-1, 0, 1, 2), lambda pair, _: [f"{pair[0]} {pair[1]}"], (EDGE, EDGE)),
        Channel("z", (0,), _shapes),
        Channel("c", (0,), _chunk),
        Channel("f", (0,), _field),
        Channel("i", (0,), lambda line, _: [f"i{line[0]}", f"b{line[1]}"]),
        Channel("p", (0,), _place),
        Channel("t", around, lambda names, _: names, ()),
        Channel("o", (0,), _prediction),
        Channel("n", (0,), _nearby),
        Channel("e", (0,), lambda names, _: names),
        Channel("g", around, lambda names, _: names, ()),
    )


def _shapes(key: tuple[str, str, str], _: int) -> list[str]:
    before, this, after = key
    return [f"l{before} {this}", f"r{this} {after}", f"t{before} {this} {after}"]


def _chunk(key: tuple[str, int], _: int) -> list[str]:
    name, number = key
    return [f"s{name}", f"s{name} {number}"] if name else []


def _field(key: tuple[tuple[str, str, int], str], _: int) -> list[str]:
    (last, both, step), shape = key
    if not last:
        return [f"none {step}", f"none {step} {shape}"]
    return [
        f"l{last}",
        f"b{both}",
        f"l{last} {step}",
        f"b{both} {step}",
        f"l{last} {shape}",
        f"l{last} {step} {shape}",
    ]


def _place(key: tuple[int, int, int, int], _: int) -> list[str]:
    top, bottom, left, right = key
    return [f"t{top}", f"b{bottom}", f"l{left}", f"r{right}", f"w{left} {right}"]


def _prediction(key: tuple[str, str, str], _: int) -> list[str]:
    before, this, after = key
    if before == this == after == "O":
        return ["O"]
    return [
        f"b{before}",
        f"t{this}",
        f"a{after}",
        f"l{before} {this}",
        f"r{this} {after}",
        f"{before} {this} {after}",
    ]


def _nearby(key: tuple[str, int, str, int], _: int) -> list[str]:
    before, ago, after, ahead = key
    left = [f"l{before}", f"l{before} {ago}"] if before else []
    return [*left, f"r{after}", f"r{after} {ahead}"] if after else left
