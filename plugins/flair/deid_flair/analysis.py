"""What the vectors of a tagger say: neighbours of a word, and token vectors before and after each layer.

Neighbours are words of the notes: they stay where the notes are. Projections hold numbers, categories and languages.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deid_assets.core.errors import InputError, PluginError
from deid_assets.core.tagging import OUTSIDE, TagScheme, encode, tokenize
from deid_assets.core.trainer import Document, inputs
from deid_flair.quiet import quiet

if TYPE_CHECKING:
    from deid_flair.network import Network
    from deid_flair.parts import Part

Rows = NDArray[np.float32]


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


@dataclass(frozen=True, slots=True)
class Projection:
    """Token vectors of one layer in three dimensions.

    Args:
        layer: ``embeddings``, ``reprojected`` or ``encoder``.
        points: (tokens, 3), principal components.
        explained: Share of the variance that each component holds.
        labels: Category of each token, ``O`` for none.
        languages: Of each token's note.
        apart: Per category that two languages or more have, the mean cosine distance between the languages' mean
            vectors, in the layer's own dimensions.
    """

    layer: str
    points: Rows = field(repr=False)
    explained: tuple[float, float, float]
    labels: Sequence[str] = field(repr=False)
    languages: Sequence[str] = field(repr=False)
    apart: Mapping[str, float]


def network(model: Path) -> Network:
    """Return the network of a model folder.

    Raises:
        PluginError: The folder is missing or broken.
    """
    from deid_onnx.folder import read_folder  # noqa: PLC0415 - keeps the import of the plugin light

    with quiet():
        from deid_flair.folders import read  # noqa: PLC0415 - imports Flair

        return read(read_folder(model))


def counts(documents: Sequence[Document]) -> Counter[str]:
    """Return how often each token occurs in training notes."""
    found: Counter[str] = Counter()
    for document in documents:
        text = document.note.text
        found.update(text[start:end] for start, end in tokenize(text))
    return found


def neighbours(tagger: Network, word: str, *, known: Mapping[str, int], most: int = 10) -> list[Neighbour]:
    """Return the words nearest to a word in the first table of word vectors, the nearest first.

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
        raise PluginError("the tagger has no embedding of the kind 'word'; neighbours are of word vectors")
    table, wanted = _vectors(part, part.vocabulary), _vectors(part, [word])[0]
    if not wanted.any():
        raise InputError("there is no vector for the word; ask for another")
    norms = np.linalg.norm(table, axis=1) * np.linalg.norm(wanted)
    cosines = np.divide(table @ wanted, norms, out=np.full(len(table), -1.0, np.float32), where=norms > 0)
    order = (int(row) for row in np.argsort(-cosines, kind="stable") if part.vocabulary[row] != word)
    return [
        Neighbour(part.vocabulary[row], float(cosines[row]), known.get(part.vocabulary[row], 0))
        for row, _ in zip(order, range(most), strict=False)
    ]


def _vectors(part: Part, words: Sequence[str]) -> Rows:
    import torch  # noqa: PLC0415 - heavy

    embedding: Any = part.embedding
    feeds = embedding.reader.feeds([], list(words))
    with torch.no_grad():
        device = embedding.table.weight.device
        arrays = {name: torch.from_numpy(array).to(device) for name, array in feeds.items()}
        found: Rows = embedding.of(arrays).cpu().numpy()
    return found


def projections(
    tagger: Network, documents: Sequence[Document], *, grouping: int = 1, tokens: int = 5_000, seed: int = 0
) -> list[Projection]:
    """Return a projection per layer, of the same tokens.

    Args:
        tagger: The network.
        documents: Annotated notes, of one language or more.
        grouping: As in training.
        tokens: At most so many, drawn alike from each pair of category and language.
        seed: Of the draw.

    Raises:
        InputError: There are fewer than four tokens.
    """
    import torch  # noqa: PLC0415 - heavy

    layers: dict[str, list[Rows]] = {}
    labels: list[str] = []
    languages: list[str] = []
    with torch.no_grad(), quiet():
        for line, found, language in _lines(documents, grouping):
            labels += found
            languages += [language] * len(found)
            for name, rows in _layers(tagger, line).items():
                layers.setdefault(name, []).append(rows)
    kept = _draw(list(zip(labels, languages, strict=True)), tokens, seed)
    if len(kept) < 4:
        raise InputError(f"{len(kept)} tokens are too few for three dimensions; give more notes")
    labels, languages = [labels[at] for at in kept], [languages[at] for at in kept]
    return [_projection(name, np.concatenate(rows)[kept], labels, languages) for name, rows in layers.items()]


