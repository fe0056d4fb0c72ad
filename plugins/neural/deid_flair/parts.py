"""Embeddings as Flair knows them, each able to embed a whole batch.

A batch comes from the arrays of ``deid_onnx.families.flair``. The modules are Flair's own, so that
Flair's ``predict`` on the same tagger reads the same weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import flair
import torch
from flair.data import Dictionary, Sentence
from flair.embeddings import (
    CharacterEmbeddings,
    FlairEmbeddings,
    OneHotEmbeddings,
    TokenEmbeddings,
    TransformerWordEmbeddings,
)
from flair.models import LanguageModel
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from deid_assets.extending import PluginError
from deid_flair import language_models
from deid_onnx.families import flair as reading

Arrays = Mapping[str, torch.Tensor]


class EmbeddingPart(Protocol):
    """One embedding of the stack.

    Attributes:
        description: Its entry in ``tagger.json``, complete with its vocabulary but for the weights.
        vocabulary: Its words, pieces or characters, in the order of their numbers.
        frozen: Whether training leaves it as it is.
    """

    description: dict[str, Any]
    vocabulary: Sequence[str]
    frozen: bool

    @property
    def embedding(self) -> TokenEmbeddings:
        """Flair's object."""
        ...

    def encode(
        self, arrays: Arrays, words: torch.Tensor, lines: Sequence[reading.Line]
    ) -> torch.Tensor:
        """Return (inputs, tokens, width) float32.

        Args:
            arrays: Its feeds.
            words: (inputs, tokens), numbers of the batch's different tokens.
            lines: The batch, for what cannot be fed as arrays.
        """
        ...


class CharacterStatesPart:
    """States of a character language model."""

    def __init__(self, model: LanguageModel, *, fine_tune: bool) -> None:
        model.decoder = None
        self.embedding = FlairEmbeddings(model, fine_tune=fine_tune)
        described = language_models.description(model)
        self.vocabulary = described.pop("characters")
        self.description = {"kind": "flair", "fine_tune": fine_tune, **described}
        self.frozen = not fine_tune

    def encode(
        self,
        arrays: Arrays,
        words: torch.Tensor,  # noqa: ARG002 - the signature of all parts
        lines: Sequence[reading.Line],  # noqa: ARG002
    ) -> torch.Tensor:
        """See ``EmbeddingPart``."""
        model = self.embedding.lm
        chars = arrays["chars"]
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            hidden = model.init_hidden(chars.shape[1])  # type: ignore[no-untyped-call]
            states: torch.Tensor = model(chars, hidden, decode=False)[0]
        return states.reshape(-1, states.shape[-1])[arrays["at"]]


class RowEmbeddings(TokenEmbeddings):
    """Rows of a table for Flair: the mean of a word's rows, or its rows end to end."""

    def __init__(
        self, name: str, reader: reading.VectorTable | reading.BytePairs, vectors: torch.Tensor
    ) -> None:
        self.name = name
        self.static_embeddings = True
        super().__init__()
        self.reader = reader
        self.joined = 2 if isinstance(reader, reading.BytePairs) else 1
        self.table = torch.nn.Embedding(
            vectors.shape[0], vectors.shape[1], _weight=vectors, _freeze=True
        )
        self.to(flair.device)

    @property
    def embedding_length(self) -> int:
        """Width of a token's vector."""
        return int(self.table.weight.shape[1]) * self.joined

    def of(self, arrays: Arrays) -> torch.Tensor:
        """Return (words, width)."""
        found: torch.Tensor = self.table(arrays["rows"])
        return found.flatten(1) if self.joined == 2 else found.sum(1) * arrays["share"]

    def _add_embeddings_internal(self, sentences: list[Sentence]) -> list[Sentence]:
        tokens = [token for sentence in sentences for token in sentence]
        feeds = self.reader.feeds([], [token.text for token in tokens])
        vectors = self.of(
            {name: torch.from_numpy(array).to(flair.device) for name, array in feeds.items()}
        )
        for token, vector in zip(tokens, vectors, strict=True):
            token.set_embedding(self.name, vector)
        return sentences


class RowsPart:
    """Static vectors of words or of pieces."""

    frozen = True

    def __init__(
        self, description: dict[str, Any], vocabulary: Sequence[str], vectors: torch.Tensor | None
    ) -> None:
        rows = len(vocabulary) + int(description.get("buckets", 0)) + 1
        if vectors is None:
            vectors = torch.zeros(rows, int(description["width"]))
        self.description, self.vocabulary = description, vocabulary
        reader = reading.part(description, vocabulary)
        if not isinstance(reader, reading.VectorTable | reading.BytePairs):
            raise PluginError(f"{description['kind']!r} is no table of vectors")
        self.embedding = RowEmbeddings(str(description["kind"]), reader, vectors)

    def encode(
        self,
        arrays: Arrays,
        words: torch.Tensor,
        lines: Sequence[reading.Line],  # noqa: ARG002
    ) -> torch.Tensor:
        """See ``EmbeddingPart``."""
        return self.embedding.of(arrays)[words]


