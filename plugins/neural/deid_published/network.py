"""A published model's scores.

Its own tokenizer over the whole text, windows of sub-tokens, ONNX Runtime.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import PluginError
from deid_onnx.families import Run
from deid_published.aggregation import SubToken, piece_windows
from deid_published.folder import TOKENIZER

LONGEST = 4096
"""Most sub-tokens of a window, where a model says no length or a very great one."""
_TOGETHER = 8  # windows of one note in one run
_AFTER_PADDING = frozenset(
    {
        "camembert",
        "data2vec-text",
        "esm",
        "ibert",
        "longformer",
        "luke",
        "mpnet",
        "roberta",
        "roberta-prelayernorm",
        "xlm-roberta",
        "xlm-roberta-xl",
        "xmod",
    }
)
"""Architectures whose positions begin after the padding's."""


def positions(config: Any) -> int:
    """Return how many positions a network has for sub-tokens, special ones included.

    0 where its configuration names no number.
    """
    named = max(0, int(getattr(config, "max_position_embeddings", 0) or 0))
    if named and config.model_type in _AFTER_PADDING:
        return named - int(config.pad_token_id) - 1
    return named


class SubTokenScorer:
    """Text to sub-tokens, and sub-tokens to scores.

    Args:
        folder: Has the ``tokenizer.json`` of the model.
        run: The network.
        window: Most sub-tokens in one sequence, with the special ones.
        overlap: Sub-tokens that neighbouring windows share.
        unknown: Number of the tokenizer's unknown one, where it has one.

    Raises:
        PluginError: The tokenizer is missing or broken, or the window has no room.
    """

    def __init__(
        self, folder: Path, run: Run, *, window: int, overlap: int, unknown: int | None = None
    ) -> None:
        from tokenizers import Tokenizer  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415 - light import

        try:
            self._tokenizer: Any = Tokenizer.from_file(str(folder / TOKENIZER))
        except Exception as error:
            raise PluginError(
                f"{folder / TOKENIZER} is no tokenizer ({type(error).__name__}); add again"
            ) from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._run = run
        empty = self._tokenizer.encode("")
        inside = self._tokenizer.encode("a").special_tokens_mask
        before = inside.index(0) if 0 in inside else len(empty.ids)
        self._before, self._after = empty.ids[:before], empty.ids[before:]
        self._unknown = unknown
        self._room = window - len(empty.ids)
        self._overlap = overlap
        if not 0 <= overlap < self._room:
            raise PluginError(
                f"window {window}, overlap {overlap}: a window must be longer than its overlap"
            )

    def read(self, text: str) -> tuple[list[SubToken], NDArray[np.float32]]:
        """Return the sub-tokens of a text and their scores (pieces, tags).

        Special ones are left out.
        """
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        pieces = [
            SubToken(start, end, token, is_unknown=number == self._unknown)
            for (start, end), token, number in zip(
                encoding.offsets, encoding.tokens, encoding.ids, strict=True
            )
        ]
        if not pieces:
            return [], np.zeros((0, 0), dtype=np.float32)
        return pieces, self._scores(encoding.ids)

    def _scores(self, ids: Sequence[int]) -> NDArray[np.float32]:
        windows = piece_windows(len(ids), room=self._room, overlap=self._overlap)
        owned = []
        for at in range(0, len(windows), _TOGETHER):
            some = windows[at : at + _TOGETHER]
            rows = np.array(
                [[*self._before, *ids[each.start : each.stop], *self._after] for each in some],
                dtype=np.int64,
            )
            found = self._run({"input_ids": rows, "attention_mask": np.ones_like(rows)})
            for row, each in zip(found, some, strict=True):
                inner = row[len(self._before) : len(self._before) + each.stop - each.start]
                owned.append(inner[each.own_start - each.start : each.own_stop - each.start])
        return np.concatenate(owned)
