"""A masked language model with its head run at the asked places alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_HEADS = ("cls", "lm_head", "predictions")
_WHOLE = frozenset({"bert", "roformer", "roberta", "xlm-roberta", "camembert", "albert"})
"""Architectures whose head takes the encoder's last states and nothing else."""


class TokenScores(torch.nn.Module):
    """What is asked of a model and exported.

    Logarithms of the probabilities of given sub-tokens at given places.

    Args:
        model: An ``AutoModelForMaskedLM``.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.head: Callable[[torch.Tensor], torch.Tensor] | None = next(
            (
                getattr(model, name)
                for name in _HEADS
                if model.config.model_type in _WHOLE and hasattr(model, name)
            ),
            None,
        )

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        rows: torch.Tensor,
        places: torch.Tensor,
        targets: torch.Tensor,
    ) -> torch.Tensor:
        """Return (questions,), natural logarithms."""
        scores = self.scores(input_ids, attention_mask, rows, places)
        return torch.log_softmax(scores, dim=-1).gather(1, targets[:, None])[:, 0]

    def scores(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        rows: torch.Tensor,
        places: torch.Tensor,
    ) -> torch.Tensor:
        """Return the scores of the vocabulary at places, unnormalised: (questions, vocabulary)."""
        if self.head is None:
            found: torch.Tensor = self.model(
                input_ids=input_ids, attention_mask=attention_mask
            ).logits[rows, places]
            return found
        states = self.model.base_model(input_ids=input_ids, attention_mask=attention_mask)[0]
        return self.head(states[rows, places])
