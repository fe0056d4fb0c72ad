"""A small corpus with a rule that can be learnt.

A tagger of every embedding kind is trained on it once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans
from deid_assets.core.tagging import TagScheme
from deid_assets.core.trainer import Document, Epoch, Task, label_inventory
from deid_assets.testing import parse_marked
from deid_flair import FlairTrainer

EVERY_KIND: Sequence[Mapping[str, Any]] = (
    {"kind": "word", "train": True, "width": 16, "buckets": 200, "epochs": 2},
    {
        "kind": "flair",
        "train": True,
        "hidden": 16,
        "width": 8,
        "epochs": 2,
        "batch_size": 4,
        "sequence_length": 20,
        "optimizer": "adam",
        "learning_rate": 0.01,
    },
    {"kind": "character", "hidden": 8, "width": 8},
    {"kind": "onehot", "width": 8, "min_count": 1},
    {"kind": "bpemb", "train": True, "vocabulary": 60, "width": 8, "epochs": 1},
)
SMALL: Sequence[Mapping[str, Any]] = (
    {"kind": "onehot", "width": 8, "min_count": 1},
    {"kind": "character"},
)


def document(text: str, number: int) -> Document:
    note, spans = parse_marked(text, note_id=f"note-{number}")
    return Document(note, DisjointSpans(note.note_id, note.digest, spans.spans))


@pytest.fixture(scope="session")
def documents() -> list[Document]:
    names = ("Lee", "Ito", "Berg", "Cruz", "Dahl", "Falk")
    cities = ("Oslo", "Rome", "Paris")
    texts = (
        f"Seen by Dr. <NAME>Ana {name}</NAME> in <CITY>{city}</CITY>.\nWalks well on day {day}.\n"
        for day, (name, city) in enumerate((name, city) for name in names for city in cities)
    )
    return [document(text, number) for number, text in enumerate(texts)]


Tasks = Callable[..., Task]


@pytest.fixture(scope="session")
def task(documents: list[Document]) -> Tasks:
    def make(
        *,
        phases: Sequence[Sequence[Document]] | None = None,
        dev: Sequence[Document] | None = None,
        raw: Sequence[Note] = (),
        seed: int = 1,
        **given: Any,
    ) -> Task:
        phases = [documents] if phases is None else phases
        settings = {
            "embeddings": SMALL,
            "hidden": 16,
            "max_epochs": 12,
            "batch_size": 4,
            "threads": 1,
            **given,
        }
        return Task(
            phases=phases,
            dev=documents[::3] if dev is None else dev,
            labels=label_inventory([each for phase in phases for each in phase], native=False),
            native=False,
            scheme=TagScheme.BIO,
            grouping=1,
            seed=seed,
            settings=FlairTrainer().settings(settings),
            raw=raw,
        )

    return make


@pytest.fixture(scope="session")
def train() -> Callable[[Task, Path], list[Epoch]]:
    def run(wanted: Task, out: Path) -> list[Epoch]:
        out.mkdir(exist_ok=True)
        curve: list[Epoch] = []
        FlairTrainer().train(wanted, out, curve.append)
        return curve

    return run


@pytest.fixture(scope="session")
def model(
    task: Tasks,
    train: Callable[[Task, Path], list[Epoch]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    out = tmp_path_factory.mktemp("flair") / "model"
    train(task(embeddings=EVERY_KIND, optimizer="adamw", learning_rate=0.02), out)
    return out
