"""Inputs of ``deid evaluate``.

Annotated notes, spans files, learning curves, and digests of them all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any

from deid_assets.extending import (
    LABEL_MAPS,
    PHI,
    ConfigError,
    InputError,
    LabelMap,
    Note,
    Phi,
    SpanSet,
)
from deid_assets.extending.commands import Fault, NoteSource, SpansFile, Withheld, progress
from deid_evaluation.report import System

_TRIED_NOTES = 200
"""Notes read to tell which label map fits."""
_EPOCH = ("phase", "epoch", "loss", "dev_f1")


@dataclass(frozen=True, slots=True)
class ReferenceNotes:
    """The gold and how it is compared.

    Args:
        spans: By note id.
        notes: The notes themselves by id.
        labels: The map it was read with.
        others: Ids of notes that were there and are not scored: without annotation, or withheld.
        nameless: Withheld notes whose id could not be read.
    """

    spans: Mapping[str, SpanSet]
    notes: Mapping[str, Note] = field(repr=False)
    labels: LabelMap
    others: frozenset[str] = frozenset()
    nameless: int = 0

    @property
    def scope(self) -> frozenset[Phi] | None:
        """The categories it annotates; all where it uses the categories' own names."""
        return None if self.labels is PHI else self.labels.categories


def read_gold(source: NoteSource, labels: LabelMap, withheld: Withheld) -> ReferenceNotes:
    """Return annotated notes.

    Raises:
        InputError: None is annotated, a label is unknown, or a note comes twice.
    """
    spans: dict[str, SpanSet] = {}
    notes: dict[str, Note] = {}
    others: set[str] = set()
    with progress("reading annotated notes") as advance:
        for found in source.read(labels):
            if isinstance(found, Fault):
                if found.kind == "unknown-label":
                    raise InputError(f"{found.message}{_advice(source)}")
                if found.kind == "duplicate-id":
                    raise InputError(found.message)  # which of the two is right is not ours to say
                withheld.fault(found)
            elif found.spans is None:
                others.add(found.note.note_id)
            else:
                spans[found.note.note_id], notes[found.note.note_id] = found.spans, found.note
            advance(1)
    if not spans:
        raise InputError(f"{source.path}: no annotated note could be read; give notes with spans")
    faulty = [entry["note"] for entry in withheld.to_json()]
    others |= {note_id for note_id in faulty if note_id is not None}
    return ReferenceNotes(spans, notes, labels, frozenset(others), faulty.count(None))


def _advice(source: NoteSource) -> str:
    fitting = [name for name, labels in LABEL_MAPS.items() if _fits(source, labels)]
    return (
        f"; --labels {' or '.join(fitting)} would fit"
        if fitting
        else "; deid labels lists the label maps"
    )