def _lines(documents: Sequence[Document], grouping: int) -> Iterator[tuple[list[str], list[str], str]]:
    for document in documents:
        text = document.note.text
        tokens = tokenize(text)
        spans = [(span.start, span.end, span.label.value) for span in document.spans]
        tags, _ = encode(spans, tokens, TagScheme.BIO)
        for part in inputs(text, tokens, grouping=grouping, longest=512):
            line = [text[start:end] for start, end in tokens[part.start : part.stop]]
            labels = [tag.partition("-")[2] or OUTSIDE for tag in tags[part.start : part.stop]]
            yield line, labels, document.note.lang or "unknown"


def _layers(tagger: Network, line: list[str]) -> dict[str, Rows]:
    sequence = tagger.tagger
    rows = tagger.embed([line])
    found = {"embeddings": rows}
    if sequence.reproject_embeddings:
        rows = found["reprojected"] = sequence.embedding2nn(rows)
    if sequence.use_rnn:
        found["encoder"] = sequence.rnn(rows)[0]
    return {name: each[0].cpu().numpy() for name, each in found.items()}


def _draw(kinds: Sequence[tuple[str, str]], tokens: int, seed: int) -> list[int]:
    """Return numbers of tokens, in order, as many of each kind as there are or as its share allows."""
    by_kind: dict[tuple[str, str], list[int]] = {}
    for number, kind in enumerate(kinds):
        by_kind.setdefault(kind, []).append(number)
    chance, kept, left = random.Random(seed), [], tokens  # noqa: S311 - no secret
    for waiting, numbers in enumerate(sorted(by_kind.values(), key=len)):
        share = min(len(numbers), left // (len(by_kind) - waiting))
        kept += chance.sample(numbers, share)
        left -= share
    return sorted(kept)


def _projection(layer: str, rows: Rows, labels: list[str], languages: list[str]) -> Projection:
    centred = rows - rows.mean(axis=0)
    left, singular, _ = np.linalg.svd(centred, full_matrices=False)
    points = left[:, :3] * singular[:3]
    points = points * np.where(points[np.abs(points).argmax(axis=0), range(3)] < 0, -1, 1)  # one sign, whatever BLAS
    shares = singular**2 / max(float((singular**2).sum()), 1e-12)
    explained = (float(shares[0]), float(shares[1]), float(shares[2]))
    return Projection(layer, points.astype(np.float32), explained, labels, languages, _apart(rows, labels, languages))


def _apart(rows: Rows, labels: Sequence[str], languages: Sequence[str]) -> dict[str, float]:
    found = {}
    for label in sorted(set(labels)):
        means = []
        for language in sorted(set(languages)):
            here = [a == label and b == language for a, b in zip(labels, languages, strict=True)]
            if any(here):
                mean = rows[np.array(here)].mean(axis=0)
                means.append(mean / max(float(np.linalg.norm(mean)), 1e-12))
        pairs = [1 - float(a @ b) for number, a in enumerate(means) for b in means[number + 1 :]]
        if pairs:
            found[label] = sum(pairs) / len(pairs)
    return found


def draw(found: Sequence[Projection], file: Path) -> None:
    """Write a picture: a row per layer, a column per language, a colour per category."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - heavy

    columns = sorted({language for each in found for language in each.languages})
    labels = sorted({label for each in found for label in each.labels}, key=lambda label: (label != OUTSIDE, label))
    figure = Figure(figsize=(5 * len(columns) + 2, 4.5 * len(found)), layout="constrained")
    for row, each in enumerate(found):
        for column, language in enumerate(columns):
            axes: Any = figure.add_subplot(len(found), len(columns), row * len(columns) + column + 1, projection="3d")
            axes.set_title(f"{each.layer}, {language} ({sum(each.explained):.0%} of the variance)")
            for number, label in enumerate(labels):
                here = np.array(
                    [a == label and b == language for a, b in zip(each.labels, each.languages, strict=True)]
                )
                colour = "lightgrey" if label == OUTSIDE else f"C{number % 10}"
                marker = "o^sv"[number // 10 % 4]
                axes.scatter(*each.points[here].T, s=5, color=colour, marker=marker, label=label)
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", markerscale=3)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
