"""The network as it is trained, with PyTorch. ``network.py`` runs the same with NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from deid_compact.features import GAPS, TABLE_ROWS
from deid_compact.lexicon import COLUMNS
from deid_compact.network import DILATIONS, CompactWeights, Floats

_INT8 = 127


@dataclass(frozen=True, slots=True)
class Feed:
    """A batch of notes for the network.

    Args:
        rows: Rows of the batch's distinct words, one word after the other: (rows,).
        starts: Where each word's rows begin: (distinct words,).
        lists: Which lists hold each word: (distinct words, lists).
        words: Number of each word among the distinct, -1 where the batch is filled up: (notes,
            words).
        gaps: How each is set off: (notes, words).
        labels: Number of the label that the other detector gave each: (notes, words).
    """

    rows: Tensor
    starts: Tensor
    lists: Tensor
    words: Tensor
    gaps: Tensor
    labels: Tensor


class CompactNet(nn.Module):
    """Parts of words added up, the mean of the note, convolutions over the words, a linear layer.

    Args:
        width: Of the layers.
        parts: Of the table.
        labels: Rows for labels of the other detector.
        outputs: Scores of each word.
        dropout: Of each layer.
    """

    def __init__(
        self, *, width: int, parts: int, labels: int, outputs: int, dropout: float
    ) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(TABLE_ROWS, parts, mode="sum")
        self.lists = nn.Linear(COLUMNS, parts, bias=False)
        self.project = nn.Linear(parts, width)
        self.gap = nn.Embedding(GAPS * GAPS, width)
        self.rule = nn.Embedding(labels, width)
        self.note = nn.Linear(width, width, bias=False)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(nn.Linear(3 * width, width) for _ in DILATIONS)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in DILATIONS)
        self.head = nn.Linear(width, outputs)
        self.dropout = nn.Dropout(dropout)
        for embedding in (self.gap, self.rule):
            nn.init.normal_(embedding.weight, 0.0, 0.1)
        # Rows that training never meets stay as they are: they must say next to nothing of a new
        # word.
        nn.init.normal_(self.table.weight, 0.0, 0.02)

    def forward(self, feed: Feed) -> Tensor:
        """Return scores: (notes, words, outputs), unnormalised."""
        spelled = torch.relu(self.table(feed.rows, feed.starts) + self.lists(feed.lists))
        of_words = self.project(spelled)[feed.words.clamp(min=0)]
        is_filling = (feed.words < 0)[..., None]
        states = of_words + self.gap(feed.gaps) + self.rule(feed.labels)
        states = self.norm(states + self.note(_means(states, is_filling)))
        states = self.dropout(states).masked_fill(is_filling, 0.0)
        for dilation, layer, norm in zip(DILATIONS, self.layers, self.norms, strict=True):
            added = torch.relu(layer(_neighbours(states, dilation)))
            states = norm(states + self.dropout(added)).masked_fill(is_filling, 0.0)
        scores: Tensor = self.head(states)
        return scores


def _means(states: Tensor, is_filling: Tensor) -> Tensor:
    """Return the mean of the states of each note's words: (notes, 1, width)."""
    words = (~is_filling).sum(dim=1, keepdim=True).clamp(min=1)
    return states.masked_fill(is_filling, 0.0).sum(dim=1, keepdim=True) / words


def _neighbours(states: Tensor, dilation: int) -> Tensor:
    """Return each word's states between those of the words ``dilation`` before and after."""
    length = states.shape[1]
    padded = nn.functional.pad(states, (0, 0, dilation, dilation))
    return torch.cat([padded[:, :length], states, padded[:, 2 * dilation :]], dim=-1)


def weights_of(net: CompactNet) -> CompactWeights:
    """Return the weights as they are kept, the table in 8 bits."""
    table = _array(net.table.weight)
    scales = (
        np.maximum(np.abs(table).max(axis=1) / _INT8, 1e-8).astype(np.float16).astype(np.float32)
    )
    rounded = np.clip(np.rint(table / scales[:, None]), -_INT8, _INT8).astype(np.int8)
    layers = [
        (_array(layer.weight.T), _array(layer.bias), _array(norm.weight), _array(norm.bias))
        for layer, norm in zip(net.layers, net.norms, strict=True)
    ]
    return CompactWeights(
        table=rounded,
        scales=scales,
        lists=_array(net.lists.weight.T),
        project=(_array(net.project.weight.T), _array(net.project.bias)),
        gap=_array(net.gap.weight),
        rule=_array(net.rule.weight),
        note=_array(net.note.weight.T),
        norm=(_array(net.norm.weight), _array(net.norm.bias)),
        layers=layers,
        head=(_array(net.head.weight.T), _array(net.head.bias)),
    )


def _array(values: Any) -> Floats:
    return np.ascontiguousarray(values.detach().cpu().numpy(), dtype=np.float32)


def pad_arrays(parts: Sequence[np.ndarray], empty: int) -> Tensor:
    """Return arrays of different lengths as one: (arrays, longest)."""
    longest = max(len(part) for part in parts)
    rows = np.full((len(parts), longest), empty, dtype=np.int64)
    for row, part in zip(rows, parts, strict=True):
        row[: len(part)] = part
    return torch.from_numpy(rows)
