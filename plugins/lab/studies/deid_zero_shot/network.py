"""How a masked language model is asked with PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from deid_transformers.token_scores import TokenScores
from deid_zero_shot.batches import Ask

Array = NDArray[np.int64]


def asker(model: Any, *, place: str) -> Ask:
    """Return how a model is asked with PyTorch.

    Args:
        model: An ``AutoModelForMaskedLM``.
        place: Device, as PyTorch names it.
    """
    network = TokenScores(model).to(place).eval()

    def ask(
        ids: Array, mask: Array, rows: Array, places: Array, targets: Array
    ) -> NDArray[np.float32]:
        with torch.inference_mode():
            given = (
                torch.from_numpy(np.ascontiguousarray(array)).to(place)
                for array in (ids, mask, rows, places, targets)
            )
            found: NDArray[np.float32] = network(*given).float().cpu().numpy()
        return found

    return ask
