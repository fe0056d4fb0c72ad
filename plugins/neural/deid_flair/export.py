"""A trained folder as a folder for ONNX Runtime, in three precisions."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from deid_assets.extending import PluginError
from deid_flair import folders
from deid_flair.graph import build
from deid_flair.store import DESCRIPTION, WEIGHTS, write_bytes, write_json
from deid_onnx.convert import to_fp16
from deid_onnx.families.flair import VOCABULARY
from deid_onnx.folder import read_folder
from deid_onnx.tagger import write_chain

FULL, HALF, BYTES = "model.onnx", "model.fp16.onnx", "model.int8.onnx"


def export(model: Path, out: Path) -> None:
    """Write the network of a trained folder for ONNX Runtime.

    Raises:
        PluginError: The folder is broken, or an embedding cannot leave PyTorch.
    """
    folder = read_folder(model)
    if folder.plugin != "flair" or not (model / WEIGHTS).is_file():
        raise PluginError(
            f"{model} is no model of the trainer 'flair'; give the folder that it wrote"
        )
    network = folders.read(folder)
    made = build(network)
    out.mkdir(parents=True, exist_ok=True)
    write_bytes(out / FULL, made.SerializeToString())
    to_fp16(out / FULL, out / HALF)
    _quantize(out / FULL, out / BYTES)
    write_chain(out, network.chain())
    if out != model:
        shutil.copytree(model / VOCABULARY, out / VOCABULARY, dirs_exist_ok=True)
        write_json(out / DESCRIPTION, dict(folder.settings))


def _quantize(full: Path, out: Path) -> None:
    """Write 8-bit weights for LSTMs and linear maps.

    Activations are scaled as they come, tables stay as they are.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415 - heavy

    voice = logging.getLogger()
    level = voice.level
    voice.setLevel(logging.ERROR)  # it advises a step that does nothing for this graph
    try:
        quantize_dynamic(
            full, out, weight_type=QuantType.QInt8, op_types_to_quantize=["LSTM", "MatMul"]
        )
    finally:
        voice.setLevel(level)
