"""What a recipe may set, with the published values as defaults (Catelli 2021, section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from deid_assets.extending.settings import check_settings

Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, lt=1)]
Source = Literal["raw", "train"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Resource(_Frozen):
    """Base of embeddings that are either trained here or given.

    Args:
        model: Path of a file or folder, or the name that the publisher gave; empty where it is
            trained here.
        train: Make it from the notes of the task.
        texts: Which notes: the unannotated ones, the training ones, or both.
        cache: Folder in which what was trained is kept for other runs; the run's own checkpoint
            when empty.
        allow_download: Whether ``model`` may be fetched where it is a name and not there already.
        trust: Whether a file that can run code when it is read may be read.
    """

    model: str = ""
    train: bool = False
    texts: tuple[Source, ...] = ("raw", "train")
    cache: str = ""
    allow_download: bool = False
    trust: bool = False

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if bool(self.model) == self.train:
            raise ValueError("give either model = a path or name, or train = true")
        if not self.texts:
            raise ValueError("texts names no notes; give raw, train or both")
        return self


class CharacterModel(_Resource):
    """Character language models, read at each token (Akbik et al. 2018).

    Args:
        direction: Of what is trained here.
        hidden: Width of the LSTM; the published models have 1024 or 2048.
        layers: Of the LSTM.
        width: Of a character's vector.
        epochs: Most passes over the text.
        sequence_length: Characters that one gradient reaches back.
        batch_size: Streams of text read side by side.
        optimizer: ``sgd`` as Flair's authors, or ``adam``, which learns more from little text, with
            a rate near 0.002.
        learning_rate: At the start, times ``anneal_factor`` after ``patience`` epochs without
            improvement.
        anneal_factor: See ``learning_rate``.
        patience: See ``learning_rate``.
        dropout: On characters and states.
        min_count: Times a character occurs to be known.
        fine_tune: Whether training the tagger changes the language model.
    """

    kind: Literal["flair"] = "flair"
    direction: Literal["both", "forward", "backward"] = "both"
    hidden: Positive = 256
    layers: Positive = 1
    width: Positive = 100
    epochs: Positive = 10
    sequence_length: Annotated[int, Field(ge=2)] = 250
    batch_size: Positive = 100
    optimizer: Literal["sgd", "adam"] = "sgd"
    learning_rate: Annotated[float, Field(gt=0)] = 20.0
    anneal_factor: Annotated[float, Field(gt=0, lt=1)] = 0.25
    patience: Annotated[int, Field(ge=0)] = 1
    dropout: Share = 0.1
    min_count: Positive = 3
    fine_tune: bool = False


class WordVectors(_Resource):
    """Static vectors, by path or trained here.

    By path they are GloVe, word2vec or fastText; those trained here are fastText (Bojanowski et al.
    2017).

    Args:
        width: Of a vector trained here.
        epochs: Passes over the text.
        window: Tokens to either side.
        min_count: Times a word occurs to have a vector of its own.
        buckets: Rows for character n-grams, which words without a vector are made of.
        shortest: Characters of an n-gram, its brackets counted.
        longest: As ``shortest``.
    """

    kind: Literal["word"] = "word"
    width: Positive = 100
    epochs: Positive = 10
    window: Positive = 5
    min_count: Positive = 2
    buckets: Positive = 50_000
    shortest: Positive = 3
    longest: Positive = 6


class SubWords(_Resource):
    """First and last sub-word of a token.

    BPEmb or MultiBPEmb (Heinzerling and Strube 2018), or trained here.

    Args:
        vectors: Path of the vectors that belong to ``model``.
        language: Of the published model, ``multi`` for the one of 275 languages.
        vocabulary: Number of pieces.
        width: Of a piece's vector.
        epochs: Passes over the text.
    """

    kind: Literal["bpemb"] = "bpemb"
    vectors: str = ""
    vocabulary: Positive = 10_000
    width: Positive = 100
    epochs: Positive = 10


class OneHot(_Frozen):
    """A vector per word of the training notes, learnt with the tagger.

    Args:
        width: Of a vector.
        min_count: Times a word occurs to have one.
    """

    kind: Literal["onehot"]
    width: Positive = 300
    min_count: Positive = 3


class CharacterLstm(_Frozen):
    """A small LSTM over a word's characters, learnt with the tagger (Lample et al. 2016).

    Args:
        width: Of a character's vector.
        hidden: Of each direction.
        min_count: Times a character occurs in the training notes to be known.
    """

    kind: Literal["character"]
    width: Positive = 25
    hidden: Positive = 25
    min_count: Positive = 2


class Transformer(_Frozen):
    """A transformer encoder's states as embedding.

    Args:
        model: Folder, or hub name.
        layers: Which, counted from the end; as Flair writes them.
        fine_tune: Whether training the tagger changes the encoder.
        allow_download: Whether a hub name may be fetched.
    """

    kind: Literal["transformer"]
    model: str
    layers: str = "-1"
    fine_tune: bool = False
    allow_download: bool = False


Embedding = Annotated[
    CharacterModel | WordVectors | SubWords | OneHot | CharacterLstm | Transformer,
    Field(discriminator="kind"),
]


class FlairSettings(_Frozen):
    """The ``[settings]`` of a recipe.

    Args:
        embeddings: The stack, joined end to end.
        encoder: Between embeddings and tags; ``linear`` leaves the Bi-LSTM out.
        decoder: ``softmax`` leaves the CRF out, as the published ablations do, and takes the best
            tag of each token; ``constrained`` leaves it out too, and takes the best legal sequence.
        hidden: Width of each direction of the Bi-LSTM.
        layers: Of the Bi-LSTM.
        reproject: A learnt linear map over the embeddings, which stands in for tuning frozen ones.
        word_dropout: Share of tokens whose embedding is zeroed in training.
        locked_dropout: Share of dimensions zeroed for a whole input (variational dropout).
        optimizer: ``sgd`` as published, or ``adamw``, which needs fewer epochs and a rate near
            0.002.
        learning_rate: At the start of each phase, or the highest of a ``cycle``.
        schedule: ``anneal`` as published, or ``cycle``: a tenth of ``max_epochs`` up, the rest down
            to 0, for a budget.
        anneal_factor: Multiplies the rate after more than ``patience`` epochs without improvement.
        patience: Epochs without improvement that are waited for.
        min_learning_rate: A phase ends when the rate falls below.
        max_epochs: A phase ends after so many.
        anneal_on: What has to improve. ``dev_f1`` is Flair's; the loss on ``dev`` or on the
            training notes if named.
        batch_size: Inputs per step: 4 for A1, 16 for B and C.
        clip: Largest norm of the gradient.
        longest: Tokens in one window; a longer input is read in windows.
        overlap: Tokens that windows share.
        cache_mb: Memory for embeddings that do not change; 0 to compute them in every epoch.
        threads: Of PyTorch; 0 for the cores given to the process.
    """

    embeddings: tuple[Embedding, ...] = Field(
        default=(WordVectors(train=True), CharacterModel(train=True)), min_length=1
    )
    encoder: Literal["lstm", "linear"] = "lstm"
    decoder: Literal["crf", "softmax", "constrained"] = "crf"
    hidden: Positive = 256
    layers: Positive = 1
    reproject: bool = True
    word_dropout: Share = 0.05
    locked_dropout: Share = 0.5
    optimizer: Literal["sgd", "adamw"] = "sgd"
    learning_rate: Annotated[float, Field(gt=0)] = 0.1
    schedule: Literal["anneal", "cycle"] = "anneal"
    anneal_factor: Annotated[float, Field(gt=0, lt=1)] = 0.5
    patience: Annotated[int, Field(ge=0)] = 3
    min_learning_rate: Annotated[float, Field(gt=0)] = 1e-4
    max_epochs: Positive = 500
    anneal_on: Literal["dev_f1", "dev_loss", "train_loss"] = "dev_f1"
    batch_size: Positive = 16
    clip: Annotated[float, Field(gt=0)] = 5.0
    longest: Annotated[int, Field(ge=8)] = 512
    overlap: Annotated[int, Field(ge=0)] = 64
    cache_mb: Annotated[int, Field(ge=0)] = 4000
    threads: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.overlap >= self.longest:
            raise ValueError(f"overlap {self.overlap} must be less than longest {self.longest}")
        return self


def settings(given: Mapping[str, Any]) -> FlairSettings:
    """Return settings checked and completed.

    Raises:
        ConfigError: A key is unknown or a value is not allowed.
    """
    return check_settings(FlairSettings, given, trainer="flair")
