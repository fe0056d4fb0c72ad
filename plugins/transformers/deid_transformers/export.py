"""A trained tagger as an ONNX folder."""

from __future__ import annotations

import json
import logging
import shutil
import warnings
from pathlib import Path
from typing import Any

import torch

from deid_onnx.convert import to_fp16, to_int8
from deid_onnx.folder import TAGGER_FILE, read_folder
from deid_onnx.pieces import TOKENIZER_FILE
from deid_onnx.session import OUTPUT
from deid_onnx.tagger import CHAIN_FILE
from deid_transformers.encoder import load_tagger

_OPSET = 17


class _Scores(torch.nn.Module):
    """What is exported: the scores of every sub-token."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return (rows, positions, tags)."""
        found: torch.Tensor = self.model(input_ids=input_ids, attention_mask=attention_mask).logits
        return found


def export(model: Path, out: Path) -> None:
    """Write ``out``; see ``TransformersTrainer.export``."""
    folder = read_folder(model)
    out.mkdir(parents=True, exist_ok=True)
    network = _Scores(load_tagger(model, folder.tags, attention="eager")).eval()
    ids = torch.ones((2, 8), dtype=torch.int64)
    mask = ids.clone()
    mask[1, 5:] = 0
    free = {0: "rows", 1: "positions"}
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                network,
                (ids, mask),
                str(out / "model.onnx"),
                input_names=["input_ids", "attention_mask"],
                output_names=[OUTPUT],
                dynamic_axes={"input_ids": free, "attention_mask": free, OUTPUT: free},
                opset_version=_OPSET,
                dynamo=False,
            )
    finally:
        logging.disable(logging.NOTSET)
    to_fp16(out / "model.onnx", out / "model.fp16.onnx")
    to_int8(out / "model.onnx", out / "model.int8.onnx")
    for name in (TOKENIZER_FILE, CHAIN_FILE):
        if (model / name).exists():
            shutil.copyfile(model / name, out / name)
    described = {**folder.settings, "trained_version": folder.version}
    (out / TAGGER_FILE).write_text(json.dumps(described, indent=1, ensure_ascii=False), encoding="utf-8")
