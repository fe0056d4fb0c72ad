"""A corpus that a tiny model learns by heart in seconds, and its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deid_assets import DisjointSpans
from deid_assets.core.tagging import TagScheme
from deid_assets.core.trainer import Document, Epoch, Task, label_inventory
from deid_assets.testing import parse_marked
from deid_generative import GenerativeTrainer

TEXTS = (
    "Vu par Dr <NAME>Lee</NAME> le <DATE>3 mai</DATE>.",
    "Dr <NAME>Mora</NAME>, toux, sortie le <DATE>12 mars</DATE>.",
    "Toux depuis 3 jours, sans fievre.",
    "Vu le <DATE>1 juin</DATE>, stable.",
)

TINY: Mapping[str, Any] = {
    "new": {
        "layers": 2,
        "width": 32,
        "heads": 2,
        "feed_forward": 64,
        "vocabulary": 330,
        "context": 128,
        "steps": 20,
        "batch": 128,
        "shortest": 4,
        "save_every": 10,
        "learning_rate": 5e-3,
    },
    "lora": {
        "rank": 16,
        "alpha": 32,
        "dropout": 0.0,
        "targets": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    },
    "epochs": 6,
    "batch": 4,
    "learning_rate": 2e-2,
    "schedule": "constant",
    "warm_up": 0.0,
    "longest": 128,
    "threads": 1,
    "checker": "",
}


def documents(texts: Sequence[str] = TEXTS) -> list[Document]:
    found = []
    for number, text in enumerate(texts):
        note, spans = parse_marked(text, note_id=f"toy-{number}", lang="fr")
        found.append(Document(note, DisjointSpans(note.note_id, note.digest, spans.spans)))
    return found


def task(settings: Mapping[str, Any] = TINY, *, seed: int = 1, **changes: Any) -> Task:
    given = documents()
    return Task(
        phases=[given],
        dev=given,
        labels=label_inventory(given, native=False),
        native=False,
        scheme=TagScheme.BIO,
        grouping=1,
        seed=seed,
        settings={**settings, **changes},
    )


def train(given: Task, out: Path, curve: list[Epoch] | None = None) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    GenerativeTrainer().train(given, out, (curve if curve is not None else []).append)
    return out


def files(folder: Path, pattern: str = "*.safetensors") -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob(pattern))
    }
