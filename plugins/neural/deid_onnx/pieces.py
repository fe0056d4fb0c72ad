"""Words to the sub-tokens of an encoder, and long inputs to overlapping windows.

NumPy and ``tokenizers`` only.

Each word is cut by itself, so that every word has sub-tokens of its own and a label on the first of
them, whatever the tokenizer: no alignment of offsets is needed, and nothing a tokenizer does to one
word can move another's label.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import PluginError, Token
from deid_onnx.kinds import kind_of

TOKENIZER_FILE = "tokenizer.json"
_REMEMBERED = 200_000  # different words whose sub-tokens are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceSettings:
    """Inputs of an encoder; the object ``inputs`` of ``tagger.json``.

    Args:
        before: Number of the sub-token that opens a sequence, as ``[CLS]``.
        after: Of the one that closes it, as ``[SEP]``.
        pad: Of the one that fills shorter sequences.
        unknown: Of the one for words of which the tokenizer leaves nothing.
        line: Of the one that stands where a line ends between two words, or ``None`` for none.
        window: Most sub-tokens in a sequence, with ``before`` and ``after``.
        overlap: Sub-tokens that neighbouring windows of a longer input share.
        word: Most sub-tokens of one word; the rest of a longer word is not read.
        kinds: Whether the encoder reads what each word looks like, as ``deid_onnx.kinds`` numbers
            it.
    """

    before: int
    after: int
    pad: int
    unknown: int
    line: int | None = None
    window: int = 512
    overlap: int = 128
    word: int = 64
    kinds: bool = False

    def __post_init__(self) -> None:
        if self.overlap < 0 or self.word < 1 or self.word + 1 > self.room - self.overlap:
            raise PluginError(
                f"window {self.window}, overlap {self.overlap}, word {self.word}: "
                "a window must have room for the overlap and one word more"
            )

    @property
    def room(self) -> int:
        """Sub-tokens of words that one window has room for."""
        return self.window - 2


class Pieces:
    """Cuts words into sub-tokens, and remembers them.

    Args:
        tokenizer: Path of a ``tokenizer.json``.
        settings: Of the encoder.

    Raises:
        PluginError: The file is missing or is no tokenizer.
    """

    def __init__(self, tokenizer: Path, settings: PieceSettings) -> None:
        if not tokenizer.is_file():
            raise PluginError(
                f"{tokenizer}: no such file; the tokenizer must be saved as {TOKENIZER_FILE}"
            )
        from tokenizers import Tokenizer  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415 - importing the plugin stays light

        try:
            given = json.loads(tokenizer.read_text(encoding="utf-8"))
            self._tokenizer = Tokenizer.from_str(json.dumps(_wordwise(given)))
        except Exception as error:
            raise PluginError(
                f"{tokenizer} is no tokenizer ({type(error).__name__}); save it again"
            ) from error
        self.settings = settings
        self._known: dict[str, list[int]] = {}
        self._kinds: dict[str, int] = {}

    def of(self, text: str, tokens: Sequence[Token]) -> list[list[int]]:
        """Return the sub-tokens of each word.

        At least one, at most ``settings.word`` and a line's end.

        A word that a blank or nothing comes before is cut as after a blank, any other as the inside
        of a word.
        """
        return self._read(text, tokens)[0]

    def kinds(self, text: str, tokens: Sequence[Token]) -> list[int]:
        """Return what each word looks like; nothing where the encoder does not read it."""
        return self._read(text, tokens)[1]

    def rows(self, text: str, tokens: Sequence[Token], *, source: int) -> list[SubTokenRow]:
        """Return the sequences of one input.

        Of its words' sub-tokens, and of their kinds where those are read.
        """
        words, kinds = self._read(text, tokens)
        return rows(words, self.settings, source=source, kinds=kinds)

    def _read(self, text: str, tokens: Sequence[Token]) -> tuple[list[list[int]], list[int]]:
        keys = _keys(text, tokens)
        self._learn(keys)
        found = [self._known[key] for key in keys]
        if self.settings.line is not None:
            mark = [self.settings.line]
            for number in range(len(tokens) - 1):
                gap = text[tokens[number][1] : tokens[number + 1][0]]
                if "\n" in gap or "\r" in gap:
                    found[number] = found[number] + mark
        return found, [self._kinds[key] for key in keys] if self.settings.kinds else []

    def _learn(self, keys: Iterable[str]) -> None:
        if len(self._known) > _REMEMBERED:
            self._known.clear()
            self._kinds.clear()
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        encoded = self._tokenizer.encode_batch(new, add_special_tokens=False) if new else []
        for key, encoding in zip(new, encoded, strict=True):
            self._known[key] = encoding.ids[: self.settings.word] or [self.settings.unknown]
            self._kinds[key] = kind_of(key)


def _keys(text: str, tokens: Sequence[Token]) -> list[str]:
    return [
        text[start:end] if start and not text[start - 1].isspace() else " " + text[start:end]
        for start, end in tokens
    ]


def _wordwise(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tokenizer's description changed to cut single words.

    No blank is added, nothing is cut off or filled.
    """
    changed = {key: _drop_blanks(value) for key, value in given.items()}
    return changed | {"truncation": None, "padding": None, "post_processor": None}


