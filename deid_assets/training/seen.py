"""Whose notes a model has seen.

Names in its card, so that it is not judged on what it was trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.trainer import Document
from deid_assets.training.card import Card, Seen
from deid_assets.training.corpora import owner_of
from deid_assets.training.naming import name_of, plain_name_of

_DIGITS = 16


def collect_seen(notes: Iterable[Note]) -> Seen:
    """Return the names of the notes' patients and texts, under the key where there is one."""
    names = {name for note in notes for name in _names(note, name_of)}
    return Seen(mark=_short(name_of, ""), names=tuple(sorted(names)))


def check_unseen(card: Card, documents: Sequence[Document], *, model: str) -> None:
    """Refuse notes of which a model has seen the text or the patient.

    Args:
        card: Of the model.
        documents: What it is to be judged on.
        model: What it is called in the message.

    Raises:
        InputError: It has seen one of the notes, or its card does not say, or says it under another
            key.
    """
    if card.seen is None:
        raise InputError(
            f"{model}: its model card does not say whose notes it has seen; train it again"
        )
    name = next(
        (name for name in (name_of, plain_name_of) if _short(name, "") == card.seen.mark), None
    )
    if name is None:
        raise InputError(
            f"{model}: its model card names notes under another DEID_KEY; set the key that it was"
            " trained under"
        )
    names = set(card.seen.names)
    for document in documents:
        if names.intersection(_names(document.note, name)):
            raise InputError(
                f"note {document.note.note_id!r}: {model} was trained on it or on its patient; "
                "take it out of the notes that judge"
            )


def count_seen(card: Card, notes: Sequence[Note]) -> int:
    """Return how many notes a card says that its model was trained on or chosen by, under the key
    that there is.
    """
    names = set(card.seen.names) if card.seen else set()
    return sum(_short(name_of, f"text:{note.digest}") in names for note in notes)


def _names(note: Note, name: Callable[[str], str]) -> set[str]:
    texts = {f"text:{note.digest}"} if note.text.strip() else set()
    return {_short(name, whose) for whose in {owner_of(note), *texts}}


def _short(name: Callable[[str], str], content: str) -> str:
    return name(content)[:_DIGITS]
