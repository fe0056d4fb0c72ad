"""BERT and RoFormer over sub-tokens that lie one behind the other.

What is exported in place of the trained module.

It computes what that computes, with less work. Only attention sees rows of equal length; all else,
nine tenths of the arithmetic, runs over the sub-tokens that there are. The last block runs over the
first sub-tokens of words alone, since no other has a tag. The scale of attention is part of a
matrix, and RoFormer's angles are one operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from deid_onnx.families.transformers import pack_feeds
from deid_onnx.pieces import PieceSettings, rows

# added where there is no sub-token; not minus infinity, which half precision turns into no number
_HIDDEN = -1e4
_BASE = 10_000.0  # of the angles of RoFormer (Su et al. 2021)


def fits(model: Any) -> bool:
    """Return whether a model for token classification is one that ``PackedEncoder`` computes."""
    config = model.config
    if config.model_type == "roformer":
        return (
            not config.rotary_value
            and config.embedding_size == config.hidden_size
            and not config.is_decoder
        )
    is_absolute = getattr(config, "position_embedding_type", "absolute") == "absolute"
    return config.model_type == "bert" and is_absolute and not config.is_decoder


def axes(names: Sequence[str]) -> dict[str, dict[int, str]]:
    """Return the names of the axes of feeds, of which each has the same length in all of them."""
    rows_of = {"slots": "longest", "word_slots": "most_words"}
    return {
        name: (
            {0: "rows", 1: rows_of[name]}
            if name in rows_of
            else {0: "words" if name in {"words", "word_places"} else "sub_tokens"}
        )
        for name in names
    }


def example(settings: PieceSettings) -> Mapping[str, torch.Tensor]:
    """Return feeds to trace with: two rows of unlike length, of words of one and two sub-tokens."""
    some = settings.unknown
    lines = [[[some], [some, some], [some]], [[some, some], [some]]]
    cut = [
        row
        for number, words in enumerate(lines)
        for row in rows(
            words, settings, source=number, kinds=[1] * len(words) if settings.kinds else []
        )
    ]
    return {name: torch.from_numpy(array) for name, array in pack_feeds(cut).items()}


class PackedPlaces(NamedTuple):
    """Places of the states.

    Args:
        slots: Which of them stands at each place of each row: (rows, longest), none below 0.
        places: Where each stands in ``slots`` laid flat: (states,).
        positions: Where each stands in its row: (states,).
    """

    slots: torch.Tensor
    places: torch.Tensor
    positions: torch.Tensor


class PackedEncoder(torch.nn.Module):
    """The scores of words, as ``deid_onnx.families.transformers.PackedNetwork`` asks for them.

    Args:
        model: One that ``fits``, in evaluation mode.
        names: Of the feeds, in the order in which ``forward`` is given them.
    """

    def __init__(self, model: Any, names: Sequence[str]) -> None:
        super().__init__()
        self._names = tuple(names)
        given = model.base_model.embeddings
        self.pieces, self.norm = given.word_embeddings, given.LayerNorm
        self.looks = given.token_type_embeddings
        self.stands = getattr(given, "position_embeddings", None)
        turns = _turns(model.config) if self.stands is None else None
        self.blocks = torch.nn.ModuleList(
            _Block(layer, turns) for layer in model.base_model.encoder.layer
        )
        self.scores = model.classifier

    def forward(self, *given: torch.Tensor) -> torch.Tensor:
        """Return (words, tags) for ``pack_feeds``."""
        feeds = dict(zip(self._names, given, strict=True))
        read = self._embed(feeds)
        hidden = torch.where(feeds["slots"] < 0, _HIDDEN, 0.0)[:, None, None, :]
        places = PackedPlaces(feeds["slots"].clamp(min=0), feeds["places"], feeds["positions"])
        for block in self.blocks[:-1]:
            read = block((read, places), (read, places), hidden)
        words = feeds["words"]
        asking = (
            read[words],
            PackedPlaces(feeds["word_slots"], feeds["word_places"], feeds["positions"][words]),
        )
        found: torch.Tensor = self.scores(self.blocks[-1](asking, (read, places), hidden))
        return found

    def _embed(self, feeds: Mapping[str, torch.Tensor]) -> torch.Tensor:
        look = self.looks(feeds["kinds"]) if "kinds" in feeds else self.looks.weight[0]
        read = self.pieces(feeds["input_ids"]) + look
        if self.stands is not None:
            read = read + self.stands(feeds["positions"])
        found: torch.Tensor = self.norm(read)
        return found


class _Block(torch.nn.Module):
    """One block of an encoder.

    Args:
        layer: Of the trained module.
        turns: Cosines and sines by which query and key are turned, or none.
    """

    def __init__(self, layer: Any, turns: tuple[torch.Tensor, torch.Tensor] | None) -> None:
        super().__init__()
        attention = layer.attention.self
        self.heads, size = attention.num_attention_heads, attention.attention_head_size
        order = _halves(self.heads, size) if turns else torch.arange(self.heads * size)
        self.turns = torch.nn.ParameterList(turns or [])
        self.query = _reorder(attention.query, order, factor=size**-0.5)
        self.key, self.value = _reorder(attention.key, order), attention.value
        self.attended, self.attended_norm = (
            layer.attention.output.dense,
            layer.attention.output.LayerNorm,
        )
        self.wide, self.act = layer.intermediate.dense, layer.intermediate.intermediate_act_fn
        self.narrow, self.norm = layer.output.dense, layer.output.LayerNorm

    def forward(
        self,
        asking: tuple[torch.Tensor, PackedPlaces],
        read: tuple[torch.Tensor, PackedPlaces],
        hidden: torch.Tensor,
    ) -> torch.Tensor:
        """Return the states of those that ask, after the block.

        Args:
            asking: States, (states, width), and where they stand.
            read: The same of all that they see.
            hidden: (rows, 1, 1, longest), added to attention.
        """
        query = self._heads(self._turn(self.query(asking[0]), asking[1]), asking[1])
        key = self._heads(self._turn(self.key(read[0]), read[1]), read[1])
        value = self._heads(self.value(read[0]), read[1])
        shares = torch.softmax(query @ key.transpose(2, 3) + hidden, dim=3)
        seen = (
            (shares @ value)
            .transpose(1, 2)
            .reshape(-1, self.attended.in_features)[asking[1].places]
        )
        state = self.attended_norm(self.attended(seen) + asking[0])
        found: torch.Tensor = self.norm(self.narrow(self.act(self.wide(state))) + state)
        return found

    def _turn(self, states: torch.Tensor, places: PackedPlaces) -> torch.Tensor:
        if not len(self.turns):
            return states
        turn: Any = _Turn  # its base class has no types
        turned: torch.Tensor = turn.apply(states[:, None], places.positions[:, None], *self.turns)
        return turned[:, 0]

    def _heads(self, states: torch.Tensor, places: PackedPlaces) -> torch.Tensor:
        """Return states as (rows, heads, longest, width of a head)."""
        rows_count, longest = places.slots.shape
        size = self.attended.in_features // self.heads
        return states[places.slots].reshape(rows_count, longest, self.heads, size).transpose(1, 2)


class _Turn(torch.autograd.Function):
    """Turns each pair of numbers of a head by its angle; one operator of ONNX Runtime."""

    @staticmethod
    def forward(
        _: Any, states: torch.Tensor, positions: torch.Tensor, *turns: torch.Tensor
    ) -> torch.Tensor:
        """Return states turned: (states, 1, width).

        Of a head, the first half are the pairs' first numbers.
        """
        cosines, sines = (table[positions][:, :, None] for table in turns)
        first, second = states.reshape(len(states), 1, -1, 2, cosines.shape[3]).unbind(3)
        return torch.stack(
            [first * cosines - second * sines, second * cosines + first * sines], dim=3
        ).flatten(2)

    @staticmethod
    def symbolic(graph: Any, states: Any, positions: Any, *turns: Any) -> Any:
        """Return the operator of the exported graph.

        It takes no row that is longer than the tables: each is a row.
        """
        return graph.op("com.microsoft::RotaryEmbedding", states, positions, *turns).setType(
            states.type()
        )


def _turns(config: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cosines and sines of RoFormer's angles: (positions, half a head)."""
    half = config.hidden_size // config.num_attention_heads // 2
    rates = _BASE ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.arange(config.max_position_embeddings, dtype=torch.float64)[:, None] * rates
    return angles.cos().float(), angles.sin().float()


def _halves(heads: int, size: int) -> torch.Tensor:
    """Return the order in which a head's even numbers come before its odd ones.

    Products do not change with it.
    """
    return torch.arange(heads * size).reshape(heads, size // 2, 2).transpose(1, 2).flatten()


def _reorder(layer: Any, order: torch.Tensor, *, factor: float = 1.0) -> torch.nn.Linear:
    """Return a layer whose numbers come in another order, each times a factor."""
    changed = torch.nn.Linear(layer.in_features, layer.out_features)
    changed.weight = torch.nn.Parameter(layer.weight.detach()[order] * factor)
    changed.bias = torch.nn.Parameter(layer.bias.detach()[order] * factor)
    return changed
