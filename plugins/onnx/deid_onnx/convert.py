"""Half precision and dynamic int8 from an fp32 network. Needs the extra ``export``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def to_fp16(source: Path, target: Path) -> None:
    """Write a network with weights and arithmetic in half precision; inputs and outputs stay as they are."""
    import onnx  # noqa: PLC0415 - export only
    from onnxruntime.transformers.float16 import (  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415
        convert_float_to_float16,
    )

    with _quiet():
        onnx.save(convert_float_to_float16(onnx.load(source), keep_io_types=True), target)


def to_int8(source: Path, target: Path) -> None:
    """Write a network whose matrices are int8 and whose inputs to them are scaled to 8 bits as they come.

    Weights keep 7 bits: without VNNI instructions the 16-bit sums of two products would overflow.
    """
    from onnxruntime.quantization import (  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415 - export only
        QuantType,
        quantize_dynamic,
    )

    with _quiet():
        quantize_dynamic(source, target, weight_type=QuantType.QInt8, reduce_range=True, per_channel=True)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the converters from writing advice to the log."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
