"""A linear-chain CRF over the tag scores (Lafferty et al. 2001), for training; NumPy decodes it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from deid_assets.extending import TagScheme
from deid_assets.extending.decoding import constraints
from deid_onnx.tagger import TransitionScores

_FORBIDDEN = -1e4  # finite, so that no gradient is not a number


class LinearChain(torch.nn.Module):
    """Learnt scores of tag pairs; what the scheme does not allow is out of reach.

    Args:
        tags: In the order of the scores.
        scheme: Of the tags.
    """

    def __init__(self, tags: Sequence[str], scheme: TagScheme) -> None:
        super().__init__()
        self.transitions = torch.nn.Parameter(torch.zeros(len(tags), len(tags)))
        self.start = torch.nn.Parameter(torch.zeros(len(tags)))
        self.end = torch.nn.Parameter(torch.zeros(len(tags)))
        self._fixed = constraints(tags, scheme)

    def loss(self, emissions: torch.Tensor, tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the negative log-likelihood of tags, summed over the batch.

        Args:
            emissions: (batch, tokens, tags), float32.
            tags: (batch, tokens), numbers; any where the mask is off.
            mask: (batch, tokens), true for tokens; on from the left, at least one in each row.
        """
        transitions, start, end = self._scores(emissions.device)
        return (
            _all_paths(emissions, mask, transitions, start, end)
            - _path(emissions, tags, mask, (transitions, start, end))
        ).sum()

    def _scores(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        fixed = [torch.from_numpy(part).clamp(min=_FORBIDDEN).to(device) for part in self._fixed]
        return self.transitions + fixed[0], self.start + fixed[1], self.end + fixed[2]

    def chain(self) -> TransitionScores:
        """Return the scores for decoding, minus infinity where the scheme forbids."""
        learnt = (self.transitions, self.start, self.end)
        pairs = zip(learnt, self._fixed, strict=True)
        return TransitionScores(
            *((part.detach().cpu().numpy() + fixed).astype(np.float32) for part, fixed in pairs)
        )


def _all_paths(
    emissions: torch.Tensor,
    mask: torch.Tensor,
    transitions: torch.Tensor,
    start: torch.Tensor,
    end: torch.Tensor,
) -> torch.Tensor:
    score = start + emissions[:, 0]
    for at in range(1, emissions.shape[1]):
        following = torch.logsumexp(score[:, :, None] + transitions, dim=1) + emissions[:, at]
        score = torch.where(mask[:, at, None], following, score)
    return torch.logsumexp(score + end, dim=1)


def _path(
    emissions: torch.Tensor,
    tags: torch.Tensor,
    mask: torch.Tensor,
    chain: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
) -> torch.Tensor:
    transitions, start, end = chain
    known = tags * mask
    emitted = emissions.gather(2, known[..., None])[..., 0] * mask
    moved = transitions[known[:, :-1], known[:, 1:]] * mask[:, 1:]
    last = known.gather(1, mask.sum(dim=1, keepdim=True) - 1)[:, 0]
    return start[known[:, 0]] + emitted.sum(dim=1) + moved.sum(dim=1) + end[last]
