"""Static vectors of words and of pieces of words.

Trained from notes, or read from published files.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import PluginError, TrainingError
from deid_flair.settings import SubWords, WordVectors
from deid_onnx.families.flair import BytePairs as PieceReader
from deid_onnx.families.flair import Line

Vectors = NDArray[np.float32]
Found = tuple[dict[str, Any], list[str], Vectors]
"""Description, vocabulary, and rows: the vocabulary's, those of the n-grams, and zeros."""
_FASTTEXT = 793712314  # first number of a file of fastText's


def train_words(lines: Sequence[Line], wanted: WordVectors, *, seed: int) -> Found:
    """Return vectors of skip-grams with sub-words, by gensim's fastText.

    It runs in one thread, which makes it repeatable.

    Raises:
        TrainingError: No word occurs often enough.
    """
    from gensim.models import FastText  # noqa: PLC0415 - heavy

    try:
        model = FastText(
            [list(line) for line in lines],
            sg=1,
            vector_size=wanted.width,
            window=wanted.window,
            min_count=wanted.min_count,
            epochs=wanted.epochs,
            bucket=wanted.buckets,
            min_n=wanted.shortest,
            max_n=wanted.longest,
            workers=1,
            seed=seed % 2**32,
        )
    except RuntimeError:
        raise TrainingError(
            f"no word occurs {wanted.min_count} times in the notes for word vectors; give more raw"
            " notes"
        ) from None
    return _of_fasttext(model.wv)


def read_words(file: Path, *, trust: bool) -> Found:
    """Return vectors of a file.

    GloVe or word2vec text, word2vec binary, or fastText binary with its sub-words.

    Args:
        file: ``.txt`` or ``.vec`` for text, ``.bin`` for either binary format, else gensim's own, a
            pickle.
        trust: Whether a pickle may be read.

    Raises:
        PluginError: The file is a pickle that is not trusted, or it is broken.
    """
    from gensim.models import KeyedVectors  # noqa: PLC0415 - heavy
    from gensim.models.fasttext import load_facebook_vectors  # noqa: PLC0415 - heavy

    text = file.suffix in {".txt", ".vec"}
    if not text and file.suffix != ".bin" and not trust:
        raise PluginError(
            f"{file} is read as a pickle, which can run code; give text vectors or set trust = true"
        )
    try:
        if text:
            headed = len(file.open(encoding="utf-8", errors="replace").readline().split()) == 2
            return _of_words(KeyedVectors.load_word2vec_format(str(file), no_header=not headed))
        if file.suffix != ".bin":
            return _of_words(KeyedVectors.load(str(file)))
        if struct.unpack("<i", file.open("rb").read(4).ljust(4, b"\0"))[0] == _FASTTEXT:
            return _of_fasttext(load_facebook_vectors(str(file)))
        return _of_words(KeyedVectors.load_word2vec_format(str(file), binary=True))
    except (
        OSError,
        ValueError,
        EOFError,
        KeyError,
        TypeError,
        AttributeError,
        UnpicklingError,
    ) as error:
        raise PluginError(
            f"{file} cannot be read as word vectors ({type(error).__name__}); give GloVe, word2vec"
            " or fastText vectors"
        ) from None


def _of_words(vectors: Any) -> Found:
    rows = np.vstack([vectors.vectors, np.zeros((1, vectors.vector_size))]).astype(np.float32)
    described = {
        "kind": "word",
        "width": int(vectors.vector_size),
        "buckets": 0,
        "shortest": 0,
        "longest": 0,
    }
    return described, list(vectors.index_to_key), rows


def _of_fasttext(vectors: Any) -> Found:
    rows = np.vstack([vectors.vectors, vectors.vectors_ngrams, np.zeros((1, vectors.vector_size))])
    described = {
        "kind": "word",
        "width": int(vectors.vector_size),
        "buckets": len(vectors.vectors_ngrams),
        "shortest": int(vectors.min_n),
        "longest": int(vectors.max_n),
    }
    return described, list(vectors.index_to_key), rows.astype(np.float32)


def train_pieces(lines: Sequence[Line], wanted: SubWords, *, seed: int) -> Found:
    """Return a byte-pair vocabulary by SentencePiece and a vector per piece by skip-grams.

    Raises:
        TrainingError: The text has too few different words for the vocabulary.
    """
    import sentencepiece  # noqa: PLC0415 - heavy
    from gensim.models import Word2Vec  # noqa: PLC0415 - heavy

    written = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(_fold(lines)),
            model_writer=written,
            model_type="bpe",
            vocab_size=wanted.vocabulary,
            character_coverage=1.0,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError:
        raise TrainingError(
            f"the notes do not have words enough for {wanted.vocabulary} pieces; set a smaller"
            " vocabulary"
        ) from None
    vocabulary, unknown = _pieces(
        sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
    )
    reader = PieceReader({piece: row for row, piece in enumerate(vocabulary)}, unknown)
    cut = [[piece for word in line.split() for piece in reader.cut(word)] for line in _fold(lines)]
    model = Word2Vec(
        cut,
        sg=1,
        vector_size=wanted.width,
        epochs=wanted.epochs,
        min_count=1,
        workers=1,
        seed=seed % 2**32,
    )
    rows = np.zeros((len(vocabulary) + 1, wanted.width), dtype=np.float32)
    for row, piece in enumerate(vocabulary):
        with suppress(KeyError):
            rows[row] = model.wv[piece]
    return {"kind": "bpemb", "width": wanted.width, "unknown": unknown}, vocabulary, rows


def read_pieces(model: Path, vectors: Path) -> Found:
    """Return a SentencePiece vocabulary and its vectors, as BPEmb publishes them.

    ``.model`` and ``.w2v.bin``.

    Raises:
        PluginError: A file is broken, the model is no byte-pair encoding, or they do not belong
            together.
    """
    import sentencepiece  # noqa: PLC0415 - heavy

    try:
        processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    except (RuntimeError, OSError) as error:
        raise PluginError(
            f"{model} is no SentencePiece model ({type(error).__name__}); give BPEmb's .model"
        ) from None
    vocabulary, unknown = _pieces(processor)
    _, names, found = read_words(vectors, trust=False)
    if names != vocabulary:
        raise PluginError(
            f"{vectors} has {len(names)} pieces and {model} has {len(vocabulary)}, or in another"
            " order; give the two files of one release"
        )
    return {"kind": "bpemb", "width": int(found.shape[1]), "unknown": unknown}, vocabulary, found


def _pieces(processor: Any) -> tuple[list[str], int]:
    return [processor.id_to_piece(row) for row in range(processor.get_piece_size())], int(
        processor.unk_id()
    )


def _fold(lines: Sequence[Line]) -> Iterator[str]:
    """Yield text as BPEmb's: in lower case, digits as zeros."""
    for line in lines:
        yield "".join(
            "0" if character.isdecimal() else character for character in " ".join(line)
        ).lower()
