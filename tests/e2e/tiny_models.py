"""A tiny model for each plugin that does nothing without one, made in seconds.

They find what they like.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from canaries import NAME, PATIENT

from deid_assets import plugins
from deid_assets.core.span import DisjointSpans
from deid_assets.core.tagging import TagScheme
from deid_assets.core.trainer import Document, Task, label_inventory
from deid_assets.formats.identities import Identity
from deid_assets.identities import build_table
from deid_assets.testing import parse_marked

TEXTS = (
    "Seen by Dr. <NAME>Lee</NAME> on <DATE>3 May 2021</DATE>.\nNo fever.",
    "Patient: <NAME>Anna Berg</NAME>, record <MRN>4000001</MRN>.\nStable.",
    "Discharged on <DATE>12/03/2020</DATE> to the care of Dr. <NAME>Mora</NAME>.",
    "Fever for 3 days, no cough. Paracetamol 500 mg.",
)
SETTINGS: dict[str, dict[str, Any]] = {
    "crf": {"predictions_of": "", "min_patients": 1, "max_iterations": 10},
    "flair": {
        "embeddings": [{"kind": "onehot", "width": 8, "min_count": 1}, {"kind": "character"}],
        "hidden": 8,
        "max_epochs": 1,
        "threads": 1,
    },
    "transformers": {
        "new": {"layers": 1, "hidden": 32, "heads": 2, "positions": 64, "vocabulary": 300},
        "window": 48,
        "epochs": 2,
        "threads": 1,
    },
    "generative": {
        "new": {
            "layers": 1,
            "width": 32,
            "heads": 2,
            "feed_forward": 64,
            "vocabulary": 330,
            "context": 192,
            "steps": 0,
        },
        "method": "full",
        "epochs": 1,
        "longest": 128,
        "threads": 1,
        "checker": "",
    },
}


def options_of(plugin: str, folder: Path) -> dict[str, Any]:
    """Make what a plugin needs below an empty folder, and return its options.

    ``{}`` where it needs nothing.
    """
    made = {"onnx": _exported, "spacy": _rules, "zero_shot": _encoder, "known_identity": _table}
    if plugin in SETTINGS:
        return {"model": str(_trained(plugin, folder / "model"))}
    more = {"threshold": 0.5} if plugin == "zero_shot" else {}
    return {"model": str(made[plugin](folder)), **more} if plugin in made else {}


def _trained(plugin: str, folder: Path) -> Path:
    trainer = plugins.load_trainer(plugin)
    documents = []
    for number, text in enumerate(TEXTS):
        note, spans = parse_marked(text, note_id=f"tiny-{number}", lang="en")
        documents.append(Document(note, DisjointSpans(note.note_id, note.digest, spans.spans)))
    folder.mkdir(parents=True)
    task = Task(
        phases=[documents],
        dev=documents,
        labels=label_inventory(documents, native=False),
        native=False,
        scheme=TagScheme.BIO,
        grouping=1,
        seed=1,
        settings=trainer.settings(SETTINGS[plugin]),
    )
    trainer.train(task, folder, lambda _: None)
    return folder


def _exported(folder: Path) -> Path:
    trainer: Any = plugins.load_trainer("transformers")
    trainer.export(_trained("transformers", folder / "trained"), folder / "onnx")
    return folder / "onnx"


def _rules(folder: Path) -> Path:
    import spacy

    from deid_spacy import SpacyImporter

    pipeline = spacy.blank("en")
    pipeline.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": NAME}])
    pipeline.to_disk(folder / "pipeline")
    wanted = {
        "source": str(folder / "pipeline"),
        "name": "mine",
        "out": folder / "mine",
        "labels": "spacy_ontonotes",
    }
    SpacyImporter().add(wanted, [])
    return folder / "mine"


def _encoder(folder: Path) -> Path:
    """Write a masked language model without training."""
    import torch
    import transformers

    from deid_transformers.settings import NewEncoder
    from deid_transformers.vocabulary import learn

    torch.manual_seed(3)
    tokenizer = learn(TEXTS * 3, NewEncoder(tokenizer="wordpiece", vocabulary=300, positions=64))
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        pad_token_id=tokenizer.pad_token_id,
    )
    for each in (tokenizer, transformers.BertForMaskedLM(config)):
        each.save_pretrained(folder / "encoder")
    return folder / "encoder"


def _table(folder: Path) -> Path:
    build_table(folder / "identities.sqlite", [Identity(PATIENT, "name", NAME)])
    return folder / "identities.sqlite"
