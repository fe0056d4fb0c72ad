"""What a task is made of: documents with what is to be learnt of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["tokens", "multilabel", "classes"]
Marked = tuple[int, int, str]
"""Range of characters and its label."""


@dataclass(frozen=True, slots=True)
class TaskDocument:
    """A document of a task.

    Args:
        note_id: Of the document.
        text: It.
        identifiers: Every identifier, with its class.
        marks: Spans to find, for tasks of tokens.
        labels: Of the document, for the others.
    """

    note_id: str
    text: str = field(repr=False)
    identifiers: tuple[Marked, ...] = field(repr=False, default=())
    marks: tuple[Marked, ...] = field(repr=False, default=())
    labels: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TaskData:
    """A task.

    Args:
        name: One of ``TASKS``, or the name of a corpus.
        kind: What is predicted: spans, several labels of a document, or one.
        labels: All of them.
        examples: Documents.
        published: Documents and classes of the published task.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    examples: tuple[TaskDocument, ...] = field(repr=False)
    published: tuple[int, int] = (0, 0)
