"""The vectors of a tagger's tokens, from its embeddings to its last layer.

Who is near whom, and a view in space.

What leaves this module for a card, a database or a page are numbers and labels. Words stay in
``Space.words``.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import (
    OUTSIDE,
    Document,
    InputError,
    Note,
    PluginError,
    label_ranges,
    tokenize,
)
from deid_assets.extending.taggers import Layers, VectorSource
from deid_tagger_analysis.errors import token_labels

Rows = NDArray[np.float32]
NEIGHBOURS = 10
TOKENS, READ_TOKENS = 2_000, 40_000
"""Tokens whose vectors are compared, and those of the notes that they are drawn from."""
LEAST_TOKENS = 4


@dataclass(frozen=True, slots=True)
class Space:
    """Tokens drawn from notes, and their vectors.

    Args:
        labels: Tag label of each token, ``O`` for none.
        languages: Of each token's note.
        words: Text of the notes.
        places: Number of the note and of the token in it.
        layers: The same tokens in each layer.
    """

    labels: Sequence[str] = field(repr=False)
    languages: Sequence[str] = field(repr=False)
    words: Sequence[str] = field(repr=False)
    places: Sequence[tuple[int, int]] = field(repr=False)
    layers: Layers = field(repr=False)


@dataclass(frozen=True, slots=True)
class Projection:
    """Vectors in three dimensions.

    Args:
        points: (tokens, 3), principal components.
        explained: Share of the variance that each of the three holds.
    """

    points: Rows = field(repr=False)
    explained: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class _Drawn:
    note: int
    token: int
    label: str
    language: str


def read_space(
    source: VectorSource,
    model: Path,
    documents: Sequence[Document],
    *,
    native: bool,
    tokens: int = TOKENS,
    seed: int = 0,
) -> Space:
    """Return the vectors of tokens drawn from notes, alike from each pair of label and language.

    Signs are left out: a full stop is like any other.

    Args:
        source: The trainer of the model.
        model: Its folder.
        documents: Annotated notes, of one language or more.
        native: Whether labels are the corpus' own.
        tokens: At most so many.
        seed: Of the draw.

    Raises:
        InputError: There are fewer than four tokens.
        PluginError: The folder is no network of the trainer, or what the trainer gives is not as
            promised.
    """
    drawn = _draw(documents, native=native, tokens=tokens, seed=seed)
    if len(drawn) < LEAST_TOKENS:
        raise InputError(f"{len(drawn)} words are too few to show vectors of; give more notes")
    texts = {one.note: documents[one.note].note.text for one in drawn}
    spots = {number: tokenize(text) for number, text in texts.items()}
    return Space(
        labels=[one.label for one in drawn],
        languages=[one.language for one in drawn],
        words=[texts[one.note][slice(*spots[one.note][one.token])] for one in drawn],
        places=[(one.note, one.token) for one in drawn],
        layers=_gather(source, model, documents, drawn),
    )


def _gather(
    source: VectorSource, model: Path, documents: Sequence[Document], drawn: Sequence[_Drawn]
) -> Layers:
    """Return the vectors of the drawn tokens, which are in the order of the notes.

    Of no others any is kept.
    """
    wanted: dict[int, list[int]] = {}
    for one in drawn:
        wanted.setdefault(one.note, []).append(one.token)
    notes = [documents[number].note for number in wanted]
    kept: dict[str, list[Rows]] = {}
    for note, rows, layers in zip(
        notes, wanted.values(), source.vectors(model, notes), strict=True
    ):
        for name, of_note in _check(note, layers).items():
            kept.setdefault(name, []).append(of_note[rows])
    return {name: np.concatenate(parts) for name, parts in kept.items()}


def _check(note: Note, layers: Layers) -> Layers:
    count = len(tokenize(note.text))
    for name, rows in layers.items():
        fault = f"{rows.shape[0]} vectors for {count} tokens" if rows.shape[0] != count else ""
        fault = fault or ("" if np.isfinite(rows).all() else "a vector that is not finite")
        if fault:
            raise PluginError(
                f"note {note.note_id!r}: layer {name} has {fault}; train the model again, or report"
                " it to the plugin's author"
            )
    return layers


def _draw(documents: Sequence[Document], *, native: bool, tokens: int, seed: int) -> list[_Drawn]:
    """Return tokens in the order of the notes.

    There are as many of each kind as the notes have or as its share allows.
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    kinds: dict[tuple[str, str], list[_Drawn]] = {}
    read = 0
    for number in chance.sample(range(len(documents)), len(documents)):
        note = documents[number].note
        labels = token_labels(note.text, label_ranges(documents[number].spans, native=native))
        language = note.lang or "unknown"
        for token, (label, (start, _)) in enumerate(zip(labels, tokenize(note.text), strict=True)):
            if note.text[start].isalnum():
                kinds.setdefault((label, language), []).append(
                    _Drawn(number, token, label, language)
                )
        read += len(labels)
        if read >= READ_TOKENS:
            break
    kept: list[_Drawn] = []
    for place, (_, waiting) in enumerate(
        sorted(kinds.items(), key=lambda kind: (len(kind[1]), kind[0]))
    ):
        kept += chance.sample(
            waiting, min(len(waiting), (tokens - len(kept)) // (len(kinds) - place))
        )
    return sorted(kept, key=lambda one: (one.note, one.token))


def project(rows: Rows) -> Projection:
    """Return the first three principal components.

    A component has the sign that makes its largest value positive.
    """
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    is_tall = centred.shape[0] >= centred.shape[1]
    squares, axes = np.linalg.eigh(centred.T @ centred if is_tall else centred @ centred.T)
    squares, axes = np.maximum(squares[::-1], 0.0), axes[:, ::-1]
    shown = min(3, len(squares))
    found = centred @ axes[:, :shown] if is_tall else axes[:, :shown] * np.sqrt(squares[:shown])
    points = np.zeros((len(rows), 3))
    points[:, :shown] = found
    points *= np.where(points[np.abs(points).argmax(axis=0), range(3)] < 0, -1, 1)
    shares = [*(squares[:shown] / max(float(squares.sum()), 1e-12)), 0.0, 0.0]
    return Projection(
        points.astype(np.float32), (float(shares[0]), float(shares[1]), float(shares[2]))
    )


def cosines(rows: Rows) -> Rows:
    """Return (tokens, tokens); a vector of length 0 is like no other."""
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    found: Rows = (unit @ unit.T).astype(np.float32)
    return found


def others(words: Sequence[str]) -> NDArray[np.bool_]:
    """Return (tokens, tokens): whether two tokens are different words.

    Case does not make a difference.
    """
    numbers = np.unique([word.casefold() for word in words], return_inverse=True)[1].reshape(-1)
    different: NDArray[np.bool_] = numbers[:, None] != numbers[None, :]
    return different


def alike(space: Space, *, nearest: int = NEIGHBOURS) -> list[dict[str, Any]]:
    """Return for each label how many of a token's nearest neighbours have its label.

    It is told layer by layer. Neighbours are the tokens of the greatest cosine, other words only:
    that one name lies beside itself says little.

    Args:
        space: The tokens.
        nearest: Neighbours of each token, or all others where there are fewer.

    Returns:
        Rows of ``label``, ``tokens``, ``chance``, the share where neighbours are drawn at random,
        and ``layers``, layer to share; the row ``ALL`` is the mean over the tokens, and comes
        first.
    """
    different = others(space.words)
    same = np.equal.outer(np.array(space.labels), np.array(space.labels))
    counts = np.minimum(different.sum(axis=1), nearest)
    by_chance = (same & different).sum(axis=1) / np.maximum(different.sum(axis=1), 1)
    shares = {}
    for name, rows in space.layers.items():
        order = np.argsort(np.where(different, -cosines(rows), np.inf), axis=1, kind="stable")[
            :, :nearest
        ]
        hits = np.take_along_axis(same & different, order, axis=1).sum(axis=1)
        shares[name] = hits / np.maximum(counts, 1)
    labels = np.array(space.labels)
    chosen = {"ALL": counts > 0} | {
        label: (labels == label) & (counts > 0) for label in _order(space.labels)
    }
    return [
        {
            "label": label,
            "tokens": int(here.sum()),
            "chance": float(by_chance[here].mean()),
            "layers": {name: float(share[here].mean()) for name, share in shares.items()},
        }
        for label, here in chosen.items()
        if here.any()
    ]


def _order(labels: Sequence[str]) -> list[str]:
    return sorted(set(labels), key=lambda label: (label == OUTSIDE, label))


def apart(space: Space) -> list[dict[str, Any]]:
    """Return how far the languages lie from each other, layer by layer.

    Nothing where there is one language.

    The distance is 1 less the cosine of two languages' mean vectors of a label, after the mean of
    all tokens is taken off: 0 where they lie alike, 1 where they have nothing in common. With more
    than two languages it is the mean over the pairs.
    """
    labels, languages = np.array(space.labels), np.array(space.languages)
    found = []
    for label in _order(space.labels):
        here = [
            language
            for language in sorted(set(space.languages))
            if ((labels == label) & (languages == language)).any()
        ]
        if len(here) > 1:
            masks = [(labels == label) & (languages == language) for language in here]
            layers = {name: _distance(rows, masks) for name, rows in space.layers.items()}
            found.append({"label": label, "languages": here, "layers": layers})
    return found


def _distance(rows: Rows, masks: Sequence[NDArray[np.bool_]]) -> float:
    centred = rows - rows.mean(axis=0)
    near = cosines(np.stack([centred[mask].mean(axis=0) for mask in masks]))
    pairs = near[np.triu_indices(len(masks), k=1)]
    return float(1 - pairs.mean())
