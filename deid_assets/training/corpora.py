"""Training corpora.

Read whole, named by digest, split by patient, and kept apart from what is tested on.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from deid_assets import plugins
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.resolve import POLICIES, Ensemble
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.core.trainer import Document
from deid_assets.formats import Annotated, Fault, detect_format, read_notes
from deid_assets.formats.registry import check_parsed_notes, parse_notes
from deid_assets.training.card import TAGGER
from deid_assets.training.naming import name_of, plain_name_of

SYNTHETIC = "synthetic"
GOLD = "gold"
RECEIVED = "received"
"""Raw notes of the asset graph: all that arrived."""
TRAINING_SEED = 7_000
"""Seed of synthetic training notes.

None of their hospitals and people is in a corpus with another seed.
"""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Annotated notes under a name.

    Args:
        name: As the recipe or the command line names it; a file by its name alone.
        documents: Annotated notes, at least one.
        joined: Annotations that overlapped others and became one with them.
    """

    name: str
    documents: tuple[Document, ...]
    joined: int = 0

    @property
    def digest(self) -> str:
        """Stands for the notes and spans, in their order; see ``name_of``."""
        return name_of(self._content())

    def is_named(self, digest: str) -> bool:
        """Whether a digest, with or without the key, is that of these notes."""
        return digest in (self.digest, plain_name_of(self._content()))

    def _content(self) -> str:
        return "\n".join(
            f"{document.note.note_id} {document.note.digest} {document.spans.spans}"
            for document in self.documents
        )

    @property
    def spans(self) -> int:
        """Spans over all documents."""
        return sum(len(document.spans) for document in self.documents)


def read_corpus(source: str, *, labels: str = "") -> Corpus:
    """Return a corpus that a recipe names, other than ``gold``.

    Args:
        source: ``synthetic:LANG[/MIX]:NOTES[:SEED]``, or the path of annotated notes.
        labels: Label map of a file; its format's own when empty.

    Raises:
        ConfigError: The name is not one of these.
        InputError: A file cannot be read, a note is faulty or not annotated. Nothing is passed
            over: a model would silently learn from less than its card says.
    """
    if source.split(":", 1)[0] == SYNTHETIC:
        return _synthetic(source)
    if source == GOLD:
        raise ConfigError(
            "corpus `gold` is there in the asset graph only; give a file or folder of annotated"
            " notes"
        )
    path = Path(os.path.expandvars(source))
    if not path.exists():
        raise InputError(f"corpus {source}: no such file or folder")
    mapped = label_map(labels) if labels else None
    notes = read_notes(path, format=detect_format(path), labels=mapped)
    read = list(_documents(path, notes, corpus=source))
    return Corpus(
        path.name, tuple(document for document, _ in read), sum(joined for _, joined in read)
    )


def read_raw(source: str) -> list[Note]:
    """Return unannotated notes; annotations that there are do not matter.

    Raises:
        ConfigError: As for ``read_corpus``.
        InputError: A file cannot be read, or a note is faulty.
    """
    if source.split(":", 1)[0] == SYNTHETIC:
        return [document.note for document in _synthetic(source).documents]
    if source == RECEIVED:
        raise ConfigError(
            "raw notes received are there in the asset graph only; name a file or folder with --raw"
        )
    path = Path(os.path.expandvars(source))
    if not path.exists():
        raise InputError(f"raw notes {source}: no such file or folder")
    notes = []
    parsed_notes = (
        found if isinstance(found, Fault) else replace(found, annotations=None, problems=())
        for found in parse_notes(path, format=detect_format(path))
    )
    for found in check_parsed_notes(parsed_notes, labels=label_map("phi")):
        if isinstance(found, Fault):
            raise InputError(found.message)
        notes.append(found.note)
    return notes


def read_marked(model: Path | None, *sources: str, labels: str = "") -> dict[str, DisjointSpans]:
    """Return what is marked in notes, by the digests of their texts, where the model is a tagger.

    Nothing of a source that ``read_corpus`` refuses: audits say what they lack.
    """
    if model is None or not is_tagger(model):
        return {}
    found: dict[str, DisjointSpans] = {}
    for source in filter(None, sources):
        with suppress(InputError):
            documents = read_corpus(source, labels=labels).documents
            found |= {document.note.digest: document.spans for document in documents}
    return found


def is_tagger(folder: Path) -> bool:
    """Whether a folder is of a tagger that ``deid train`` or ``deid export`` wrote."""
    return (folder / TAGGER).is_file() or any(folder.glob("*.onnx"))


def _synthetic(source: str) -> Corpus:
    fields = source.split(":")
    if len(fields) not in (3, 4) or not all(field.isdecimal() for field in fields[2:]):
        raise ConfigError(
            f"corpus {source!r} must read synthetic:LANG:NOTES or synthetic:LANG:NOTES:SEED,"
            " LANG/MIX for LANG"
        )
    seed = int(fields[3]) if len(fields) == 4 else TRAINING_SEED
    lang, _, mix = fields[1].partition("/")
    make_corpus = plugins.load_corpus(SYNTHETIC)
    made = make_corpus(lang=lang, notes=int(fields[2]), seed=seed, mix=mix or "hospital")
    # A note of a word or two comes again, and would be among the notes that judge as well.
    first = {note.digest: (note, spans) for note, spans in reversed(list(made))}
    documents = [
        Document(note, DisjointSpans.of(note, spans), corpus=source)
        for note, spans in reversed(first.values())
    ]
    return Corpus(source, tuple(documents))


