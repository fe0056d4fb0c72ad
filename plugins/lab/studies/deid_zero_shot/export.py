"""A masked language model as an ONNX folder: fp32, fp16 for GPUs and int8 for CPUs."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from deid_assets.extending import PluginError
from deid_onnx.session import OUTPUT, Session
from deid_zero_shot.batches import Ask
from deid_zero_shot.encoding import Specials
from deid_zero_shot.guard import Loaded

FILE = "masked_lm.json"
FORMAT = 1
PRECISIONS: Mapping[str, str] = {
    "fp32": "model.onnx",
    "fp16": "model.fp16.onnx",
    "int8": "model.int8.onnx",
}
_OPSET = 17
_NAMES = ("input_ids", "attention_mask", "rows", "places", "targets")


def export(loaded: Loaded, out: Path) -> None:
    """Write a model into a folder, which the detector runs without PyTorch."""
    import torch  # noqa: PLC0415 - a second, and only to export

    from deid_onnx.convert import to_fp16, to_int8  # noqa: PLC0415
    from deid_transformers.token_scores import TokenScores  # noqa: PLC0415

    out.mkdir(parents=True, exist_ok=True)
    ids = torch.full((2, 8), loaded.specials.mask, dtype=torch.int64)
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    asked = torch.tensor([0, 1, 1])
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                TokenScores(loaded.model).eval(),
                (ids, mask, asked, asked + 1, asked),
                str(out / PRECISIONS["fp32"]),
                input_names=list(_NAMES),
                output_names=[OUTPUT],
                dynamic_axes={
                    **{key: {0: "variants", 1: "positions"} for key in _NAMES[:2]},
                    **{key: {0: "questions"} for key in (*_NAMES[2:], OUTPUT)},
                },
                opset_version=_OPSET,
                dynamo=False,
            )
    finally:
        logging.disable(logging.NOTSET)
    to_fp16(out / PRECISIONS["fp32"], out / PRECISIONS["fp16"])
    to_int8(out / PRECISIONS["fp32"], out / PRECISIONS["int8"])
    (out / "tokenizer.json").write_text(loaded.tokenizer, encoding="utf-8")
    described = {
        "format": FORMAT,
        "specials": asdict(loaded.specials),
        "vocabulary": loaded.vocabulary,
        "digest": loaded.digest,
    }
    (out / FILE).write_text(json.dumps(described, indent=1), encoding="utf-8")


def read(folder: Path) -> tuple[str, Specials, int, str]:
    """Return tokenizer, special sub-tokens, size of the vocabulary and digest of an exported model.

    Raises:
        PluginError: A file is missing or broken.
    """
    try:
        described: Mapping[str, Any] = json.loads((folder / FILE).read_text("utf-8"))
        if described["format"] != FORMAT:
            raise PluginError(
                f"{folder}: {FILE} has format {described['format']!r}, this version reads {FORMAT}"
            )
        tokenizer = (folder / "tokenizer.json").read_text("utf-8")
        return (
            tokenizer,
            Specials(**described["specials"]),
            int(described["vocabulary"]),
            str(described["digest"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PluginError(
            f"{folder}: {FILE} or tokenizer.json is missing or broken; export the model again"
        ) from error


def asker(folder: Path, *, precision: str, providers: tuple[str, ...], threads: int) -> Ask:
    """Return how an exported model is asked with ONNX Runtime.

    Raises:
        PluginError: The file is missing or broken, or the hardware asked for is not there.
    """
    session = Session(folder / PRECISIONS[precision], providers=providers, threads=threads)

    def ask(ids: Any, mask: Any, rows: Any, places: Any, targets: Any) -> Any:
        return session.run(dict(zip(_NAMES, (ids, mask, rows, places, targets), strict=True)))

    return ask
