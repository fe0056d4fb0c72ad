"""A model of transformers on this machine, with an adapter or without."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from deid_assets.extending import ConfigError, PluginError
from deid_assets.extending.measuring import Range
from deid_generative.align import trim
from deid_generative.decode import Decoded, Decoding, decode
from deid_generative.grammar import CopyGrammar
from deid_generative.placeholders import ANONYMOUS, PLACEHOLDER
from deid_generative.prompts import Prompt
from deid_generative.reading import Limits, Status, read_output
from deid_generative.written import Hole, WrittenOutput, judge_claim, of_reading

LEAST_ROOM = 24
"""Fewer source tokens in a window say nothing."""
_MARGIN = 16


@dataclass(frozen=True, slots=True)
class PromptShape:
    """How a model is spoken to.

    Args:
        prompt: What it is told.
        tags: Labels of typed placeholders; empty where one placeholder stands for all.
        longest: Most source tokens that one placeholder stands for.
        window: Source tokens of every prompt, shorter sources padded to it, so that a copy stands
            as far behind its source in all of them; what has nothing to remove is copied then, as
            ANONYMOUS is said of notes. 0 for what fits, without padding.
        limits: Beyond which a free output is not trusted.
    """

    prompt: Prompt
    tags: tuple[str, ...] = ()
    longest: int = 48
    window: int = 0
    limits: Limits = field(default_factory=Limits)

    @property
    def placeholders(self) -> list[str]:
        """Return the placeholders as the model writes them."""
        return [f"[{tag}]" for tag in self.tags] or [PLACEHOLDER]


class Speech:
    """Tokens of notes, prompts and placeholders, the same in training and in use.

    Args:
        tokenizer: A fast one of transformers.
        shape: How the model is spoken to.

    Raises:
        PluginError: The tokenizer tells no offsets, or has no end token.
    """

    def __init__(self, tokenizer: Any, shape: PromptShape) -> None:
        if not getattr(tokenizer, "is_fast", False) or tokenizer.eos_token_id is None:
            raise PluginError(
                "the model's tokenizer is not a fast one with an end token; choose another model"
            )
        self.tokenizer, self.shape = tokenizer, shape
        before, after = shape.prompt.around(tokenizer)
        is_chat = shape.prompt.chat and getattr(tokenizer, "chat_template", None)
        self.before = self._special(before, with_bos=not is_chat)
        self.after = self._special(after, with_bos=False)
        self.end = int(tokenizer.eos_token_id)
        self.holes = [self.plain(text)[0] for text in shape.placeholders]
        self.spaced = [self.plain(f" {text}")[0] for text in shape.placeholders]
        self.anonymous = self.plain(ANONYMOUS)[0]

    def _special(self, text: str, *, with_bos: bool) -> list[int]:
        return list(
            self.tokenizer(text, add_special_tokens=with_bos and self._has_bos())["input_ids"]
        )

    def _has_bos(self) -> bool:
        return (
            self.tokenizer.bos_token_id is not None
            and self.tokenizer.bos_token_id != self.tokenizer.eos_token_id
        )

    def plain(self, text: str) -> tuple[list[int], list[Range]]:
        """Return the tokens of a text and where each stands.

        A special token's name in it is ordinary text.
        """
        found = self.tokenizer(
            text, add_special_tokens=False, split_special_tokens=True, return_offsets_mapping=True
        )
        return list(found["input_ids"]), [
            (int(start), int(end)) for start, end in found["offset_mapping"]
        ]

    def prompt(self, source: Sequence[int]) -> list[int]:
        """Return the tokens before an answer."""
        pad = self.tokenizer.pad_token_id if self.tokenizer.pad_token_id is not None else self.end
        return [*self.before, *source, *[int(pad)] * (self.shape.window - len(source)), *self.after]

    def grammar(self, text: str, source: Sequence[int]) -> CopyGrammar:
        """Return what may be written about a text.

        A text that says ANONYMOUS itself cannot be answered with it.
        """
        never = bool(self.shape.window) or ANONYMOUS.casefold()[:6] in text.casefold()
        both = [*self.holes, *(tokens for tokens in self.spaced if tokens not in self.holes)]
        return CopyGrammar(
            source, both, [] if never else self.anonymous, self.end, self.shape.longest
        )

    def tag(self, number: int) -> str:
        """Return the label of a placeholder of a grammar, empty where it has none."""
        return self.shape.tags[number % len(self.shape.tags)] if self.shape.tags else ""


class LocalModel:
    """Writes outputs with a model of transformers, one text at a time, so that no output depends on
    the batch.

    Args:
        model: A causal language model.
        speech: Its tokens.
        decoding: How outputs are written.
        context: Most tokens of prompt and output; the model's own when not given.
        version: Changes with the weights.

    Raises:
        ConfigError: The prompt leaves no room for a note.
    """

    def __init__(
        self,
        model: Any,
        speech: Speech,
        decoding: Decoding,
        *,
        context: int | None = None,
        version: str = "",
    ) -> None:
        self._model, self._speech, self._decoding = model, speech, decoding
        own = int(getattr(model.config, "max_position_embeddings", 0) or 2048)
        self._context = min(context or own, own)
        used = len(speech.before) + len(speech.after) + _MARGIN
        # the note, its copy, and placeholders longer than what they hide
        self.room = (self._context - used) * 2 // 5
        if self.room < LEAST_ROOM:
            raise ConfigError(
                f"prompt {speech.shape.prompt.name} takes {used} of {self._context} tokens; "
                "choose a shorter prompt or a longer context"
            )
        if speech.shape.window > self.room:
            raise ConfigError(
                f"window {speech.shape.window} is over the {self.room} tokens of a note that fit"
                " the context"
            )
        self.room = speech.shape.window or self.room
        made_of = [
            version,
            speech.shape.prompt.told,
            speech.shape.tags,
            speech.shape.longest,
            asdict(decoding),
        ]
        made_of += [self._context, speech.shape.window, asdict(speech.shape.limits)]
        self.version = hashlib.sha256(json.dumps(made_of, default=str).encode()).hexdigest()[:12]

    def units(self, text: str) -> Sequence[Range]:
        """Return the tokens of a text as ranges."""
        return self._speech.plain(text)[1]

    def write(self, texts: Sequence[str]) -> list[WrittenOutput]:
        """Return what becomes of each text."""
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> WrittenOutput:
        source, offsets = self._speech.plain(text)
        if not text.strip():
            return WrittenOutput(Status.REWRITTEN)
        prompt = self._speech.prompt(source)
        grammar = self._speech.grammar(text, source)
        most = self._context - len(prompt)
        decoded = decode(self._model, prompt, grammar, self._decoding, most=most)
        output = self._speech.tokenizer.decode(decoded.tokens, skip_special_tokens=False)
        if not decoded.finished or not self._decoding.constrained:
            reading = read_output(
                text, output, finished=decoded.finished, limits=self._speech.shape.limits
            )
            return of_reading(
                reading, tokens=len(decoded.tokens), steps=decoded.steps, output=output
            )
        holes = self._holes(text, offsets, decoded)
        return WrittenOutput(
            judge_claim(Status.REWRITTEN, holes),
            holes,
            0,
            len(decoded.tokens),
            decoded.steps,
            output,
        )

    def _holes(self, text: str, offsets: Sequence[Range], decoded: Decoded) -> list[Hole]:
        scores = [*decoded.scores, *[1.0] * len(decoded.holes)]
        found = []
        for (first, stop, which), score in zip(decoded.holes, scores, strict=False):
            place = trim(text, (offsets[first][0], offsets[stop - 1][1]))
            if place is not None:
                found.append(Hole(*place, score, self._speech.tag(which)))
        return found
