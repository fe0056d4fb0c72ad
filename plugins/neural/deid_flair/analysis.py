"""What the vectors of a tagger say.

Token vectors of each layer, and neighbours of a word in its table of words.

Neighbours are words of the notes: they stay where the notes are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import InputError, Note, PluginError, inputs, tokenize
from deid_flair.quiet import quiet

if TYPE_CHECKING:
    from deid_flair.network import FlairNetwork
    from deid_flair.parts import EmbeddingPart

Rows = NDArray[np.float32]
_TOGETHER = 32  # inputs that are embedded at once


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A word near another: text of the notes.

    Args:
        word: As in the vocabulary.
        cosine: Of the two vectors.
        count: Times it occurs in the training notes.
    """

    word: str = field(repr=False)
    cosine: float
    count: int


def network(model: Path) -> FlairNetwork:
    """Return the network of a model folder.

    Raises:
        PluginError: The folder is missing or broken.
    """
    from deid_onnx.folder import read_folder  # noqa: PLC0415 - keeps the import of the plugin light

    with quiet():
        from deid_flair.folders import read  # noqa: PLC0415 - imports Flair

        return read(read_folder(model))


def vectors(model: Path, notes: Sequence[Note]) -> Iterator[Mapping[str, Rows]]:
    """Yield the layers of each note, a row per token.

    ``embeddings``, ``reprojected`` and ``encoder``.

    The last two are there where the model has them. ``encoder`` is the Bi-LSTM.

    Raises:
        PluginError: The folder is missing or broken.
    """
    from deid_onnx.folder import read_folder  # noqa: PLC0415 - keeps the import of the plugin light

    tagger, grouping = network(model), read_folder(model).grouping
    for note in notes:
        tokens = tokenize(note.text)
        parts = inputs(
            note.text, tokens, grouping=grouping, longest=int(tagger.described["longest"])
        )
        lines = [
            [note.text[start:end] for start, end in tokens[part.start : part.stop]]
            for part in parts
        ]
        with quiet():
            found = [
                layers
                for at in range(0, len(lines), _TOGETHER)
                for layers in _layers(tagger, lines[at : at + _TOGETHER])
            ]
            found = found or [
                {name: rows[:0] for name, rows in _layers(tagger, [["-"]])[0].items()}
            ]
        yield {name: np.concatenate([layers[name] for layers in found]) for name in found[0]}


def _layers(tagger: FlairNetwork, lines: Sequence[list[str]]) -> list[dict[str, Rows]]:
    """Return the layers of each of some inputs.

    They are embedded together, because that is most of the work.
    """
    import torch  # noqa: PLC0415 - heavy

    sequence, found = tagger.tagger, []
    with torch.no_grad():
        embedded = tagger.embed(lines)
        for number, line in enumerate(lines):
            rows = embedded[number : number + 1, : len(line)]
            layers = {"embeddings": rows}
            if sequence.reproject_embeddings:
                rows = layers["reprojected"] = sequence.embedding2nn(rows)
            if sequence.use_rnn:
                layers["encoder"] = sequence.rnn(rows)[0]
            found.append({name: each[0].float().cpu().numpy() for name, each in layers.items()})
    return found


def neighbours(
    tagger: FlairNetwork, word: str, *, known: Mapping[str, int], most: int = 10
) -> list[Neighbour]:
    """Return the words nearest to a word in the first table of word vectors, the nearest first.

    The table holds words that are in no training note, where its vectors were given or learnt from
    raw notes.

    Args:
        tagger: Has an embedding of the kind ``word``.
        word: Any; fastText vectors have one for every word.
        known: Counts of the training notes.
        most: Number of neighbours.

    Raises:
        PluginError: The tagger has no word vectors.
        InputError: There is no vector for the word.
    """
    part = next((each for each in tagger.parts if each.description["kind"] == "word"), None)
    if part is None:
        raise PluginError(
            "the tagger has no embedding of the kind 'word'; neighbours are of word vectors"
        )
    table, wanted = _vectors(part, part.vocabulary), _vectors(part, [word])[0]
    if not wanted.any():
        raise InputError("there is no vector for the word; ask for another")
    norms = np.linalg.norm(table, axis=1) * np.linalg.norm(wanted)
    cosines = np.divide(
        table @ wanted, norms, out=np.full(len(table), -1.0, np.float32), where=norms > 0
    )
    order = (
        int(row) for row in np.argsort(-cosines, kind="stable") if part.vocabulary[row] != word
    )
    return [
        Neighbour(part.vocabulary[row], float(cosines[row]), known.get(part.vocabulary[row], 0))
        for row, _ in zip(order, range(most), strict=False)
    ]


def nearest(
    model: Path, words: Sequence[str], *, known: Mapping[str, int], most: int
) -> dict[str, list[dict[str, Any]]]:
    """Return rows of ``word``, ``cosine`` and ``count`` for each word with a vector.

    None of a tagger without word vectors.

    Raises:
        PluginError: The folder is missing or broken.
    """
    tagger = network(model)
    if not any(part.description["kind"] == "word" for part in tagger.parts):
        return {}
    found = {}
    for word in words:
        try:
            rows = neighbours(tagger, word, known=known, most=most)
        except InputError:  # no vector
            continue
        found[word] = [
            {"word": row.word, "cosine": round(row.cosine, 4), "count": row.count} for row in rows
        ]
    return found


def _vectors(part: EmbeddingPart, words: Sequence[str]) -> Rows:
    import torch  # noqa: PLC0415 - heavy

    embedding: Any = part.embedding
    feeds = embedding.reader.feeds([], list(words))
    with torch.no_grad():
        device = embedding.table.weight.device
        arrays = {name: torch.from_numpy(array).to(device) for name, array in feeds.items()}
        found: Rows = embedding.of(arrays).cpu().numpy()
    return found
