"""Gradients of the loss of single texts.

What a model has learnt moves it less (Nasr et al. 2019).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from deid_audits.models.scoring import EncodedText, Scorer, split_hidden

Floats = NDArray[np.float64]
WHOLE = "all weights"
_LAYER, _EMBEDDING = re.compile(r"\.(\d+)\."), re.compile(r"embed|wte|wpe")
_LEAST = 1e-12


def scores(texts: Sequence[str], scorer: Scorer) -> dict[str, Floats]:
    """Return minus the logarithm of the norm of each text's gradient, by group of weights.

    The higher, the likelier a member.

    The loss is the mean over the text's tokens: of a causal model as it reads the text once, of a
    masked one with about 15 % of its words hidden at a time. It needs the weights themselves, in
    PyTorch, as one who trains the model has them.

    Args:
        texts: To score.
        scorer: Of the model.

    Returns:
        (texts,) each: of all weights, of the embeddings, of each layer, and of the rest, the head.
    """
    named = [
        (_group(name), one) for name, one in scorer.lm.model.named_parameters() if one.requires_grad
    ]
    groups = [WHOLE, *dict.fromkeys(group for group, _ in named)]
    squares = {group: np.zeros(len(texts)) for group in groups}
    for number, encoded in enumerate(scorer.encode(texts)):
        if not len(encoded.ids):
            continue
        began = time.process_time()
        with torch.enable_grad():
            loss, sequences = _loss(scorer, encoded)
            found = torch.autograd.grad(loss, [one for _, one in named], allow_unused=True)
        for (group, _), gradient in zip(named, found, strict=True):
            size = 0.0 if gradient is None else float(gradient.float().square().sum())
            squares[group][number] += size
            squares[WHOLE][number] += size
        scorer.spent.sequences += sequences
        scorer.spent.seconds += time.process_time() - began
    return {group: -0.5 * np.log(np.maximum(values, _LEAST)) for group, values in squares.items()}


def _loss(scorer: Scorer, encoded: EncodedText) -> tuple[torch.Tensor, int]:
    """Return the mean loss of a text's tokens, and how many sequences the model read for it."""
    rows, places, targets = zip(*_rows(scorer, encoded), strict=True)
    ids, mask = scorer.pad(rows)
    logits = scorer.lm.model(input_ids=ids, attention_mask=mask).logits.float()
    row = torch.tensor([at for at, own in enumerate(places) for _ in own], device=logits.device)
    asked = logits[row, torch.tensor(np.concatenate(places), device=logits.device)]
    answers = torch.tensor(np.concatenate(targets), device=logits.device)
    return torch.nn.functional.cross_entropy(asked, answers), len(rows)


def _rows(
    scorer: Scorer, encoded: EncodedText
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Yield sequences with the places that are asked for, and what stands there."""
    lm = scorer.lm
    if lm.kind == "causal":
        yield np.concatenate([[lm.opens], encoded.ids]), np.arange(len(encoded.ids)), encoded.ids
        return
    for hidden in split_hidden(encoded.words):
        ids = np.concatenate([[lm.opens], encoded.ids, [lm.closes]])
        ids[hidden + 1] = lm.mask
        yield ids, hidden + 1, encoded.ids[hidden]


def _group(name: str) -> str:
    layer = _LAYER.search(name)
    if layer:
        return f"layer {int(layer[1]) + 1}"
    return "embeddings" if _EMBEDDING.search(name) else "head"
