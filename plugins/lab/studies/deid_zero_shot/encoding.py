"""A note as the sub-tokens of a masked language model, and which of them belong to which word."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import PluginError, Token

Array = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Specials:
    """Numbers of the sub-tokens that are no text, and the longest sequence.

    Args:
        before: Opens a sequence, as ``[CLS]``.
        after: Closes it, as ``[SEP]``.
        pad: Fills shorter sequences.
        mask: Hides.
        unknown: Stands for what the vocabulary cannot write, or ``None``.
        line: Stands where a line ends, or ``None``.
        window: Most sub-tokens in a sequence, ``before`` and ``after`` counted.
    """

    before: int
    after: int
    pad: int
    mask: int
    unknown: int | None
    line: int | None
    window: int


class EncodedNote(NamedTuple):
    """A note's sub-tokens.

    Args:
        ids: (sub-tokens,).
        starts: First code point of each; of a sub-token without text, where it stands.
        ends: After the last one.
    """

    ids: Array
    starts: Array
    ends: Array


class NoteEncoder:
    """Cuts notes into sub-tokens with their places in the text, whatever the kind of vocabulary.

    Args:
        tokenizer: Text of a ``tokenizer.json``.
        specials: Of the model.

    Raises:
        PluginError: It is no tokenizer.
    """

    def __init__(self, tokenizer: str, specials: Specials) -> None:
        from tokenizers import Tokenizer  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415 - stays light

        try:
            given = json.loads(tokenizer) | {
                "truncation": None,
                "padding": None,
                "post_processor": None,
            }
            self._tokenizer: Any = Tokenizer.from_str(json.dumps(given))
        except Exception as error:
            raise PluginError(
                f"tokenizer.json is no tokenizer ({type(error).__name__}); save it again"
            ) from error
        self._tokenizer.encode_special_tokens = True  # a note that says [MASK] says six letters
        self.specials = specials
        self._not_text = {
            specials.before,
            specials.after,
            specials.pad,
            specials.mask,
            specials.line,
        } - {None}
        self._unknown = specials.mask if specials.unknown is None else specials.unknown

    def encode(self, text: str) -> EncodedNote:
        """Return the sub-tokens of a text, without those around a sequence."""
        found = self._tokenizer.encode(text, add_special_tokens=False)
        ids: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        for number, (start, end) in zip(found.ids, found.offsets, strict=True):
            first = start
            while first < end and text[first].isspace():
                first += 1
            if first == end and start < end:  # a blank that is a sub-token of its own
                first = start
            if self.specials.line is not None and ids and _breaks(text[ends[-1] : first]):
                ids.append(self.specials.line)
                starts.append(ends[-1])
                ends.append(ends[-1])
            # A vocabulary of SentencePiece cuts such text into the special sub-token itself.
            ids.append(self._unknown if number in self._not_text else number)
            starts.append(first)
            ends.append(end)
        return EncodedNote(*(np.array(part, dtype=np.int64) for part in (ids, starts, ends)))

    def pieces(self, text: str) -> list[int]:
        """Return the sub-tokens of a text that follows a blank."""
        found: list[int] = self.encode(" " + text).ids.tolist()
        return found

    def write_token(self, number: int) -> str:
        """Return what the vocabulary writes for a sub-token, its marks included.

        ``""`` where there is none.
        """
        return self._tokenizer.id_to_token(number) or ""

    def text_of(self, number: int) -> str:
        """Return the text that a sub-token stands for by itself; ``""`` for one that is no text."""
        if number in self._not_text or number == self._unknown:
            return ""
        found: str = self._tokenizer.decode([number], skip_special_tokens=True)
        return found


def _breaks(gap: str) -> bool:
    return "\n" in gap or "\r" in gap


def pieces_of(encoded: EncodedNote, words: Sequence[Token]) -> list[range]:
    """Return each word's sub-tokens as a range of their numbers.

    Empty where the tokenizer leaves nothing of it.

    A sub-token that reaches over two words belongs to both.
    """
    has_text = encoded.ends > encoded.starts
    numbers = np.flatnonzero(has_text)
    starts, ends = (
        encoded.starts[numbers],
        (np.maximum.accumulate(encoded.ends[numbers]) if len(numbers) else numbers),
    )
    found = []
    for start, end in words:
        first = int(np.searchsorted(ends, start, side="right"))
        last = int(np.searchsorted(starts, end, side="left"))
        found.append(
            range(int(numbers[first]), int(numbers[last - 1]) + 1) if first < last else range(0)
        )
    return found
