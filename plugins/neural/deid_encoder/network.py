"""The network: an encoder of the BERT kind and a linear layer over its last states."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from deid_encoder.weights import EncoderShape, EncoderWeights

MATRICES = ("q", "k", "v", "ao", "fi", "fo")
"""Query, key, value, attention output, feed-forward in and out."""


class Block(nn.Module):
    """A transformer block with its norms behind the sums (Devlin et al. 2019)."""

    def __init__(self, shape: EncoderShape, dropout: float = 0.1) -> None:
        super().__init__()
        hidden = shape.hidden
        self.heads = shape.heads
        self.q = nn.Linear(hidden, hidden)
        self.k = nn.Linear(hidden, hidden)
        self.v = nn.Linear(hidden, hidden)
        self.ao = nn.Linear(hidden, hidden)
        self.fi = nn.Linear(hidden, shape.feed_forward)
        self.fo = nn.Linear(shape.feed_forward, hidden)
        self.aln = nn.LayerNorm(hidden, eps=shape.epsilon)
        self.oln = nn.LayerNorm(hidden, eps=shape.epsilon)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return new states.

        Args:
            states: (windows, pieces, hidden).
            mask: (windows, 1, 1, pieces), 0 where a piece is read and very negative where it is
                filling.
        """
        windows, pieces, hidden = states.shape
        split = (windows, pieces, self.heads, hidden // self.heads)
        query = self.q(states).view(split).transpose(1, 2)
        key = self.k(states).view(split).transpose(1, 2)
        value = self.v(states).view(split).transpose(1, 2)
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        joined = attended.transpose(1, 2).reshape(windows, pieces, hidden)
        states = self.aln(states + self.dropout(self.ao(joined)))
        wide = functional.gelu(self.fi(states))
        new: Tensor = self.oln(states + self.dropout(self.fo(wide)))
        return new


class Encoder(nn.Module):
    """Embeddings, blocks, and scores of each piece.

    Args:
        shape: Sizes of the encoder.
        outputs: Scores of each piece.
    """

    def __init__(self, shape: EncoderShape, outputs: int) -> None:
        super().__init__()
        self.shape = shape
        self.word = nn.Embedding(shape.vocabulary, shape.hidden)
        self.position = nn.Embedding(shape.positions, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(shape.hidden, outputs)

    def embed(self, pieces: Tensor) -> Tensor:
        """Return the first states: (windows, pieces, hidden)."""
        places = torch.arange(pieces.shape[1], device=pieces.device)
        states: Tensor = self.norm(self.word(pieces) + self.position(places))
        return states

    def run(self, states: Tensor, mask: Tensor, blocks: Sequence[nn.Module]) -> Tensor:
        """Return the states behind some blocks."""
        for block in blocks:
            states = block(states, mask)
        return states

    def forward(self, pieces: Tensor, mask: Tensor) -> Tensor:
        """Return scores.

        Args:
            pieces: (windows, pieces), int64.
            mask: As for a block.

        Returns:
            (windows, pieces, outputs), float32, unnormalised.
        """
        states = self.run(self.embed(pieces), mask, list(self.blocks))
        scores: Tensor = self.head(self.dropout(states))
        return scores


def load_encoder(weights: EncoderWeights, outputs: int) -> Encoder:
    """Return the encoder with its published weights and a new last layer."""
    encoder = Encoder(weights.shape, outputs)
    arrays = {name: torch.from_numpy(values) for name, values in weights.arrays.items()}
    # Every piece is of the first type, so its vector is added once and for all.
    state = {
        "word.weight": arrays["emb.word"],
        "position.weight": arrays["emb.pos"] + arrays["emb.type"][0],
        "norm.weight": arrays["emb.ln.w"],
        "norm.bias": arrays["emb.ln.b"],
    }
    for layer in range(weights.shape.layers):
        for part in (*MATRICES, "aln", "oln"):
            state[f"blocks.{layer}.{part}.weight"] = arrays[f"l{layer}.{part}.w"]
            state[f"blocks.{layer}.{part}.bias"] = arrays[f"l{layer}.{part}.b"]
    encoder.load_state_dict(state, strict=False)
    return encoder


def mask_of(filled: Tensor) -> Tensor:
    """Return the mask of windows.

    Args:
        filled: (windows, pieces), whether a piece is read.
    """
    floor = torch.finfo(torch.float32).min
    return torch.where(filled, 0.0, floor)[:, None, None, :]
