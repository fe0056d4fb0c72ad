"""How much memory a model takes, estimated before any of its weights is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import transformers

from deid_assets.extending import ConfigError

GB = 1e9
_RUNTIME = 0.6 * GB
"""Of CUDA itself, about."""
_QUANTISED = {4: 4.5 / 8, 8: 1.05}
"""Bytes of a quantised weight with the scales of its block."""
_WIDE_BITS = 16
_BFLOAT16 = ("avx512_bf16", "amx_bf16", "bf16")
"""Names that PyTorch has for it, of x86 and of ARM."""


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """An estimate in bytes.

    Args:
        weights: Of the base.
        cache: Keys and values of the whole context.
        work: Activations and scores.
        training: Adapter, gradients and moments of the optimiser.
    """

    weights: float
    cache: float
    work: float
    training: float = 0.0

    @property
    def total(self) -> float:
        """Total memory, that of the runtime included."""
        return self.weights + self.cache + self.work + self.training + _RUNTIME


def estimate(
    config: Any,
    *,
    bits: int,
    context: int,
    batch: int = 1,
    trained: int = 0,
    adapted_layers: bool = False,
) -> MemoryEstimate:
    """Return the memory that a model takes.

    Args:
        config: Of transformers; no weight is read.
        bits: Of a weight in the linear layers; embeddings have at least 16.
        context: Tokens of prompt and output.
        batch: Texts at once.
        trained: Parameters that are trained; 0 in use.
        adapted_layers: Whether activations are kept for gradients.
    """
    linear, wide = parameters(config)
    size = _QUANTISED.get(bits, bits / 8)
    computed = 4 if bits > _WIDE_BITS else 2
    width, layers = int(config.hidden_size), int(config.num_hidden_layers)
    heads = int(config.num_attention_heads)
    kept = int(getattr(config, "num_key_value_heads", None) or heads)
    head = int(getattr(config, "head_dim", None) or width // heads)
    tokens = context * batch
    scores = tokens * int(config.vocab_size) * 4 * (2 if trained else 0)
    work = (
        tokens * width * 16 * computed
        + scores
        + (layers * tokens * width * computed if adapted_layers else 0)
    )
    cache = 0 if trained else layers * 2 * kept * head * tokens * computed
    return MemoryEstimate(linear * size + wide * max(2, computed), cache, work, trained * 16.0)


def parameters(config: Any) -> tuple[int, int]:
    """Return how many parameters are in linear layers, and how many are embeddings, norms and the
    last layer.
    """
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
    outer = {id(model.get_output_embeddings()), id(model.get_input_embeddings())}
    total = sum(parameter.numel() for parameter in model.parameters())
    linear = sum(
        module.weight.numel()
        for module in model.modules()
        if isinstance(module, torch.nn.Linear) and id(module) not in outer
    )
    return linear, total - linear


def check_budget(memory: MemoryEstimate, budget_gb: float, *, name: str, bits: int) -> None:
    """Refuse what does not fit.

    Raises:
        ConfigError: The estimate is above the budget; the message says what would help.
    """
    if memory.total > budget_gb * GB:
        raise ConfigError(
            f"model {name} at {bits} bits takes about {memory.total / GB:.1f} GB "
            f"(weights {memory.weights / GB:.1f}), over the budget of {budget_gb:g} GB; "
            "choose fewer bits, a shorter context or a smaller model, or raise budget_gb"
        )


def choose_bits(wanted: int | str, *, device: torch.device, quantises: bool) -> int:
    """Return the bits of a weight for ``auto``, or what was asked for.

    Args:
        wanted: ``auto``, or bits.
        device: Where it will run.
        quantises: Whether bitsandbytes is installed.

    Raises:
        ConfigError: 8 or 4 were asked for where they are not to be had.
    """
    can = device.type == "cuda" and quantises
    if wanted == "auto":
        if can:
            return 8
        return 16 if device.type == "cuda" else 32
    if int(wanted) < _WIDE_BITS and not can:
        raise ConfigError(
            f"bits = {wanted} needs a GPU and bitsandbytes; leave bits at auto, or install them"
        )
    return int(wanted)


def stays_half(config: Any) -> bool:
    """Whether a model is stored in bfloat16 and this processor multiplies in it.

    Elsewhere bfloat16 is emulated, slower than 32 bits. A base that gets an adapter is read at 32
    bits all the same: the adapter's small changes would be rounded away.
    """
    can = torch.cpu.get_capabilities()
    return getattr(config, "dtype", None) is torch.bfloat16 and any(
        can.get(name) for name in _BFLOAT16
    )


def describe(memory: MemoryEstimate, *, name: str, bits: int) -> str:
    """Return the line that is shown before a model is read."""
    return (
        f"model {name} at {bits} bits takes about {memory.total / GB:.1f} GB "
        f"(weights {memory.weights / GB:.1f}); reading it"
    )
