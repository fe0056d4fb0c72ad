"""How a token is drawn from a model's scores: greedy, full, top-k, nucleus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from deid_assets.extending import InputError

Rule = Literal["greedy", "full", "top_k", "nucleus"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """A way to draw.

    Args:
        rule: ``greedy``: the likeliest; ``full``: from all; ``top_k``: from the k likeliest;
            ``nucleus``: from the smallest set of at least a share p (Holtzman et al. 2020).
        k: Of ``top_k``.
        p: Of ``nucleus``.
        temperature: Divides the scores before.
    """

    rule: Rule = "full"
    k: int = 40
    p: float = 0.95
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if self.k < 1 or not 0 < self.p <= 1 or self.temperature <= 0:
            raise InputError(
                "sampling needs k of at least 1, p in (0, 1] and a temperature above 0; got"
                f" {self.k}, {self.p}, {self.temperature}"
            )


def sampling_of(said: str) -> Sampling:
    """Return the way to draw that is said: ``greedy``, ``full``, ``top_k:40`` or ``nucleus:0.95``.

    Raises:
        InputError: It is none of these.
    """
    rule, _, number = said.partition(":")
    try:
        if rule == "top_k":
            return Sampling("top_k", k=int(number))
        if rule == "nucleus":
            return Sampling("nucleus", p=float(number))
    except ValueError:
        rule = ""
    if number or rule not in {"greedy", "full"}:
        raise InputError(
            f"sampling {said!r} is none of greedy, full, top_k:K and nucleus:P; choose one"
        )
    return Sampling("greedy" if rule == "greedy" else "full")


def restrict(scores: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Return probabilities after the rule, renormalised.

    (rows, vocabulary), from scores of the same shape.
    """
    shares = torch.softmax(scores.double() / sampling.temperature, dim=-1)
    if sampling.rule == "full":
        return shares
    order = shares.sort(dim=-1, descending=True, stable=True)
    kept = torch.zeros_like(shares, dtype=torch.bool)
    if sampling.rule == "nucleus":
        keep = order.values.cumsum(-1) - order.values < sampling.p - 1e-12
    else:
        count = 1 if sampling.rule == "greedy" else min(sampling.k, shares.shape[-1])
        keep = (torch.arange(shares.shape[-1], device=shares.device) < count).expand_as(shares)
    kept.scatter_(-1, order.indices, keep)
    left = shares.where(kept, torch.zeros_like(shares))
    return left / left.sum(-1, keepdim=True)


def draw(scores: torch.Tensor, sampling: Sampling, source: torch.Generator) -> torch.Tensor:
    """Return one token for each row of scores."""
    if sampling.rule == "greedy":
        return scores.argmax(-1)
    return torch.multinomial(restrict(scores, sampling), 1, generator=source)[:, 0]


def source_of(seed: int, device: torch.device | None = None) -> torch.Generator:
    """Return a source of chance of its own."""
    return torch.Generator(device or "cpu").manual_seed(seed)
