"""A trained tagger as an ONNX folder."""

from __future__ import annotations

import json
import logging
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from deid_onnx.convert import to_fp16, to_int8
from deid_onnx.families.transformers import PACKED
from deid_onnx.folder import TAGGER_FILE, read_folder
from deid_onnx.pieces import TOKENIZER_FILE, PieceSettings
from deid_onnx.session import OUTPUT
from deid_onnx.tagger import CHAIN_FILE
from deid_transformers.encoder import load_tagger
from deid_transformers.packed import PackedEncoder, axes, example, fits

_OPSET = 17
_ROWS = {0: "rows", 1: "positions"}
_AXES = {"input_ids": _ROWS, "attention_mask": _ROWS}


class _Scores(torch.nn.Module):
    """Module that is exported: the scores of every sub-token."""

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
    trained = load_tagger(model, folder.tags, attention="eager")
    is_packed = fits(trained)
    if is_packed:
        given = example(PieceSettings(**folder.settings["inputs"]))
        names = list(given)
        _write(
            PackedEncoder(trained, names).eval(),
            out / "model.onnx",
            given,
            axes(names),
            output={0: "words"},
        )
    else:
        _write(_Scores(trained).eval(), out / "model.onnx", _example(), _AXES, output=_ROWS)
    to_fp16(out / "model.onnx", out / "model.fp16.onnx")
    to_int8(out / "model.onnx", out / "model.int8.onnx")
    for name in (TOKENIZER_FILE, CHAIN_FILE):
        if (model / name).exists():
            shutil.copyfile(model / name, out / name)
    layout = {"layout": PACKED} if is_packed else {}
    described = {**folder.settings, "trained_version": folder.version, **layout}
    (out / TAGGER_FILE).write_text(
        json.dumps(described, indent=1, ensure_ascii=False), encoding="utf-8"
    )


def _example() -> Mapping[str, torch.Tensor]:
    ids = torch.ones((2, 8), dtype=torch.int64)
    mask = ids.clone()
    mask[1, 5:] = 0
    return {"input_ids": ids, "attention_mask": mask}


def _write(
    network: torch.nn.Module,
    path: Path,
    given: Mapping[str, torch.Tensor],
    axes: Mapping[str, Mapping[int, str]],
    *,
    output: Mapping[int, str],
) -> None:
    """Trace a network and write it.

    Args:
        network: Takes what is given by name, in its order.
        path: Of the file.
        given: Inputs to trace with.
        axes: Names of the inputs' axes that differ from run to run.
        output: Of the output's.
    """
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                network,
                tuple(given.values()),
                str(path),
                input_names=list(given),
                output_names=[OUTPUT],
                dynamic_axes={**axes, OUTPUT: output},
                opset_version=_OPSET,
                dynamo=False,
            )
    finally:
        logging.disable(logging.NOTSET)
