"""BERT and RoFormer over sub-tokens that lie one behind the other: what is exported in place of the trained module.

It computes what that computes, with less work. Only attention sees rows of equal length; all else, nine tenths of the
arithmetic, runs over the sub-tokens that there are. The last block runs over the first sub-tokens of words alone,
since no other has a tag. Query, key and value are one matrix, and the scale is part of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from deid_onnx.families.transformers import packed_feeds
from deid_onnx.pieces import PieceSettings, rows

_HIDDEN = -1e4  # added where there is no sub-token; not minus infinity, which half precision turns into no number
_BASE = 10_000.0  # of the angles of RoFormer (Su et al. 2021)


def fits(model: Any) -> bool:
    """Return whether a model for token classification is one that ``PackedEncoder`` computes."""
    config = model.config
    if config.model_type == "roformer":
        return not config.rotary_value and config.embedding_size == config.hidden_size and not config.is_decoder
    is_absolute = getattr(config, "position_embedding_type", "absolute") == "absolute"
    return config.model_type == "bert" and is_absolute and not config.is_decoder


def axes(names: Sequence[str]) -> dict[str, dict[int, str]]:
    """Return the names of the axes of feeds, of which each has the same length in all of them."""
    rows_of = {"slots": "longest", "word_slots": "most_words"}
    return {
        name: {0: "rows", 1: rows_of[name]}
        if name in rows_of
        else {0: "words" if name in {"words", "word_places"} else "sub_tokens"}
        for name in names
    }


def example(settings: PieceSettings) -> Mapping[str, torch.Tensor]:
    """Return feeds to trace with: two rows of unlike length, of words of one and two sub-tokens."""
    some = settings.unknown
    lines = [[[some], [some, some], [some]], [[some, some], [some]]]
    cut = [
        row
        for number, words in enumerate(lines)
        for row in rows(words, settings, source=number, kinds=[1] * len(words) if settings.kinds else [])
    ]
    return {name: torch.from_numpy(array) for name, array in packed_feeds(cut).items()}


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where states stand: entry of each place of the rows, place of each entry, and the angles of each entry.

    Args:
        slots: (rows, longest).
        places: (entries,).
        turns: Cosines and sines, (entries, 1, 1, half a head); none without RoFormer.
    """

    slots: torch.Tensor
    places: torch.Tensor
    turns: tuple[torch.Tensor, torch.Tensor] | None

    def of(self, entries: torch.Tensor, slots: torch.Tensor, places: torch.Tensor) -> _Layout:
        """Return the layout of some of the entries."""
        turns = (self.turns[0][entries], self.turns[1][entries]) if self.turns else None
        return _Layout(slots, places, turns)


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
        is_turned = self.stands is None
        self.turns = _turns(model.config) if is_turned else torch.nn.ParameterList()
        self.blocks = torch.nn.ModuleList(_Block(layer, turned=is_turned) for layer in model.base_model.encoder.layer)
        self.scores = model.classifier

    def forward(self, *given: torch.Tensor) -> torch.Tensor:
        """Return (words, tags) for ``packed_feeds``."""
        feeds = dict(zip(self._names, given, strict=True))
        read = self._embedded(feeds)
        hidden = torch.where(feeds["slots"] < 0, _HIDDEN, 0.0)[:, None, None, :]
        layout = _Layout(feeds["slots"].clamp(min=0), feeds["places"], self._turned(feeds["positions"]))
        for block in self.blocks[:-1]:
            read = block(read, layout, hidden)
        of_words = layout.of(feeds["words"], feeds["word_slots"], feeds["word_places"])
        found: torch.Tensor = self.scores(self.blocks[-1](read, layout, hidden, (read[feeds["words"]], of_words)))
        return found

    def _embedded(self, feeds: Mapping[str, torch.Tensor]) -> torch.Tensor:
        look = self.looks(feeds["kinds"]) if "kinds" in feeds else self.looks.weight[0]
        read = self.pieces(feeds["input_ids"]) + look
        if self.stands is not None:
            read = read + self.stands(feeds["positions"])
        found: torch.Tensor = self.norm(read)
        return found

    def _turned(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
        if not len(self.turns):
            return None
        cosines, sines = (table[positions][:, None, None] for table in self.turns)
        return cosines, sines


def _turns(config: Any) -> torch.nn.ParameterList:
    """Return cosines and sines of RoFormer's angles: (positions, half a head)."""
    half = config.hidden_size // config.num_attention_heads // 2
    rates = _BASE ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.arange(config.max_position_embeddings, dtype=torch.float64)[:, None] * rates
    return torch.nn.ParameterList([angles.cos().float(), angles.sin().float()])


class _Block(torch.nn.Module):
    """One block of an encoder.

    Args:
        layer: Of the trained module.
        turned: Whether query and key are turned by where they stand.
    """

    def __init__(self, layer: Any, *, turned: bool) -> None:
        super().__init__()
        attention = layer.attention.self
        self.heads = attention.num_attention_heads
        order = _halves(self.heads, attention.attention_head_size) if turned else None
        query = _part(attention.query, order, factor=attention.attention_head_size**-0.5)
        key, value = _part(attention.key, order), _part(attention.value, None)
        self.whole, self.known, self.query = _joined(query, key, value), _joined(key, value), _joined(query)
        self.attended, self.attended_norm = layer.attention.output.dense, layer.attention.output.LayerNorm
        self.wide, self.act = layer.intermediate.dense, layer.intermediate.intermediate_act_fn
        self.narrow, self.norm = layer.output.dense, layer.output.LayerNorm

    def forward(
        self,
        read: torch.Tensor,
        layout: _Layout,
        hidden: torch.Tensor,
        asking: tuple[torch.Tensor, _Layout] | None = None,
    ) -> torch.Tensor:
        """Return states after the block: of all that is read, or of ``asking`` alone.

        Args:
            read: (sub-tokens, width).
            layout: Of ``read``.
            hidden: (rows, 1, 1, longest), added to attention.
            asking: Some of the states, and their layout.
        """
        if asking is None:
            query, key, value = self._heads(self.whole(read), layout, turned=2)
            state, places = read, layout.places
        else:
            state, places = asking[0], asking[1].places
            (query,) = self._heads(self.query(state), asking[1], turned=1)
            key, value = self._heads(self.known(read), layout, turned=1)
        shares = torch.softmax(query @ key.transpose(2, 3) + hidden, dim=3)
        seen = (shares @ value).transpose(1, 2).reshape(-1, state.shape[1])[places]
        state = self.attended_norm(self.attended(seen) + state)
        found: torch.Tensor = self.norm(self.narrow(self.act(self.wide(state))) + state)
        return found

    def _heads(self, states: torch.Tensor, layout: _Layout, *, turned: int) -> Sequence[torch.Tensor]:
        """Return the parts of joined states as (rows, heads, longest, width of a head) each.

        Args:
            states: (entries, parts times width).
            layout: Of the states.
            turned: How many of the parts, the first ones, are query or key.
        """
        width = self.attended.in_features
        size = width // self.heads
        if layout.turns:
            pairs = states[:, : turned * width].reshape(-1, turned * self.heads, 2, size // 2)
            states = torch.cat([_turn(pairs, *layout.turns), states[:, turned * width :]], dim=1)
        rows_count, longest = layout.slots.shape
        padded = states[layout.slots].reshape(rows_count, longest, -1, self.heads, size)
        return padded.permute(2, 0, 3, 1, 4).unbind(0)


def _turn(pairs: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    """Return (entries, heads times width) of (entries, heads, 2, half), each pair turned by its angle."""
    even, odd = pairs[:, :, :1], pairs[:, :, 1:]
    return torch.cat([even * cosines - odd * sines, odd * cosines + even * sines], dim=2).flatten(1)


def _halves(heads: int, size: int) -> torch.Tensor:
    """Return the order in which a head's even numbers come before its odd ones. Products do not change with it."""
    return torch.arange(heads * size).reshape(heads, size // 2, 2).transpose(1, 2).flatten()


def _part(layer: Any, order: torch.Tensor | None, *, factor: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    weight, bias = layer.weight.detach() * factor, layer.bias.detach() * factor
    return (weight, bias) if order is None else (weight[order], bias[order])


def _joined(*parts: tuple[torch.Tensor, torch.Tensor]) -> torch.nn.Linear:
    """Return one layer that gives side by side what several give."""
    weight, bias = (torch.cat(values) for values in zip(*parts, strict=True))
    joined = torch.nn.Linear(weight.shape[1], weight.shape[0])
    joined.weight, joined.bias = torch.nn.Parameter(weight), torch.nn.Parameter(bias)
    return joined
