"""Constructs between braces in a grammar.

One class per construct, and the parser that builds them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from deid_synthesis.identifiers import VALID, fill_pattern
from deid_synthesis.text import Piece


class Writer(Protocol):
    """Interface of the note being written, as constructs use it."""

    rng: Random

    def refer(self, subject: str, name: str, out: list[Piece]) -> None:
        """Append a variable or the expansion of a rule."""

    def heading(self, name: str, out: list[Piece]) -> None:
        """Append a section heading in the note's style."""

    def header(self, fields: tuple[str, ...], out: list[Piece]) -> None:
        """Append a block of field lines in the note's style."""

    def hard_case(self, out: list[Piece]) -> None:
        """Append the sentence of a planned hard case, if one is left."""

    def count_left(self, name: str) -> int:
        """Return how many alternatives of a rule the note has not used."""

    def bullet(self, number: int) -> str:
        """Return the mark of the given line of a list, from 1."""


class Node(Protocol):
    """A part of an alternative."""

    def emit(self, writer: Writer, out: list[Piece]) -> None:
        """Append this part's pieces."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Plain text."""

    piece: Piece

    def emit(self, writer: Writer, out: list[Piece]) -> None:  # noqa: ARG002 - a literal needs no writer
        """Append the text."""
        out.append(self.piece)


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts one after the other."""

    parts: tuple[Node, ...]

    def emit(self, writer: Writer, out: list[Piece]) -> None:
        """Append all parts."""
        for part in self.parts:
            part.emit(writer, out)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several parts."""

    options: tuple[Node, ...]

    def emit(self, writer: Writer, out: list[Piece]) -> None:
        """Append one option."""
        writer.rng.choice(self.options).emit(writer, out)


@dataclass(frozen=True, slots=True)
class Maybe:
    """A part that is written in ``percent`` of 100 cases."""

    percent: int
    part: Node

    def emit(self, writer: Writer, out: list[Piece]) -> None:
        """Append the part or nothing."""
        if writer.rng.random() * 100 < self.percent:
            self.part.emit(writer, out)


@dataclass(frozen=True, slots=True)
class Reference:
    """A variable or rule, seen from a subject when one is named."""

    subject: str
    name: str

    def emit(self, writer: Writer, out: list[Piece]) -> None:
        """Append what the name stands for."""
        writer.refer(self.subject, self.name, out)


@dataclass(frozen=True, slots=True)
class Capital:
    """A part whose first letter becomes a capital."""

    part: Node

    def emit(self, writer: Writer, out: list[Piece]) -> None:
        """Append the part, capitalised."""
        inner: list[Piece] = []
        self.part.emit(writer, inner)
        for index, piece in enumerate(inner):
            if piece.text:
                raised = piece.text[0].upper() + piece.text[1:]
                inner[index] = Piece(raised, piece.label, piece.native_label)
                break
        out.extend(inner)


@dataclass(frozen=True, slots=True)
class Repeat:
    """A rule several times, joined, or as a list when ``joiner`` is ``None``.

    Not more often than the note has unused alternatives, but at least once.
    """

    part: Reference
    low: int
    high: int
    joiner: str | None
    capital: bool

    def emit(self, writer: Writer, out: list[Piece]) -> None:
        """Append between ``low`` and ``high`` expansions."""
        times = max(
            1, min(writer.rng.randint(self.low, self.high), writer.count_left(self.part.name))
        )
        for number in range(1, times + 1):
            if self.joiner is None:
                out.append(Piece(("\n" if number > 1 else "") + writer.bullet(number)))
            elif number > 1:
                out.append(Piece(self.joiner))
            raised = self.capital and (number == 1 or self.joiner != ", ")
            (Capital(self.part) if raised else self.part).emit(writer, out)


@dataclass(frozen=True, slots=True)
class Number:
    """A number between two bounds, with their decimals."""

    low: float
    high: float
    decimals: int
    comma: bool

    def emit(self, writer: Writer, out: list[Piece]) -> None:
        """Append the number."""
        value = f"{writer.rng.uniform(self.low, self.high):.{self.decimals}f}"
        out.append(Piece(value.replace(".", ",") if self.comma else value))


@dataclass(frozen=True, slots=True)
class Call:
    """A method of the writer, or an identifier."""

    run: Callable[[Writer, list[Piece]], None] = field(repr=False)

    def emit(self, writer: Writer, out: list[Piece]) -> None:
        """Run it."""
        self.run(writer, out)


def parse(source: str) -> Node:
    """Return the alternative as a tree.

    Raises:
        ValueError: A brace is left open, or a construct is not known.
    """
    parts: list[Node] = []
    cursor = 0
    while cursor < len(source):
        opened = source.find("{", cursor)
        if opened < 0:
            opened = len(source)
        if opened > cursor:
            parts.append(Literal(Piece(source[cursor:opened])))
        if opened == len(source):
            break
        closed = _closing(source, opened)
        parts.append(_construct(source[opened + 1 : closed]))
        cursor = closed + 1
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def _closing(source: str, opened: int) -> int:
    depth = 0
    for index in range(opened, len(source)):
        depth += {"{": 1, "}": -1}.get(source[index], 0)
        if depth == 0:
            return index
    raise ValueError(f"brace at character {opened} is never closed")


def _options(inner: str) -> list[str]:
    options, depth = [""], 0
    for character in inner:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "|" and depth == 0:
            options.append("")
        else:
            options[-1] += character
    return options


_MAYBE = re.compile(r"\?(\d+) (.*)", re.DOTALL)
_REPEAT = re.compile(r"(\^?)([a-z0-9_.]+)(?:\*(\d+)-(\d+);(.*)|#(\d+)-(\d+))", re.DOTALL)
_REFERENCE = re.compile(r"(?:([a-z0-9_]+):)?([A-Za-z0-9_.]+)")


def _construct(inner: str) -> Node:
    if match := _MAYBE.fullmatch(inner):
        return Maybe(int(match[1]), parse(match[2]))
    options = _options(inner)
    if len(options) > 1:
        return Choice(tuple(parse(option) for option in options))
    if match := _REPEAT.fullmatch(inner):
        low, high = int(match[3] or match[6]), int(match[4] or match[7])
        part = Reference("", match[2])
        return Repeat(part, low, high, match[5], capital=bool(match[1]))
    if inner.startswith("^"):
        return Capital(_construct(inner[1:]))
    word, _, rest = inner.partition(" ")
    if rest or word.startswith("=") or word == "extra":
        return _call(word, rest)
    if match := _REFERENCE.fullmatch(inner):
        return Reference(match[1] or "", match[2])
    raise ValueError(f"construct {{{inner}}} is not known")


def _call(word: str, rest: str) -> Node:
    if word.startswith("="):
        return Call(lambda writer, out: writer.heading(word[1:], out))
    if word == "extra":
        return Call(lambda writer, out: writer.hard_case(out))
    if word == "fields":
        return Call(lambda writer, out: writer.header(tuple(rest.split()), out))
    if word == "digits":
        return Call(lambda writer, out: out.append(Piece(fill_pattern(rest, writer.rng))))
    if word == "valid" and rest in VALID:
        return Call(lambda writer, out: out.append(Piece(VALID[rest](writer.rng))))
    if word in {"int", "dec"}:
        low, high = rest.split()
        decimals = len(re.split("[.,]", low)[-1]) if word == "dec" else 0
        return Number(
            float(low.replace(",", ".")), float(high.replace(",", ".")), decimals, comma="," in low
        )
    raise ValueError(f"construct {{{word} {rest}}} is not known")
