"""What the export of an architecture needs beside a trace of its network.

It is given in forms that find the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from transformers import masking_utils


@contextmanager
def exportable(model: Any) -> Iterator[None]:
    """Hold a network in a form that can be traced: no loop or branch of it depends on the text.

    Longformer's windows, a mixture's experts and the masks of causal networks are written in ways
    that a trace fixes to the text it was made with. The gate compares the export with the network
    as it is.
    """
    forms: list[tuple[Any, str, Any]] = [
        (module, name, _FORMS[type(child).__name__](child))
        for module in model.modules()
        for name, child in module.named_children()
        if type(child).__name__ in _FORMS
    ]
    if hasattr(masking_utils, "_vmap_for_bhqkv"):  # before transformers 5
        forms += [(masking_utils, "_vmap_for_bhqkv", _spread)]
        forms += [(masking_utils, "TransformGetItemToIndex", nullcontext)]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in forms]
    try:
        for owner, name, form in forms:
            setattr(owner, name, form)
        yield
    finally:
        for owner, name, child in before:
            setattr(owner, name, child)


def _spread(function: Callable[..., Any], *, bh_indices: bool = True) -> Callable[..., Any]:
    """Return a mask's function over all indices at once.

    Of positions alone, or of rows and heads as well.
    """

    def over(row: Any, head: Any, query: Any, key: Any) -> Any:
        if not bh_indices:
            return function(row, head, query[:, None], key[None])
        return function(
            row[:, None, None, None],
            head[None, :, None, None],
            query[None, None, :, None],
            key[None, None, None],
        )

    return over


class _LocalAttention(torch.nn.Module):
    """Longformer's attention (Beltagy, Peters and Cohan 2020) without global positions.

    Token classifiers have no global positions. Each block of queries meets its own block of keys
    and both neighbours, of which what is out of reach is masked.
    """

    def __init__(self, given: Any) -> None:
        super().__init__()
        self.given = given

    def forward(
        self, hidden_states: Any, attention_mask: Any, is_index_masked: Any, **_: Any
    ) -> tuple[Any, ...]:
        """Return (rows, positions, width).

        The number of positions is a multiple of twice the reach.
        """
        own, reach = self.given, self.given.one_sided_attn_window_size
        rows, length, width = hidden_states.shape

        def blocks(values: Any) -> Any:
            return values.view(rows, -1, reach, own.num_heads, own.head_dim).permute(0, 3, 1, 2, 4)

        queries = blocks(own.query(hidden_states) / own.head_dim**0.5)
        keys, values = (
            _add_neighbours(blocks(layer(hidden_states))) for layer in (own.key, own.value)
        )
        masked = torch.nn.functional.pad(
            (attention_mask != 0).to(queries.dtype), (reach, reach), value=1.0
        )
        masked = masked.view(rows, 1, -1, reach, 1)
        masked = torch.cat(
            [masked[:, :, :-2], masked[:, :, 1:-1], masked[:, :, 2:]], dim=3
        ).transpose(3, 4)
        apart = torch.arange(3 * reach)[None] - reach - torch.arange(reach)[:, None]
        scores = queries @ keys.transpose(-1, -2)
        scores = scores.masked_fill(
            (apart.abs() > reach) | (masked > 0), torch.finfo(scores.dtype).min
        )
        found = (
            (scores.softmax(dim=-1) @ values).permute(0, 2, 3, 1, 4).reshape(rows, length, width)
        )
        return (found.masked_fill(is_index_masked[:, :, None], 0.0),)


def _add_neighbours(blocks: Any) -> Any:
    """Return (…, blocks, three times as many positions, width).

    Each block between the one before and the one after.
    """
    padded = torch.nn.functional.pad(blocks, (0, 0, 0, 0, 1, 1))
    return torch.cat([padded[:, :, :-2], padded[:, :, 1:-1], padded[:, :, 2:]], dim=3)


class _Experts(torch.nn.Module):
    """A mixture's experts (OpenAI's privacy filter) one after the other.

    Each is run over the sub-tokens that it is given.
    """

    def __init__(self, given: Any) -> None:
        super().__init__()
        self.given = given

    def forward(self, hidden_states: Any, router_indices: Any, routing_weights: Any) -> Any:
        """Return (sub-tokens, width)."""
        own = self.given
        total = torch.zeros_like(hidden_states)
        for number in range(own.num_experts):
            share = (routing_weights * (router_indices == number)).sum(dim=-1)
            which = share.nonzero()[:, 0]
            inner = hidden_states[which] @ own.gate_up_proj[number] + own.gate_up_proj_bias[number]
            found = own._apply_gate(inner) @ own.down_proj[number] + own.down_proj_bias[number]  # noqa: SLF001 - the library's
            total = total.index_add(0, which, found * share[which, None])
        return total


_FORMS = {"LongformerSelfAttention": _LocalAttention, "OpenAIPrivacyFilterExperts": _Experts}
