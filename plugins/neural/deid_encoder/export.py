"""Writes a trained encoder as ONNX, with the pieces that are wanted alone."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn

from deid_encoder.folder import TAGGER_FILE, EncoderDescription, read_about, write_pieces
from deid_encoder.network import Encoder, mask_of
from deid_encoder.runtime import load_tagger
from deid_encoder.sessions import file_of
from deid_encoder.weights import UnigramPieces, find_packaged_file, read_weights

SCRIPTS = ("LATIN", "GREEK", "CYRILLIC")
"""Letters of the pieces that are kept; pieces without letters are kept too."""
OPSET = 17


class _Scorer(nn.Module):
    """The network with its mask inside."""

    def __init__(self, encoder: Encoder, pad: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.pad = pad

    def forward(self, pieces: Tensor) -> Tensor:
        """Return the scores of windows."""
        scores: Tensor = self.encoder(pieces, mask_of(pieces != self.pad))
        return scores


def export(model: Path, out: Path) -> None:
    """Write fp32 and int8 graphs, the pieces and ``tagger.json`` into ``out``.

    Raises:
        PluginError: The model folder is broken.
    """
    about = read_about(model)
    weights = read_weights(find_packaged_file())
    encoder = load_tagger(model, about, weights)
    kept = select_kept_pieces(weights.pieces)
    encoder.word = nn.Embedding.from_pretrained(  # type: ignore[no-untyped-call]
        encoder.word.weight[torch.tensor(kept)]
    )
    pieces = _cut(weights.pieces, kept)
    scorer = _Scorer(encoder, pieces.pad).eval()
    _write_graph(scorer, about, out / file_of("fp32"))
    quantize(out / file_of("fp32"), out / file_of("int8"))
    write_pieces(out, pieces)
    (out / TAGGER_FILE).write_bytes((model / TAGGER_FILE).read_bytes())


def select_kept_pieces(pieces: UnigramPieces) -> list[int]:
    """Return the numbers of the pieces whose letters are of the wanted scripts."""
    special = {pieces.begin, pieces.end, pieces.pad, pieces.unknown}
    return [
        number
        for number, (piece, _) in enumerate(pieces.pieces)
        if number in special or all(_is_wanted(letter) for letter in piece)
    ]


def _is_wanted(letter: str) -> bool:
    if not letter.isalpha():
        return True
    return unicodedata.name(letter, "").startswith(SCRIPTS)


def _cut(pieces: UnigramPieces, kept: Sequence[int]) -> UnigramPieces:
    place = {number: at for at, number in enumerate(kept)}
    return UnigramPieces(
        pieces=[pieces.pieces[number] for number in kept],
        begin=place[pieces.begin],
        end=place[pieces.end],
        pad=place[pieces.pad],
        unknown=place[pieces.unknown],
    )


def _write_graph(scorer: _Scorer, about: EncoderDescription, path: Path) -> None:
    """Write the graph in fp32."""
    example = torch.full((2, min(16, about.window)), scorer.pad + 1)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    torch.onnx.export(
        scorer,
        (example,),
        str(path),
        input_names=["pieces"],
        output_names=["scores"],
        dynamic_axes={"pieces": {0: "windows", 1: "pieces"}, "scores": {0: "windows", 1: "pieces"}},
        opset_version=OPSET,
        dynamo=False,
    )


def quantize(fp32: Path, int8: Path) -> None:
    """Write the int8 graph: matrices by channel, inputs by their range when run."""
    quantize_dynamic(
        fp32,
        int8,
        per_channel=True,
        reduce_range=False,
        weight_type=QuantType.QInt8,
        op_types_to_quantize=["MatMul", "Gather"],
        extra_options={"MatMulConstBOnly": True},
    )