def _drop_blanks(part: Any) -> Any:
    if isinstance(part, list):
        return [_drop_blanks(entry) for entry in part]
    if not isinstance(part, dict):
        return part
    if part.get("type") == "Prepend":
        return {"type": "Sequence", "normalizers": []}
    changed = {key: value if key == "vocab" else _drop_blanks(value) for key, value in part.items()}
    if part.get("type") == "Metaspace":
        changed |= {"prepend_scheme": "never"}
    if part.get("type") == "ByteLevel":
        changed |= {"add_prefix_space": False}
    return changed


@dataclass(frozen=True, slots=True)
class WordWindow:
    """Words that are read together, and those whose tags are taken.

    The former are ``[start, stop)``, the latter ``[own_start, own_stop)``.
    """

    start: int
    stop: int
    own_start: int
    own_stop: int


def word_windows(
    sizes: Sequence[int] | NDArray[np.int64], *, room: int, overlap: int
) -> list[WordWindow]:
    """Return windows over words of which the owned parts tile all words.

    One window where they all fit.

    Args:
        sizes: Sub-tokens of each word, each at least 1 and at most ``room``.
        room: Sub-tokens in a window.
        overlap: Sub-tokens that neighbours share, or fewer: whole words only.
    """
    ends = np.cumsum(sizes)
    found: list[WordWindow] = []
    start = own = 0
    while start < len(sizes):
        before = int(ends[start - 1]) if start else 0
        stop = int(np.searchsorted(ends, before + room, side="right"))
        if stop == len(sizes):
            return [*found, WordWindow(start, stop, own, stop)]
        follower = int(np.searchsorted(ends, int(ends[stop - 1]) - overlap, side="left")) + 1
        follower = min(max(follower, start + 1), stop)
        border = (follower + stop + 1) // 2
        found.append(WordWindow(start, stop, own, border))
        start, own = follower, border
    return found


@dataclass(frozen=True, slots=True)
class SubTokenRow:
    """One sequence of sub-tokens, and where its owned words begin in it.

    Args:
        ids: With the sub-tokens around it.
        firsts: Position of the first sub-token of each owned word.
        source: Number of the input it is of.
        word: Number of the first owned word within the input.
        kinds: What the word of each sub-token looks like; empty where that is not read.
    """

    ids: Sequence[int]
    firsts: NDArray[np.int64]
    source: int
    word: int
    kinds: Sequence[int] = ()


def rows(
    words: Sequence[Sequence[int]],
    settings: PieceSettings,
    *,
    source: int,
    kinds: Sequence[int] = (),
) -> list[SubTokenRow]:
    """Return the sequences of one input.

    Args:
        words: Sub-tokens of each.
        settings: Of the encoder.
        source: Number of the input.
        kinds: Of the words, where they are read.
    """
    found = []
    sizes = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    starts = np.cumsum(sizes) - sizes
    for window in word_windows(sizes, room=settings.room, overlap=settings.overlap):
        inside = slice(window.start, window.stop)
        ids = [settings.before, *chain.from_iterable(words[inside]), settings.after]
        firsts = starts[window.own_start : window.own_stop] - starts[window.start] + 1
        looks = [0, *np.repeat(kinds[inside], sizes[inside]).tolist(), 0] if kinds else []
        found.append(SubTokenRow(ids, firsts, source, window.own_start, looks))
    return found


def batches(
    lengths: Sequence[int], *, positions: int, alike: float = 0.8, least: int = 128
) -> list[list[int]]:
    """Return row numbers in batches of like length, longest first.

    The sentences of a note differ so much in length that padding all to the longest would double or
    treble the work.

    Args:
        lengths: Of the rows.
        positions: Most in a batch, with its padding; a row that is longer by itself is a batch.
        alike: A row shorter than this share of the batch's longest begins another batch; 0 for
            never.
        least: Unless the batch has fewer positions than this, or than a 32nd of all: small batches
            cost, too.
    """
    enough = max(least, sum(lengths) // 32)
    found: list[list[int]] = []
    for number in sorted(range(len(lengths)), key=lambda at: (-lengths[at], at)):
        longest = lengths[found[-1][0]] if found else 0
        held = longest * len(found[-1]) if found else 0
        if (
            not found
            or held + longest > positions
            or (lengths[number] < alike * longest and held >= enough)
        ):
            found.append([])
        found[-1].append(number)
    return found


def pad_rows(some: Sequence[SubTokenRow], *, pad: int) -> dict[str, NDArray[np.int64]]:
    """Return ``input_ids``, ``attention_mask`` and perhaps ``token_type_ids``.

    The last is there where rows have kinds. Each is (rows, positions).
    """
    ids = np.full((len(some), max(len(row.ids) for row in some)), pad, dtype=np.int64)
    mask = np.zeros_like(ids)
    kinds = np.zeros_like(ids)
    for number, row in enumerate(some):
        size = len(row.ids)
        ids[number, :size] = row.ids
        mask[number, :size] = 1
        kinds[number, : len(row.kinds)] = row.kinds
    read = {"token_type_ids": kinds} if some[0].kinds else {}
    return {"input_ids": ids, "attention_mask": mask, **read}
