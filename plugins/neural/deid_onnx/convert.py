"""Half precision and dynamic int8 from an fp32 network. Needs the extra ``export``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def to_fp16(source: Path, target: Path) -> None:
    """Write a network with weights and arithmetic in half precision.

    Inputs and outputs stay as they are.
    """
    import onnx  # noqa: PLC0415 - export only
    from onnxruntime.transformers.float16 import (  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415
        convert_float_to_float16,
    )

    with _quiet():
        onnx.save(convert_float_to_float16(onnx.load(source), keep_io_types=True), target)


def to_int8(source: Path, target: Path) -> None:
    """Write a network whose matrices are int8.

    Their inputs are scaled to 8 bits as they come. Weights keep 7 bits: without VNNI instructions
    the 16-bit sums of two products would overflow.
    """
    import onnx  # noqa: PLC0415 - export only
    from onnxruntime.quantization import (  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415
        QuantType,
        quantize_dynamic,
    )

    with _quiet():
        untied = _untie(onnx.load(source))
        quantize_dynamic(
            untied, target, weight_type=QuantType.QInt8, reduce_range=True, per_channel=True
        )


def _untie(model: Any) -> Any:
    """Return a network in which no matrix serves both as a table and as a factor.

    A language model's head shares its matrix with the embeddings; the quantiser turns the one
    around for its product, and the look-up would then find columns for rows.
    """
    factors = {
        name
        for node in model.graph.node
        if node.op_type in {"MatMul", "Gemm"}
        for name in node.input
    }
    matrices = {matrix.name: matrix for matrix in model.graph.initializer if matrix.name in factors}
    for node in model.graph.node:
        if node.op_type == "Gather" and node.input[0] in matrices:
            copy = type(matrices[node.input[0]])()
            copy.CopyFrom(matrices[node.input[0]])
            copy.name += ".table"
            if all(known.name != copy.name for known in model.graph.initializer):
                model.graph.initializer.append(copy)
            node.input[0] = copy.name
    return model


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the converters from writing advice to the log."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
