"""Short annotated notes of invented patients, and taggers that learnt some of them."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from deid_assets import DisjointSpans
from deid_assets.core.tagging import TagScheme
from deid_assets.core.trainer import Document, Task, Trainer, label_inventory
from deid_assets.extending.audits import Key, Material
from deid_assets.testing import parse_marked

NOTES = 120
SYLLABLES = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
FINDINGS = ("cough", "fever", "rash", "nausea", "fatigue", "pallor", "tremor", "weakness")
FORM = (
    "Patient <NAME>{first}</NAME> came on <DATE>{date}</DATE> with {one}, then {two}. Told {last}."
)


def word(rng: random.Random) -> str:
    """A name, or a word that looks like one: which of the two, only memory tells."""
    return "".join(rng.choices(SYLLABLES, k=3)).capitalize()


def documents(seed: int, count: int = NOTES) -> list[Document]:
    """Notes of a patient each; who was told is a name in half of them, and a ward otherwise."""
    rng = random.Random(seed)
    found = []
    for number in range(count):
        last = word(rng)
        text = FORM.format(
            first=word(rng),
            date=f"{rng.randint(1, 28)} May 20{rng.randint(10, 25)}",
            one=rng.choice(FINDINGS),
            two=rng.choice(FINDINGS),
            last=f"<NAME>{last}</NAME>" if number % 2 else last,
        )
        note, spans = parse_marked(text, note_id=f"n{seed}-{number}")
        note = replace(note, patient_id=f"p{seed}-{number}")
        found.append(Document(note, DisjointSpans(note.note_id, note.digest, tuple(spans))))
    return found


def train(trainer: Trainer, learnt: Sequence[Document], out: Path, **settings: Any) -> Path:
    out.mkdir(parents=True)
    task = Task(
        phases=[learnt],
        dev=learnt[:6],
        labels=label_inventory(learnt, native=False),
        native=False,
        scheme=TagScheme.BIO,
        grouping=1,
        seed=1,
        settings=trainer.settings(settings),
    )
    trainer.train(task, out, lambda _: None)
    return out


def material(model: Path, *sets: Sequence[Document]) -> Material:
    """Material of training, held-out and calibration notes."""
    notes = [tuple(document.note for document in one) for one in sets]
    return Material(
        key=Key(bytes(range(32))),
        model=model,
        training=notes[0],
        held_out=notes[1],
        calibration=notes[2],
        marked={document.note.digest: document.spans for one in sets for document in one},
    )


def write_folder(folder: Path, kind: str) -> Path:
    """What lies in the folder of a tagger of each kind, but for its weights."""
    folder.mkdir()
    (folder / "tagger.json").write_text(json.dumps({"plugin": kind}))
    if kind == "onnx":
        (folder / "model.onnx").write_bytes(b"")
    if kind == "transformers":
        config = {"model_type": "bert", "architectures": ["BertForTokenClassification"]}
        (folder / "config.json").write_text(json.dumps(config))
    return folder
