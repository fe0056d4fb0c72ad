"""Greedy decoding of one note, held to its words or free.

What is likely copied is checked many tokens at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import DynamicCache

from deid_generative.grammar import CopyGrammar, State, list_removed


@dataclass(frozen=True, slots=True)
class Decoding:
    """How an output is written.

    Args:
        constrained: Whether it is held to the grammar.
        ahead: Source tokens that are proposed at once and kept as far as the model would have
            written them; 0 for one token at a time. The output is the same.
        bias: Added to the score of a placeholder and taken from that of ``ANONYMOUS``: above 0,
            more is removed.
    """

    constrained: bool = True
    ahead: int = 24
    bias: float = 0.0


@dataclass(frozen=True, slots=True)
class Decoded:
    """An output.

    Args:
        tokens: Without the end.
        finished: Whether it came to its end.
        holes: Ranges of source tokens that it removes, each with the placeholder's number, where it
            was held to the grammar and finished.
        scores: Probability of each placeholder against the copy, as the model has it, in [0, 1].
        steps: Runs of the network.
    """

    tokens: list[int]
    finished: bool
    holes: list[tuple[int, int, int]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    steps: int = 0


@torch.inference_mode()
def decode(
    model: Any, prompt: Sequence[int], grammar: CopyGrammar, decoding: Decoding, *, most: int
) -> Decoded:
    """Return the greedy output for one prompt.

    Args:
        model: A causal language model of transformers.
        prompt: Tokens before the output.
        grammar: What the source allows; followed, or where ``constrained`` is off, used to guess
            ahead alone.
        decoding: How.
        most: Tokens to write at most, the end included.
    """
    return _Run(model, grammar, decoding, most).run(prompt)


class _Run:
    def __init__(self, model: Any, grammar: CopyGrammar, decoding: Decoding, most: int) -> None:
        self._model, self._grammar, self._decoding, self._most = model, grammar, decoding, most
        self._cache = DynamicCache()
        self._state: State = grammar.start()
        self._tokens: list[int] = []
        self._scores: list[float] = []
        self._steps = 0
        self._over = False

    def run(self, prompt: Sequence[int]) -> Decoded:
        fed = list(prompt)
        while not self._over and len(self._tokens) < self._most:
            guess = self._guess()
            logits = self._forward([*fed, *guess], rows=len(guess) + 1)
            known = self._cache.get_seq_length() - len(guess)
            before = len(self._tokens)
            for row, guessed in zip(logits, [*guess, None], strict=True):
                token = self._take(row)
                if self._over or token != guessed or len(self._tokens) >= self._most:
                    break
            written = self._tokens[before:]
            # What was guessed right is in the cache already; the last token written is not.
            self._cache.crop(known + max(0, len(written) - 1))
            fed = written[-1:]
        finished = self._over
        holes = list_removed(self._state) if finished and self._decoding.constrained else []
        return Decoded(self._tokens, finished, holes, self._scores[: len(holes)], self._steps)

    def _guess(self) -> list[int]:
        room = self._most - len(self._tokens) - 1
        return self._grammar.ahead(self._state, min(self._decoding.ahead, max(0, room)))

    def _forward(self, tokens: Sequence[int], *, rows: int) -> torch.Tensor:
        """Return the scores behind the last tokens: (rows, vocabulary), unnormalised.

        Not those of the whole prompt.
        """
        self._steps += 1
        ids = torch.tensor([tokens], device=self._model.device)
        asked = {"logits_to_keep": rows} if self._model._supports_logits_to_keep() else {}  # noqa: SLF001
        found = self._model(input_ids=ids, past_key_values=self._cache, use_cache=True, **asked)
        logits: torch.Tensor = found.logits[0, -rows:]
        return logits.float()

    def _take(self, row: torch.Tensor) -> int:
        """Write the next token and return it."""
        token = self._best(row) if self._decoding.constrained else int(row.argmax())
        if self._decoding.constrained or self._decoding.ahead:
            self._state = self._grammar.advance(self._state, token)
        if token == self._grammar.end:
            self._over = True
        else:
            self._tokens.append(token)
        return token

    def _best(self, row: torch.Tensor) -> int:
        allowed = self._grammar.list_allowed(self._state)
        if len(allowed) == 1:
            return allowed[0]
        scores = row[allowed].tolist()
        opens, gives_up = self._grammar.opens(self._state), self._grammar.gives_up(self._state)
        if self._decoding.bias:
            signs = [(token in opens) - (token in gives_up) for token in allowed]
            scores = [
                score + self._decoding.bias * sign
                for score, sign in zip(scores, signs, strict=True)
            ]
        most = max(scores)
        best = allowed[scores.index(most)]
        if best in opens:
            weights = [math.exp(score - most) for score in scores]
            share = sum(
                weight for token, weight in zip(allowed, weights, strict=True) if token in opens
            )
            self._scores.append(round(min(1.0, share / sum(weights)), 4))
        return best
