"""A corpus that a tiny encoder learns by heart in seconds, and the settings of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from deid_assets import DisjointSpans, Note, Span
from deid_assets.core.tagging import TagScheme
from deid_assets.core.trainer import Document, Epoch, Task, label_inventory
from deid_assets.testing import parse_marked
from deid_transformers import TransformersTrainer

TEXTS = (
    "Seen by Dr. <NAME>Lee</NAME> on <DATE>3 May 2021</DATE>.\nNo fever.",
    "Patient: <NAME>Anna Berg</NAME>\nAge: <AGE>47</AGE> years\nStable.",
    "Discharged on <DATE>12/03/2020</DATE> to the care of Dr. <NAME>Mora</NAME>.",
    "Fever for 3 days, no cough. Paracetamol 500 mg.",
    "Patient: <NAME>Tom Hill</NAME>\nAge: <AGE>61</AGE> years\nSeen on <DATE>1 June 2019</DATE>.",
    "Dr. <NAME>Ruiz</NAME> saw the patient on <DATE>07/11/2018</DATE>. Pulse 80.",
)


def documents(texts: Sequence[str] = TEXTS) -> list[Document]:
    found = []
    for number, text in enumerate(texts):
        note, spans = parse_marked(text, note_id=f"toy-{number}")
        gold = [
            Span(span.start, span.end, span.label, native_label=f"X_{span.label}") for span in spans
        ]
        found.append(Document(note, DisjointSpans(note.note_id, note.digest, tuple(gold))))
    return found


TINY: Mapping[str, Any] = {
    "new": {
        "layers": 1,
        "hidden": 32,
        "heads": 2,
        "positions": 64,
        "vocabulary": 300,
        "dropout": 0.0,
    },
    "window": 48,
    "epochs": 60,
    "batch": 8,
    "learning_rate": 5e-3,
    "patience": 60,
    "collapse_after": 40,
    "threads": 1,
}


def task(
    settings: Mapping[str, Any] = TINY,
    *,
    phases: Sequence[Sequence[Document]] | None = None,
    dev: Sequence[Document] | None = None,
    native: bool = False,
    scheme: TagScheme = TagScheme.BIO,
    seed: int = 1,
    raw: Sequence[Note] = (),
    grouping: int = 2,
) -> Task:
    given = [documents()] if phases is None else phases
    return Task(
        phases=given,
        dev=documents() if dev is None else dev,
        labels=label_inventory([document for phase in given for document in phase], native=native),
        native=native,
        scheme=scheme,
        grouping=grouping,
        seed=seed,
        settings=settings,
        raw=raw,
    )


def with_settings(given: Task, **settings: Any) -> Task:
    return replace(given, settings={**given.settings, **settings})


def train(given: Task, out: Path, curve: list[Epoch] | None = None) -> Path:
    """Train into a folder and return it."""
    out.mkdir(parents=True, exist_ok=True)
    TransformersTrainer().train(given, out, (curve if curve is not None else []).append)
    return out


def files(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
