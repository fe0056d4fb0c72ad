"""Exported taggers made by hand.

A table of tag scores per sub-token, and one that reads its neighbour too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers_here import train

TAGS = ["O", "B-NAME", "I-NAME", "B-FECHA", "I-FECHA"]
LABELS = {"NAME": "NAME", "FECHA": "DATE"}


def folder(
    path: Path, *, window: int = 64, overlap: int = 16, reads_left: bool = False, **changes: Any
) -> Path:
    """Write a model that knows ``Ana Moreno`` for a name and ``12`` and ``03`` for dates."""
    tokenizer = Tokenizer.from_file(str(train("wordpiece", path)))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    table = np.zeros((tokenizer.get_vocab_size(), len(TAGS)), dtype=np.float32)
    table[:, 0] = 2.0
    for text, tag in (("ana", 1), ("moreno", 2), ("12", 3), ("03", 3)):
        for piece in tokenizer.encode(text, add_special_tokens=False).ids[:1]:
            table[piece, tag] = 5.0
    onnx.save(_graph(table, reads_left=reads_left), path / "model.onnx")
    inputs = {
        "before": 2,
        "after": 3,
        "pad": 0,
        "unknown": 1,
        "window": window,
        "overlap": overlap,
        "word": 8,
    }
    described = {
        "format": 1,
        "plugin": "toy",
        "version": "1",
        "family": "transformers",
        "tags": TAGS,
        "labels": LABELS,
        "native": True,
        "scheme": "bio",
        "grouping": 1,
        "inputs": inputs,
    }
    (path / "tagger.json").write_text(json.dumps(described | changes))
    return path


def _graph(table: np.ndarray, *, reads_left: bool) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["own" if reads_left else "emissions"])
    ]
    initial = [numpy_helper.from_array(table, "table")]
    if reads_left:
        pads = np.array([0, 1, 0, 0, 0, 0], dtype=np.int64)
        ends = [("starts", [0]), ("ends", [-1]), ("axes", [1])]
        initial += [numpy_helper.from_array(pads, "pads")]
        initial += [
            numpy_helper.from_array(np.array(value, dtype=np.int64), name) for name, value in ends
        ]
        nodes += [
            helper.make_node("Pad", ["own", "pads"], ["moved"]),
            helper.make_node("Slice", ["moved", "starts", "ends", "axes"], ["left"]),
            helper.make_node("Add", ["own", "left"], ["emissions"]),
        ]
    shape = ["rows", "positions"]
    graph = helper.make_graph(
        nodes,
        "toy",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, shape)
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info("emissions", TensorProto.FLOAT, [*shape, table.shape[1]])],
        initial,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
