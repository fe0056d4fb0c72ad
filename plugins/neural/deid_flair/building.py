"""The stack of a recipe: each embedding trained from the task's notes, or found and read."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import flair
import flair.embeddings.token
import torch
from flair.embeddings import FlairEmbeddings, WordEmbeddings

from deid_assets.extending import Grouping, Note, Task, TrainingError, inputs, tokenize
from deid_flair import language_models, vectors
from deid_flair.parts import (
    CharacterLstmPart,
    CharacterStatesPart,
    EmbeddingPart,
    OneHotPart,
    RowsPart,
    TransformerPart,
)
from deid_flair.published import remedy
from deid_flair.settings import (
    CharacterLstm,
    CharacterModel,
    FlairSettings,
    OneHot,
    Source,
    SubWords,
    Transformer,
    WordVectors,
)
from deid_onnx.families.flair import UNKNOWN

Curves = dict[str, list[float]]


def stack(task: Task, wanted: FlairSettings, kept: Path) -> tuple[list[EmbeddingPart], Curves]:
    """Return the parts of a recipe, and validation losses.

    The losses are those of the language models that were trained.

    Args:
        task: Its notes are what is trained on; the development notes are not read.
        wanted: The recipe's settings.
        kept: Folder for language models that name no ``cache`` of their own.

    Raises:
        TrainingError: A resource is missing, or there is too little text to make one.
        PluginError: A file cannot be read.
    """
    parts: list[EmbeddingPart] = []
    curves: Curves = {}
    for embedding in wanted.embeddings:
        torch.manual_seed(task.seed + len(parts))
        if isinstance(embedding, CharacterModel):
            parts += _character_models(task, embedding, kept, curves)
        elif isinstance(embedding, WordVectors):
            parts.append(_rows(_words(task, embedding)))
        elif isinstance(embedding, SubWords):
            parts.append(_rows(_pieces(task, embedding)))
        elif isinstance(embedding, Transformer):
            parts.append(_transformer(embedding))
        else:
            parts.append(_learnt(task, embedding))
    return parts, curves


def lines(task: Task, texts: Sequence[Source]) -> list[list[str]]:
    """Return the inputs of notes as the tagger will read them: their tokens."""
    notes: dict[str, Note] = {}
    for source in texts:
        given = (
            task.raw
            if source == "raw"
            else (document.note for document in chain.from_iterable(task.phases))
        )
        notes |= {note.digest: note for note in given}
    return [line for note in notes.values() for line in _lines(note, task.grouping)]


def _lines(note: Note, grouping: Grouping) -> Iterator[list[str]]:
    tokens = tokenize(note.text)
    for part in inputs(note.text, tokens, grouping=grouping):
        yield [note.text[start:end] for start, end in tokens[part.start : part.stop]]


def _some(task: Task, texts: Sequence[Source], what: str) -> list[list[str]]:
    found = lines(task, texts)
    if not found:
        raise TrainingError(
            f"there is no text to train {what} on; give raw notes, or texts = ['train']"
        )
    return found


def _character_models(
    task: Task, wanted: CharacterModel, kept: Path, curves: Curves
) -> Iterator[EmbeddingPart]:
    if not wanted.train:
        yield CharacterStatesPart(_load_given(wanted), fine_tune=wanted.fine_tune)
        return
    texts = [" ".join(line) + "\n" for line in _some(task, wanted.texts, "a language model")]
    folder = Path(wanted.cache) if wanted.cache else kept
    for direction in ("forward", "backward") if wanted.direction == "both" else (wanted.direction,):
        file = folder / f"lm-{direction}-{_digest(wanted, texts, task.seed)}.safetensors"
        backward = direction == "backward"
        for _ in language_models.train(
            texts, wanted, backward=backward, seed=task.seed, state=file
        ):
            pass
        curves[direction] = language_models.curve(file)
        yield CharacterStatesPart(language_models.load(file), fine_tune=wanted.fine_tune)


def _digest(wanted: CharacterModel, texts: Sequence[str], seed: int) -> str:
    settings = wanted.model_dump(
        exclude={"cache", "trust", "allow_download", "fine_tune", "direction", "texts"}
    )
    digest = hashlib.sha256(json.dumps([settings, seed], sort_keys=True).encode())
    for text in texts:
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:16]


def _load_given(wanted: CharacterModel) -> Any:
    (path,) = locate(wanted)
    if path.suffix == ".safetensors":
        return language_models.load(path)
    return language_models.load_flair(path, trust=wanted.trust)


def _words(task: Task, wanted: WordVectors) -> vectors.Found:
    if wanted.train:
        return vectors.train_words(
            _some(task, wanted.texts, "word vectors"), wanted, seed=task.seed
        )
    (path,) = locate(wanted)
    return vectors.read_words(path, trust=wanted.trust)


def _pieces(task: Task, wanted: SubWords) -> vectors.Found:
    if wanted.train:
        return vectors.train_pieces(_some(task, wanted.texts, "sub-words"), wanted, seed=task.seed)
    return vectors.read_pieces(*locate(wanted))


def locate(wanted: CharacterModel | WordVectors | SubWords) -> list[Path]:
    """Return the files of an embedding that is not trained here.

    Fetched where the recipe allows it.

    Raises:
        TrainingError: A file is not here. The message names it, where its authors publish it, and
            what to run.
    """
    if isinstance(wanted, SubWords):
        files = [Path(wanted.model), Path(wanted.vectors)]
        for file in files:
            if not file.is_file():
                advice = (
                    remedy(str(file))
                    or "give model = '….model' and vectors = '….w2v.bin' of one BPEmb release"
                )
                raise TrainingError(f"sub-word vectors: {str(file)!r} is no file here; {advice}")
        return files
    path = Path(wanted.model)
    if path.exists():
        return [path]
    if advice := remedy(wanted.model):
        raise TrainingError(f"embedding: {wanted.model!r} is no file here; {advice}")
    kind = FlairEmbeddings if isinstance(wanted, CharacterModel) else WordEmbeddings
    return [
        _find_published(
            wanted.model, lambda: kind(wanted.model), allow_download=wanted.allow_download
        )
    ]


def _rows(found: vectors.Found) -> EmbeddingPart:
    description, vocabulary, rows = found
    return RowsPart(description, vocabulary, torch.from_numpy(rows))


def check_transformer(wanted: Transformer) -> None:
    """Refuse an encoder that is not here.

    Raises:
        TrainingError: There is no such folder, or no ``config.json`` in it, and it may not be
            fetched.
    """
    folder = Path(wanted.model)
    if wanted.allow_download and not folder.is_dir():
        return
    if not folder.is_dir():
        raise TrainingError(
            f"transformer {wanted.model!r} is no folder here; give its folder or allow_download ="
            " true"
        )
    if not (folder / "config.json").is_file():
        raise TrainingError(
            f"transformer {wanted.model!r} has no config.json; give the folder of an encoder"
        )


def _transformer(wanted: Transformer) -> EmbeddingPart:
    check_transformer(wanted)
    try:
        return TransformerPart(wanted.model, layers=wanted.layers, fine_tune=wanted.fine_tune)
    except (OSError, ValueError) as error:
        raise TrainingError(
            f"transformer {wanted.model!r} cannot be read ({type(error).__name__}); give the folder"
            " of an encoder with its tokenizer"
        ) from None


def _learnt(task: Task, wanted: OneHot | CharacterLstm) -> EmbeddingPart:
    found = lines(task, ("train",))
    units = (
        chain.from_iterable(found)
        if isinstance(wanted, OneHot)
        else (chain.from_iterable(map("".join, found)))
    )
    counts = Counter(units)
    items = [UNKNOWN, *sorted(item for item, count in counts.items() if count >= wanted.min_count)]
    if isinstance(wanted, OneHot):
        return OneHotPart(items, wanted.width)
    return CharacterLstmPart(items, wanted.width, wanted.hidden)


class _FoundError(Exception):
    """Carries the path of a published file out of Flair's constructor.

    It does so before Flair reads the file as a pickle.
    """

    def __init__(self, path: Path) -> None:
        self.path = path


def _find_published(name: str, construct: Callable[[], object], *, allow_download: bool) -> Path:
    """Return the file that Flair has for a published name.

    Flair keeps the addresses inside its constructors; they are run up to where a file is looked
    for.

    Raises:
        TrainingError: The name is unknown, or the file is not here and may not be fetched.
    """
    module = vars(flair.embeddings.token)
    fetch = module["cached_path"]

    def look_for(address: str, cache_dir: Path) -> Path:
        path = Path(flair.cache_root) / cache_dir / address.rpartition("/")[2]
        if not path.exists() and not allow_download:
            raise TrainingError(
                f"embedding {name!r} is not on this machine: Flair publishes {path.name} at"
                f" {address}; put it into {path.parent} and give the same command again, or set"
                " allow_download = true"
            )
        path = (
            path
            if path.exists()
            else _fetch(address, path, lambda: fetch(address, cache_dir=cache_dir))
        )
        if path.suffix == ".npy":  # the vectors of gensim's file, which is asked for next
            return path
        raise _FoundError(path)

    module["cached_path"] = look_for
    try:
        construct()
    except _FoundError as found:
        return found.path
    except (ValueError, OSError):
        raise TrainingError(
            f"embedding {name!r} is no file here and no name that Flair publishes; give a path"
        ) from None
    finally:
        module["cached_path"] = fetch
    raise TrainingError(f"embedding {name!r} is no file and no published name; give a path")


def _fetch(address: str, path: Path, fetch: Callable[[], str | Path]) -> Path:
    """Return a file that Flair fetches; a fetch that fails says what to fetch by hand."""
    try:
        return Path(fetch())
    except (ValueError, OSError) as error:
        raise TrainingError(
            f"{path.name} could not be fetched ({type(error).__name__}); fetch {address} by hand"
            f" and put it into {path.parent}"
        ) from None
