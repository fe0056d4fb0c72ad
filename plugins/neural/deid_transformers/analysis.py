"""Token vectors of a tagger, before and after its encoder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from deid_assets import Note
from deid_assets.extending import Grouping, PluginError, inputs, tokenize
from deid_onnx.families.transformers import POSITIONS
from deid_onnx.folder import read_folder
from deid_onnx.pieces import TOKENIZER_FILE, Pieces, PieceSettings, batches, pad_rows
from deid_transformers.encoder import load_tagger

Rows = NDArray[np.float32]
EMBEDDINGS, ENCODER = "embeddings", "encoder"


def vectors(model: Path, notes: Sequence[Note]) -> Iterator[Mapping[str, Rows]]:
    """Yield the layers of each note, a row per token.

    ``embeddings`` is the mean over a word's sub-tokens of what goes into the first block,
    ``encoder`` what the tags are read from: the last block's state at the first sub-token.

    Raises:
        PluginError: The folder is missing, broken, or of another plugin.
    """
    folder = read_folder(model)
    if folder.plugin != "transformers":
        raise PluginError(f"{model}: trained by {folder.plugin!r}; analyse it with that plugin")
    encoder = load_tagger(folder.path, folder.tags)
    pieces = Pieces(folder.path / TOKENIZER_FILE, PieceSettings(**folder.settings["inputs"]))
    for note in notes:
        yield _layers(encoder, pieces, note, grouping=folder.grouping)


def _layers(encoder: Any, pieces: Pieces, note: Note, *, grouping: Grouping) -> dict[str, Rows]:
    tokens = tokenize(note.text)
    width = int(encoder.config.hidden_size)
    found = {name: np.zeros((len(tokens), width), np.float32) for name in (EMBEDDINGS, ENCODER)}
    parts = inputs(note.text, tokens, grouping=grouping)
    owned_tokens = [tokens[part.start : part.stop] for part in parts]
    words = [pieces.of(note.text, some) for some in owned_tokens]
    cut = [
        row
        for number, some in enumerate(owned_tokens)
        for row in pieces.rows(note.text, some, source=number)
    ]
    for batch in batches([len(row.ids) for row in cut], positions=POSITIONS):
        states = _states(
            encoder, pad_rows([cut[number] for number in batch], pad=pieces.settings.pad)
        )
        for place, number in enumerate(batch):
            row = cut[number]
            first = parts[row.source].start + row.word
            owned = slice(first, first + len(row.firsts))
            sizes = [len(word) for word in words[row.source][row.word : row.word + len(row.firsts)]]
            before, after = (state[place] for state in states)
            spans = zip(row.firsts.tolist(), sizes, strict=True)
            found[EMBEDDINGS][owned] = np.stack(
                [before[start : start + size].mean(axis=0) for start, size in spans]
            )
            found[ENCODER][owned] = after[row.firsts]
    return found


def _states(encoder: Any, feeds: Mapping[str, NDArray[np.int64]]) -> tuple[Rows, Rows]:
    """Return what goes into the first block and what comes out of the last.

    (batch, positions, width).
    """
    device = next(encoder.parameters()).device
    with torch.inference_mode():
        given = {name: torch.from_numpy(array).to(device) for name, array in feeds.items()}
        states = encoder(**given, output_hidden_states=True).hidden_states
    return states[0].float().cpu().numpy(), states[-1].float().cpu().numpy()
