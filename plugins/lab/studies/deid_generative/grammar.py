"""What an output may be, as tokens.

The source copied, placeholders in the place of some of it, or ``ANONYMOUS``.

No other token can be written, so nothing can be made up, whatever the model or the note says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import torch
from transformers import LogitsProcessor

from deid_assets.extending import DetectorError


class _At(IntEnum):
    COPY = 0
    """Source token ``place`` is next."""
    HOLE = 1
    """``done`` tokens of placeholder ``which`` are written; it began at source token ``place``."""
    AFTER = 2
    """A placeholder that began at ``place`` is written; the copy goes on at a later token."""
    NOTHING = 3
    """``done`` tokens of ``ANONYMOUS`` are written."""
    DONE = 4


Item = tuple[_At, int, int, int]
"""Where one reading of the output is: state, place, placeholder, tokens of it."""
Path = tuple["Path", int, int, int] | None
"""What was removed on the way.

Earlier ones, first source token, one past the last, and which placeholder stands for it.
"""
State = dict[Item, Path]
"""Every reading of the output so far, with what it removes."""


@dataclass(frozen=True, slots=True)
class CopyGrammar:
    """The outputs that a source allows.

    Args:
        source: Its tokens.
        placeholders: Ways to write a placeholder.
        anonymous: Tokens that say that nothing is removed, or none where that may not be said.
        end: Token that ends an output.
        longest: Most tokens that one placeholder stands for, 1 or more.
    """

    source: Sequence[int]
    placeholders: Sequence[Sequence[int]]
    anonymous: Sequence[int]
    end: int
    longest: int
    firsts: frozenset[int] = field(init=False, repr=False)
    """Tokens that placeholders begin with."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "firsts", frozenset(tokens[0] for tokens in self.placeholders))

    def start(self) -> State:
        """Return the state before the first token."""
        state: State = {(_At.COPY, 0, 0, 0): None}
        if self.anonymous:
            state[_At.NOTHING, 0, 0, 0] = None
        return state

    def list_allowed(self, state: State) -> list[int]:
        """Return the tokens that may follow, sorted; empty after the end."""
        if len(state) == 1:
            ((at, place, _, _),) = state
            if at is _At.COPY and place < len(self.source):
                return sorted({self.source[place], *self.firsts})
        return sorted({token for item in state for token, _ in self._next(item)})

    def advance(self, state: State, token: int) -> State:
        """Return the state after a token; empty where it may not follow.

        Readings that come to the same place write the same text; the first is kept.
        """
        if len(state) == 1 and token not in self.firsts:
            (((at, place, _, _), only),) = state.items()
            if at is _At.COPY and place < len(self.source):
                return {(at, place + 1, 0, 0): only} if token == self.source[place] else {}
        found: State = {}
        for item, path in state.items():
            for written, following in self._next(item):
                if written == token:
                    at, place, _, _ = following
                    ends = item[0] is _At.AFTER and at in {_At.COPY, _At.DONE}
                    stop = place - 1 if at is _At.COPY else len(self.source)
                    found.setdefault(following, (path, item[1], stop, item[2]) if ends else path)
        return found

    def _next(self, item: Item) -> Iterator[tuple[int, Item]]:
        at, place, which, done = item
        size = len(self.source)
        if at is _At.COPY:
            yield (
                (self.source[place], (at, place + 1, 0, 0))
                if place < size
                else (self.end, (_At.DONE, 0, 0, 0))
            )
            if place < size:
                for number, tokens in enumerate(self.placeholders):
                    yield tokens[0], self._in_hole(place, number, 1)
        elif at is _At.HOLE:
            yield self.placeholders[which][done], self._in_hole(place, which, done + 1)
        elif at is _At.AFTER:
            for later in range(place + 1, min(size, place + self.longest + 1)):
                yield self.source[later], (_At.COPY, later + 1, 0, 0)
            if size - place <= self.longest:
                yield self.end, (_At.DONE, 0, 0, 0)
        elif at is _At.NOTHING:
            is_over = done == len(self.anonymous)
            yield (
                (self.end, (_At.DONE, 0, 0, 0))
                if is_over
                else (self.anonymous[done], (at, 0, 0, done + 1))
            )

    def _in_hole(self, place: int, which: int, done: int) -> Item:
        is_over = done == len(self.placeholders[which])
        return (_At.AFTER, place, which, 0) if is_over else (_At.HOLE, place, which, done)

    def ahead(self, state: State, most: int) -> list[int]:
        """Return the tokens that would follow if the source were copied on, where the state allows
        one reading.
        """
        if len(state) != 1:
            return []
        ((at, place, _, _),) = state
        return [*self.source[place : place + most]] if at is _At.COPY else []

    def opens(self, state: State) -> frozenset[int]:
        """Return the tokens that begin a placeholder here."""
        copying = any(item[0] is _At.COPY and item[1] < len(self.source) for item in state)
        return self.firsts if copying else frozenset()

    def gives_up(self, state: State) -> frozenset[int]:
        """Return the token that begins ``ANONYMOUS`` here."""
        is_start = (_At.NOTHING, 0, 0, 0) in state
        return frozenset(self.anonymous[:1]) if is_start else frozenset()


def list_removed(state: State) -> list[tuple[int, int, int]]:
    """Return the ranges of source tokens that a finished output removes, each with the
    placeholder's number.

    Raises:
        DetectorError: The output is not finished.
    """
    if (_At.DONE, 0, 0, 0) not in state:
        raise DetectorError("the output was cut off; use shorter windows")
    path, found = state[_At.DONE, 0, 0, 0], []
    while path is not None:
        path, first, stop, which = path
        found.append((first, stop, which))
    return found[::-1]


class CopyProcessor(LogitsProcessor):
    """Holds ``generate`` of transformers to a grammar, a row per note.

    Args:
        grammars: One per row.
        prompt: Tokens before the output, the same number in every row.
    """

    def __init__(self, grammars: Sequence[CopyGrammar], *, prompt: int) -> None:
        self._grammars, self._prompt = grammars, prompt
        self._states = [grammar.start() for grammar in grammars]
        self._read = prompt

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> Any:
        """Return the scores with minus infinity for every token that may not follow."""
        held = torch.full_like(scores, float("-inf"))
        for row, grammar in enumerate(self._grammars):
            for token in input_ids[row, self._read :].tolist():
                self._states[row] = grammar.advance(self._states[row], token)
            tokens = grammar.list_allowed(self._states[row]) or [grammar.end]
            held[row, tokens] = scores[row, tokens]
        self._read = input_ids.shape[1]
        return held