def _fits(source: NoteSource, labels: LabelMap) -> bool:
    tried = islice(source.read(labels), _TRIED_NOTES)
    return not any(isinstance(found, Fault) and found.kind == "unknown-label" for found in tried)


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file, and the name of what is in it; empty where none was given."""

    path: Path
    name: str = ""

    @classmethod
    def parse(cls, argument: str) -> NamedFile:
        """Return ``FILE[=NAME]``; a file whose own name holds ``=`` is taken as it is."""
        path, equals, name = argument.rpartition("=")
        if not equals or Path(argument).exists():
            return cls(Path(argument))
        if not path or not name or not name.isprintable():
            raise ConfigError(f"{argument!r} must read FILE or FILE=NAME")
        return cls(Path(path), name)

    @property
    def shown(self) -> str:
        """The name given, or that of the file."""
        return self.name or self.path.stem


def check_names(preds: Sequence[NamedFile]) -> None:
    """Refuse two files of one name.

    Raises:
        ConfigError: There are such.
    """
    if len({pred.shown for pred in preds}) < len(preds):
        raise ConfigError(
            "two spans files have the same name, by which scores are distinguished; write FILE=NAME"
        )


def read_systems(
    pred: NamedFile,
    gold: ReferenceNotes,
    *,
    sources: Sequence[str],
    is_alone: bool,
    is_sample: bool,
) -> Iterator[System]:
    """Yield what is scored of a file: all of it, or each of its sources and all of these together.

    Args:
        pred: Spans file.
        gold: Predictions for its notes are taken.
        sources: Detectors that are scored alone; all spans together when empty.
        is_alone: There is no other file, from which names must be distinguished.
        is_sample: Notes that the gold does not have are allowed; their spans are counted.

    Raises:
        InputError: A source is in no span, or predictions are for notes that the gold does not
            have.
    """
    every = SpansFile(pred.path).rest()
    present = sorted({span.source for spans in every.values() for span in spans})
    if absent := sorted(set(sources) - set(present)):
        raise InputError(
            f"{pred.path}: no span is from {', '.join(absent)}; it has"
            f" {', '.join(present) or 'no spans'}"
        )
    _check_notes(pred.path, every, gold, is_sample=is_sample)
    prefix = f"{pred.shown}: " if pred.name or not is_alone else ""
    groups = [[source] for source in sources] + ([list(sources)] if len(sources) > 1 else [])
    for group in groups or [present]:
        name = (
            pred.name
            if pred.name and not sources
            else prefix + (" + ".join(group) or pred.path.stem)
        )
        members = tuple(prefix + source for source in group) if sources and len(group) > 1 else ()
        spans = {
            note_id: _only(found, group)
            for note_id, found in every.items()
            if note_id in gold.spans
        }
        others = (found for note_id, found in every.items() if note_id not in gold.spans)
        yield System(
            name, spans, members, sum(span.source in group for found in others for span in found)
        )


def _check_notes(
    path: Path, every: Mapping[str, SpanSet], gold: ReferenceNotes, *, is_sample: bool
) -> None:
    unknown = sorted(every.keys() - gold.spans.keys() - gold.others)
    if len(unknown) > gold.nameless and not is_sample:
        raise InputError(
            f"{path}: {len(unknown)} of {len(every)} notes with predictions are not in the"
            f" annotations, the first is {unknown[0]!r}; score against the annotations of the same"
            " notes, or say --sample where it is a sample of them"
        )


def _only(spans: SpanSet, sources: Sequence[str]) -> SpanSet:
    kept = tuple(span for span in spans if span.source in sources)
    return spans if len(kept) == len(spans) else SpanSet(spans.note_id, spans.digest, kept)


def read_curve(path: Path) -> dict[str, Any]:
    """Return the learning curve of a model card.

    ``name``, and ``epochs`` with phase, epoch, loss and dev F1.

    Args:
        path: The card in JSON, or the folder of a model, which has its card in it. Of several lists
            the first counts.

    Raises:
        InputError: The file is no JSON, or holds no list of epochs.
    """
    if path.is_dir():
        path /= "card.json"
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: no model card in JSON ({type(error).__name__}); give the card of a model"
        ) from None
    epochs = next(_lists_of_epochs(card), None)
    if not epochs:
        raise InputError(
            f"{path}: no list of epochs, each with epoch and loss; this card has no learning curve"
        )
    rows = [{key: entry.get(key) for key in _EPOCH} for entry in epochs]
    for at, row in enumerate(rows, start=1):
        if any(isinstance(value, float) and not isfinite(value) for value in row.values()):
            raise InputError(
                f"{path}: epoch {at} has a value that is NaN or infinite; train again, or leave the"
                " card out"
            )
    return {"name": _model_name(card) or path.parent.name or path.stem, "epochs": rows}


def _model_name(card: Any) -> str | None:
    """Return the name that a card gives, itself or in its recipe."""
    for part in (card, card.get("recipe") if isinstance(card, dict) else None):
        if isinstance(part, dict) and isinstance(part.get("name"), str):
            return str(part["name"])
    return None


def _lists_of_epochs(value: Any) -> Iterator[list[dict[str, Any]]]:
    if isinstance(value, list):
        if value and all(
            isinstance(entry, dict) and {"epoch", "loss"} <= entry.keys() for entry in value
        ):
            yield value
    elif isinstance(value, dict):
        for entry in value.values():
            yield from _lists_of_epochs(entry)


def digest_row(path: Path, role: str) -> dict[str, str]:
    """Return the name, role and SHA-256 of a file.

    Of a folder that of its files' names and digests.
    """
    if path.is_dir():
        whole = hashlib.sha256()
        for file in sorted(found for found in path.rglob("*") if found.is_file()):
            whole.update(f"{file.relative_to(path).as_posix()}\0{_sha256(file)}\n".encode())
        return {"name": path.name, "role": role, "sha256": whole.hexdigest()}
    return {"name": path.name, "role": role, "sha256": _sha256(path)}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