class OneHotPart:
    """A learnt vector per word."""

    frozen = False

    def __init__(self, vocabulary: Sequence[str], width: int) -> None:
        self.vocabulary = vocabulary
        self.description = {"kind": "onehot", "width": width}
        self.embedding = OneHotEmbeddings(dictionary(vocabulary), embedding_length=width)

    def encode(
        self,
        arrays: Arrays,
        words: torch.Tensor,
        lines: Sequence[reading.Line],  # noqa: ARG002
    ) -> torch.Tensor:
        """See ``EmbeddingPart``."""
        found: torch.Tensor = self.embedding.embedding_layer(arrays["rows"])
        return found[words]


class CharacterLstmPart:
    """A learnt LSTM over the characters of a word."""

    frozen = False

    def __init__(self, vocabulary: Sequence[str], width: int, hidden: int) -> None:
        self.vocabulary = vocabulary
        self.description = {"kind": "character", "width": width, "hidden": hidden}
        self.embedding = CharacterEmbeddings(dictionary(vocabulary), width, hidden)

    def encode(
        self,
        arrays: Arrays,
        words: torch.Tensor,
        lines: Sequence[reading.Line],  # noqa: ARG002
    ) -> torch.Tensor:
        """See ``EmbeddingPart``."""
        vectors = self.embedding.char_embedding(arrays["chars"])
        packed = pack_padded_sequence(vectors, arrays["sizes"].cpu(), enforce_sorted=False)
        states, _ = pad_packed_sequence(self.embedding.char_rnn(packed)[0])
        found: torch.Tensor = states.reshape(-1, states.shape[-1])[arrays["at"]]
        return found[words]


class TransformerPart:
    """States of a transformer encoder, through Flair's own code."""

    vocabulary: Sequence[str] = ()

    def __init__(self, model: str | Path, *, layers: str, fine_tune: bool) -> None:
        self.frozen = not fine_tune
        self.description = {"kind": "transformer", "layers": layers, "fine_tune": fine_tune}
        self.embedding = TransformerWordEmbeddings(
            str(model),
            layers=layers,
            fine_tune=fine_tune,
            allow_long_sentences=True,
            force_max_length=False,
        )

    def encode(
        self,
        arrays: Arrays,  # noqa: ARG002 - the signature of all parts
        words: torch.Tensor,  # noqa: ARG002
        lines: Sequence[reading.Line],
    ) -> torch.Tensor:
        """See ``EmbeddingPart``."""
        sentences = [Sentence(list(line)) for line in lines]
        self.embedding.embed(sentences)
        rows = [
            torch.stack([token.get_embedding() for token in sentence]) for sentence in sentences
        ]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)

    def save(self, folder: Path) -> None:
        """Write encoder and tokenizer as the transformers library does, as safetensors."""
        self.embedding.model.save_pretrained(folder, safe_serialization=True)
        self.embedding.tokenizer.save_pretrained(folder)


def dictionary(items: Sequence[str]) -> Dictionary:
    """Return Flair's dictionary of items of which the first is the unknown one."""
    found = Dictionary(add_unk=True)
    for item in items:
        found.add_item(item)
    return found


def rebuild(description: dict[str, Any], vocabulary: Sequence[str], folder: Path) -> EmbeddingPart:
    """Return a part as ``tagger.json`` describes it; its weights are still to be loaded.

    Raises:
        PluginError: The description is not complete.
    """
    try:
        return _rebuild(description, vocabulary, folder)
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise PluginError(
            f"{folder}: tagger.json describes no embedding that can be built"
            f" ({type(error).__name__}: {error}); train the model again"
        ) from None


def _rebuild(description: dict[str, Any], vocabulary: Sequence[str], folder: Path) -> EmbeddingPart:
    kind = description["kind"]
    if kind == "flair":
        model = language_models.build({**description, "characters": vocabulary})
        return CharacterStatesPart(model, fine_tune=bool(description["fine_tune"]))
    if kind in {"word", "bpemb"}:
        return RowsPart(description, vocabulary, None)
    if kind == "onehot":
        return OneHotPart(vocabulary, int(description["width"]))
    if kind == "character":
        return CharacterLstmPart(vocabulary, int(description["width"]), int(description["hidden"]))
    if kind == "transformer":
        path = folder / str(description["folder"])
        return TransformerPart(
            path, layers=str(description["layers"]), fine_tune=bool(description["fine_tune"])
        )
    raise ValueError(f"unknown kind {kind!r}")
