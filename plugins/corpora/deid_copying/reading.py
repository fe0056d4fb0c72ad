"""Corpora as commands name them, read a note at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from deid_assets.extending import InputError, label_map
from deid_assets.extending.commands import (
    Annotated,
    Fault,
    check_parsed_notes,
    detect_format,
    parse_notes,
)
from deid_assets.extending.corpora import read_corpus

SYNTHETIC = "synthetic:"


def notes_of(source: str, labels: str = "") -> Iterator[Annotated]:
    """Yield the notes of a corpus, with their annotations where there are any.

    Those of a file one after the other; synthetic ones are made all at once.

    Args:
        source: ``synthetic:LANG[/MIX]:NOTES[:SEED]``, or a file or folder.
        labels: Label map of its annotations; ``phi``, or i2b2's of such files, where empty.

    Raises:
        InputError: It is not there, or a note is faulty: a comparison must be of all notes.
        ConfigError: The name of a synthetic corpus is none.
    """
    if source.startswith(SYNTHETIC):
        for one in read_corpus(source).documents:
            yield Annotated(one.note, one.spans)
        return
    path = Path(os.path.expandvars(source))
    if not path.exists():
        raise InputError(f"{source} does not exist; name a file or folder of notes")
    name = detect_format(path)
    mapped = label_map(labels or ("i2b2" if name == "i2b2" else "phi"))
    for found in check_parsed_notes(parse_notes(path, format=name), labels=mapped):
        if isinstance(found, Fault):
            raise InputError(f"{found.message}; only whole corpora are compared")
        yield found
