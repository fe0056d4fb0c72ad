"""All that a run needs, looked for before anything is trained.

Labels, text, and the files of given embeddings.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deid_assets.extending import Document, Task, TrainingError, label_ranges
from deid_flair import building
from deid_flair.settings import (
    CharacterModel,
    FlairSettings,
    Source,
    SubWords,
    Transformer,
    WordVectors,
)

_TRAINED = {"flair": "a language model", "word": "word vectors", "bpemb": "sub-words"}


def check(task: Task, wanted: FlairSettings) -> None:
    """Refuse a run that could not end well.

    Seconds, where training the language models takes hours.

    Raises:
        TrainingError: No training note has a span, a phase or an embedding has no text, the
            development notes have a label that is not the task's, or a file is missing.
        PluginError: A file is no such embedding.
    """
    if not task.labels or not any(
        document.spans for documents in task.phases for document in documents
    ):
        raise TrainingError("no training note has a span; give annotated notes")
    for number, documents in enumerate(task.phases, start=1):
        if not any(document.note.text.strip() for document in documents):
            raise TrainingError(f"the notes of phase {number} have no text; give notes with text")
        _check_labels(documents, task, "training")
    _check_labels(task.dev, task, "development")
    for embedding in wanted.embeddings:
        if isinstance(embedding, Transformer):
            building.check_transformer(embedding)
        elif isinstance(embedding, CharacterModel | WordVectors | SubWords):
            if not embedding.train:
                building.locate(embedding)
            elif not _has_text(task, embedding.texts):
                what = _TRAINED[embedding.kind]
                raise TrainingError(
                    f"there is no text to train {what} on; give raw notes, or texts = ['train']"
                )
            if embedding.train and isinstance(embedding, CharacterModel) and embedding.cache:
                _check_folder(Path(embedding.cache))


def _check_labels(documents: Sequence[Document], task: Task, role: str) -> None:
    for document in documents:
        for _, _, label in label_ranges(document.spans, native=task.native):
            if label not in task.labels:
                raise TrainingError(
                    f"note {document.note.note_id!r}: its label {label!r} is among the {role} notes"
                    " and not among the task's; make the inventory of labels over training and"
                    " development notes"
                )


def _has_text(task: Task, texts: Sequence[Source]) -> bool:
    raw = any(note.text.strip() for note in task.raw) if "raw" in texts else False
    return raw or "train" in texts  # each phase has text


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise TrainingError(f"cache {str(folder)!r} is a file; name a folder")
