"""The interface of a trainer: annotated notes in, a model folder out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.core.tagging import (
    Grouping,
    Labelled,
    TagScheme,
    Token,
    encode,
    input_ranges,
    limit_lengths,
    tokenize,
)


@dataclass(frozen=True, slots=True)
class Document:
    """An annotated note.

    Args:
        note: Its text.
        spans: What there is to find in it.
        corpus: Corpus that it is from, as the recipe names it. Corpora mark different things.
    """

    note: Note
    spans: DisjointSpans
    corpus: str = ""


@dataclass(frozen=True, slots=True)
class Tagged:
    """One input of a tagger: consecutive tokens of a note, and their tags.

    Args:
        note: Where the tokens are.
        tokens: Offsets into ``note.text``.
        tags: One per token.
    """

    note: Note = field(repr=False)
    tokens: Sequence[Token]
    tags: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """All that a trainer may see. Test notes are not here.

    Args:
        phases: Training documents; more than one phase where training continues from an earlier
            model.
        dev: Documents for early stopping and model selection, disjoint from all phases.
        labels: Tag label to category, over all phases and ``dev``.
        native: Whether tags carry the corpus' own labels; if not, the categories.
        scheme: Tag scheme.
        grouping: Consecutive sentences in one input, 1 or more, or a chunk of ``N words``.
        seed: Of everything random.
        settings: What ``Trainer.settings`` gave back.
        raw: Unannotated notes, for language models and vocabularies; may be empty.
    """

    phases: Sequence[Sequence[Document]]
    dev: Sequence[Document]
    labels: Mapping[str, Phi]
    native: bool
    scheme: TagScheme
    grouping: Grouping
    seed: int
    settings: Mapping[str, Any]
    raw: Sequence[Note] = ()

    def tag_label(self, span: Span) -> str:
        """Return the label that a span's tags carry."""
        return tag_label(span, native=self.native)

    def sequences(self, document: Document, *, longest: int | None = None) -> Iterator[Tagged]:
        """Yield a document's inputs: its sentences, grouped, each with the tags of its tokens.

        Args:
            document: An annotated note.
            longest: Cut what has more tokens.
        """
        note = document.note
        tokens = tokenize(note.text)
        tags, _ = encode(label_ranges(document.spans, native=self.native), tokens, self.scheme)
        for part in inputs(note.text, tokens, grouping=self.grouping, longest=longest):
            yield Tagged(note, tokens[part.start : part.stop], tags[part.start : part.stop])


def inputs(
    text: str, tokens: Sequence[Token], *, grouping: Grouping, longest: int | None = None
) -> list[range]:
    """Return the inputs of a note as ranges of its tokens, the same in training and in use."""
    parts = input_ranges(text, tokens, grouping)
    return parts if longest is None else limit_lengths(parts, longest)


def tag_label(span: Span, *, native: bool) -> str:
    """Return a span's own label where that is wanted and there is one, else its category."""
    return (span.native_label or span.label.value) if native else span.label.value


def label_ranges(spans: DisjointSpans, *, native: bool) -> list[Labelled]:
    """Return spans as ranges with the label that their tags carry."""
    return [(span.start, span.end, tag_label(span, native=native)) for span in spans]


def label_inventory(documents: Sequence[Document], *, native: bool) -> dict[str, Phi]:
    """Return every tag label of the documents and its category.

    Raises:
        InputError: One label stands for two categories, or there is no span.
    """
    found: dict[str, Phi] = {}
    for document in documents:
        for span in document.spans:
            name = tag_label(span, native=native)
            if found.setdefault(name, span.label) is not span.label:
                raise InputError(
                    f"note {document.note.note_id!r}: label {name!r} stands for {span.label} and"
                    f" for {found[name]}; read both corpora with one label map, or train on"
                    " categories"
                )
    if not found:
        raise InputError(
            f"none of {len(documents)} training notes has a span; give annotated notes"
        )
    return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """One point of the learning curve.

    Args:
        phase: Number of the phase, from 0.
        epoch: Number of the epoch or iteration within the phase, from 1.
        loss: Mean training loss per token, or the objective where there is no other.
        seconds: Since the phase began.
        dev_f1: Strict F1 on ``Task.dev``, where it was measured.
        learning_rate: Where there is one.
    """

    phase: int
    epoch: int
    loss: float
    seconds: float
    dev_f1: float | None = None
    learning_rate: float | None = None


Report = Callable[[Epoch], None]


@runtime_checkable
class Trainer(Protocol):
    """Makes a model folder that the detector of the same name loads with ``model=FOLDER``.

    Attributes:
        name: Entry-point name, the same as the detector's.
        version: Changes whenever the same task would give another model.

    A trainer that learns one corpus after the other, each from the weights that the one before
    left, says so with ``learns_in_phases = True``; of any other the strategy ``sequential`` is
    refused.
    """

    name: str
    version: str

    def settings(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the recipe's ``[settings]`` checked and completed, so that they can be recorded.

        Raises:
            ConfigError: A key is unknown or a value is not allowed.
        """
        ...

    def train(self, task: Task, out: Path, report: Report) -> None:
        """Write the model into ``out``, which exists.

        The run resumes from ``out/checkpoint`` of a killed run, and removes it at the end. The
        folder holds safetensors, JSON and text files; no pickles.

        Raises:
            TrainingError: The run cannot give a model; the message says what to change.
        """
        ...


Layers = Mapping[str, Any]
"""Layer to an array of float32, (tokens, width), from the input of the network to its last layer
before the tag scores.
"""


@runtime_checkable
class VectorSource(Protocol):
    """A trainer whose models are networks that show the vectors of their tokens."""

    def vectors(self, model: Path, notes: Sequence[Note]) -> Iterator[Layers]:
        """Yield the layers of each note, in order.

        Their rows are the note's tokens as ``tokenize`` has them.

        Every note has the same layers, of the same widths.

        Raises:
            PluginError: The folder is missing, broken, or has no network of this plugin.
        """
        ...


@runtime_checkable
class VocabularySource(Protocol):
    """A trainer whose models may hold a table of word vectors, larger than the notes."""

    def neighbours(
        self, model: Path, words: Sequence[str], *, known: Mapping[str, int], most: int
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return for each word that has a vector the nearest words of the whole vocabulary.

        ``word``, ``cosine``, ``count``.

        It is empty where the model has no word vectors. What it holds are words of notes.

        Args:
            model: The folder.
            words: Any.
            known: How often a word occurs in the training notes.
            most: Neighbours of each.

        Raises:
            PluginError: The folder is missing or broken.
        """
        ...


@runtime_checkable
class EvidenceSource(Protocol):
    """A trainer whose models weigh named evidence, such as a CRF."""

    def evidence(self, model: Path, *, most: int) -> Sequence[Mapping[str, Any]]:
        """Return the evidence that speaks most for each label.

        Rows of ``label``, ``about``, ``what`` and ``weight``.

        ``what`` may hold words of the notes.

        Args:
            model: The folder.
            most: Rows of each label.

        Raises:
            InputError: The folder is missing or broken.
        """
        ...
