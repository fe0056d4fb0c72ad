"""Digests of all that a run depends on, so that it resumes from its own checkpoint alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from deid_assets import Note
from deid_assets.extending import Task, label_ranges


def task_fingerprint(task: Task, *parts: object) -> str:
    """Return a digest of a task's notes, spans, labels and seed, and of parts by their ``repr``.

    Args:
        task: Its settings are not counted.
        parts: Settings, versions and what else makes the model.
    """
    known = (task.seed, task.grouping, task.scheme, task.native, sorted(task.labels.items()))
    total = hashlib.sha256(repr((*known, *parts)).encode())
    for documents in (*task.phases, task.dev):
        total.update(b"\0")
        for document in documents:
            spans = label_ranges(document.spans, native=task.native)
            total.update(repr((document.note.digest, document.corpus, spans)).encode())
    total.update(notes_fingerprint(task.raw).encode())
    return total.hexdigest()


def notes_fingerprint(notes: Iterable[Note], *parts: object) -> str:
    """Return a digest of notes in their order, and of parts by their ``repr``."""
    total = hashlib.sha256(repr(parts).encode())
    for note in notes:
        total.update(note.digest.encode())
    return total.hexdigest()
