"""Exports, run by ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from deid_assets.extending import ConfigError, PluginError
from deid_encoder.reading import Network

PRECISIONS = ("fp32", "int8")


def file_of(precision: str) -> str:
    """Return the name of an export's graph.

    Raises:
        ConfigError: There is no such precision.
    """
    if precision not in PRECISIONS:
        raise ConfigError(f"precision is {precision!r}; choose {' or '.join(PRECISIONS)}")
    return "model.onnx" if precision == "fp32" else f"model.{precision}.onnx"


def onnx_network(folder: Path, precision: str, threads: int | None = None) -> Network:
    """Return a function that scores windows with ONNX Runtime.

    Raises:
        ConfigError: There is no such precision.
        PluginError: The graph is missing or broken.
    """
    path = folder / file_of(precision)
    options = onnxruntime.SessionOptions()
    if threads is not None:
        options.intra_op_num_threads = threads
    try:
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        raise PluginError(f"{path}: missing or broken; export the model again") from error

    def run(pieces: NDArray[np.int64]) -> NDArray[np.float32]:
        (scores,) = session.run(["scores"], {"pieces": pieces})
        found: NDArray[np.float32] = scores
        return found

    return run
