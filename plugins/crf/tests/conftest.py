"""A small annotated corpus, and models trained on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deid_assets.core.span import DisjointSpans
from deid_assets.core.tagging import TagScheme
from deid_assets.core.trainer import Document, Epoch, Task, label_inventory
from deid_assets.testing import parse_marked
from deid_crf import CrfTrainer

LETTERS = (
    (
        "Patient: <NAME>Ada Moss</NAME>\nDate: <DATE>3 May 2021</DATE>\nSeen by Dr <NAME>Orla"
        " Finch</NAME> for a cough.\n"
    ),
    (
        "Patient: <NAME>Jon Vale</NAME>\nDate: <DATE>14 June 2020</DATE>\nNo cough. Lives in"
        " <CITY>Larkham</CITY>.\n"
    ),
    (
        "Patient: <NAME>Mia Thorne</NAME>\nDate: <DATE>9 July 2019</DATE>\nSeen by Dr <NAME>Kit"
        " Rowan</NAME>.\n"
    ),
    (
        "Patient: <NAME>Lee Hazel</NAME>\nDate: <DATE>21 May 2018</DATE>\nLives in"
        " <CITY>Norwell</CITY>. No fever.\n"
    ),
    (
        "Patient: <NAME>Tess Birch</NAME>\nDate: <DATE>30 June 2022</DATE>\nCough and fever since"
        " May.\n"
    ),
    "Lives in <CITY>Astley</CITY>, seen by Dr <NAME>Nia Holt</NAME> on <DATE>2 July 2017</DATE>.\n",
)
SETTINGS: Mapping[str, Any] = {
    "predictions_of": "",
    "min_patients": 1,
    "c1": 0.0,
    "c2": 0.01,
    "max_iterations": 200,
    "keep_empty": 1.0,
}


def documents(texts: Sequence[str] = LETTERS) -> list[Document]:
    found = []
    for number, text in enumerate(texts):
        note, spans = parse_marked(text, note_id=f"letter-{number}")
        found.append(Document(note, DisjointSpans(note.note_id, note.digest, spans.spans)))
    return found


def task(
    found: Sequence[Document] | None = None,
    *,
    settings: Mapping[str, Any] = SETTINGS,
    **changed: Any,
) -> Task:
    train = documents() if found is None else found
    given: dict[str, Any] = {
        "phases": [train],
        "dev": [],
        "labels": label_inventory(train, native=False),
        "native": False,
        "scheme": TagScheme.BIOES,
        "grouping": 2,
        "seed": 1,
        "settings": CrfTrainer().settings(settings),
    }
    return Task(**{**given, **changed})


def trained(out: Path, what: Task | None = None) -> list[Epoch]:
    out.mkdir(parents=True, exist_ok=True)
    curve: list[Epoch] = []
    CrfTrainer().train(what or task(), out, curve.append)
    return curve


@pytest.fixture(scope="session")
def toy() -> SimpleNamespace:
    return SimpleNamespace(documents=documents, task=task, trained=trained, settings=SETTINGS)


@pytest.fixture(scope="session")
def toy_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("toy") / "model"
    trained(out)
    return out