def disjoint(note: Note, annotated: Iterable[Span]) -> DisjointSpans:
    """Return annotations of which no two overlap.

    Those that do become one, with the category of the longest.

    Annotators nest spans, such as a city within an address; a tagger gives each word one tag.
    """
    spans = list(annotated)
    return DisjointSpans.of(note, POLICIES["union"](spans, Ensemble.of_equals(spans)))


def _documents(
    path: Path, found: Iterable[Annotated | Fault], *, corpus: str
) -> Iterator[tuple[Document, int]]:
    """Yield each note, and how many of its annotations were joined to others."""
    is_empty = True
    for entry in found:
        if isinstance(entry, Fault):
            raise InputError(f"{entry.message}; a training corpus must be whole")
        note, spans = entry.note, entry.spans
        if spans is None:
            raise InputError(
                f"{path}: note {note.note_id!r} is not annotated; give annotated notes, or take"
                " it out"
            )
        separate = disjoint(note, spans)
        yield Document(note, separate, corpus=corpus), len(spans) - len(separate)
        is_empty = False
    if is_empty:
        raise InputError(f"{path}: no note in it; give annotated notes")


def split(
    documents: Sequence[Document], *, share: float, seed: int
) -> tuple[list[Document], list[Document]]:
    """Return the documents to train on and those held out; all notes of a patient fall on one side.

    Who falls where depends on the seed and the patient alone, so that it stays as a corpus grows.

    Args:
        documents: In any order; both parts keep it.
        share: Of the patients that is held out, roughly; at least one is, and one is not.
        seed: Another gives another split.

    Raises:
        InputError: All documents belong to one patient.
    """
    ranks = split_order(documents, seed=seed)
    if len(ranks) < 2:
        raise InputError(
            "the corpus has the notes of one patient only, so none can be held out; give --dev"
        )
    ordered = sorted(ranks, key=lambda name: ranks[name])
    count = sum(rank < share for rank in ranks.values())
    held = set(ordered[: min(max(count, 1), len(ordered) - 1)])
    return (
        [document for document in documents if owner(document) not in held],
        [document for document in documents if owner(document) in held],
    )


def split_order(documents: Sequence[Document], *, seed: int) -> dict[str, float]:
    """Return a number for each owner by which its notes are drawn.

    It depends on the seed and the owner alone.
    """
    return {owner(document): _rank(owner(document), seed) for document in documents}


def folds(
    documents: Sequence[Document], *, count: int, seed: int
) -> list[tuple[list[Document], list[Document]]]:
    """Return ``count`` pairs of training and test documents; each patient is tested once.

    Raises:
        InputError: There are fewer patients than folds, or fewer than two folds.
    """
    owners = sorted({owner(document) for document in documents}, key=lambda name: _rank(name, seed))
    if not 2 <= count <= len(owners):
        raise InputError(f"{count} folds of {len(owners)} patients; give 2 to {len(owners)}")
    place = {name: number % count for number, name in enumerate(owners)}
    return [
        (
            [document for document in documents if place[owner(document)] != fold],
            [document for document in documents if place[owner(document)] == fold],
        )
        for fold in range(count)
    ]


def check_apart(training: Iterable[Document], tested: Iterable[Document], *, role: str) -> None:
    """Refuse test or development notes of which training notes say the answers.

    Args:
        training: Every training document.
        tested: Those that are not.
        role: What the latter are called in the message.

    Raises:
        InputError: A note id, a text or a patient is in both.
    """
    ids, digests, patients = set(), set(), set()
    for document in training:
        ids.add(document.note.note_id)
        digests.add(document.note.digest)
        patients.add(document.note.patient_id)
    patients.discard(None)
    for document in tested:
        note = document.note
        known = {
            "id": note.note_id in ids,
            "text": note.digest in digests and bool(note.text.strip()),
            "patient": note.patient_id in patients,
        }
        if what := next((name for name, found in known.items() if found), ""):
            raise InputError(
                f"note {note.note_id!r}: its {what} is among the {role} notes and among the"
                " training notes; a score on it would mean nothing, so take it out of one"
            )


def owner(document: Document) -> str:
    """Return whose note a document is; see ``owner_of``."""
    return owner_of(document.note)


def owner_of(note: Note) -> str:
    """Return whose note it is: the patient.

    Where that is not known, all notes with one text belong together.
    """
    return f"patient:{note.patient_id}" if note.patient_id is not None else f"text:{note.digest}"


def _rank(name: str, seed: int) -> float:
    """Return a number in [0, 1) that depends on the name and the seed."""
    return int.from_bytes(hashlib.sha256(f"{seed} {name}".encode()).digest()[:8]) / 2**64
