"""A network over characters in the measure of leave_one_out.py, as rows of its table.

DEID_CORPORA=<folder with annotated/> python benchmarks/leave_one_out_network.py --work FOLDER
[--fold 0 ...]

A Bi-LSTM-CRF over a character LSTM and sub-words that it learns from its training notes. To keep
the cost down the corpora are left out four at a time: it is trained on synthetic notes in eight
languages and on the other four, and reads those. FOLDER is that of leave_one_out.py, run before,
whose batch CRF and CRF the network is blended with; threshold and score are as there. What is made
here is kept there.
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import leave_one_out as base
import numpy as np
from batch_crf import FOUND, GROUP, REST, NoteScores, blend, group_spans
from score_corpora import CORPORA

from deid_assets import plugins
from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans
from deid_assets.core.tagging import TagScheme
from deid_assets.core.trainer import Document, Task
from deid_assets.training.corpora import read_corpus

FOLDS = 2
SYNTHETIC, LEARNT = 8, 30
"""Notes of each language of the generator, and of each corpus."""
SETTINGS = {
    "optimizer": "adamw",
    "learning_rate": 0.005,
    "schedule": "cycle",
    "max_epochs": 5,
    "hidden": 96,
    "locked_dropout": 0.3,
    "embeddings": [
        {"kind": "bpemb", "train": True, "vocabulary": 3_000, "width": 50},
        {"kind": "character"},
    ],
}
SHOWN = ("crf", "network", "batch + crf", "batch + network", "batch + crf + network")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="folder of leave_one_out.py")
    parser.add_argument(
        "--fold",
        type=int,
        choices=range(FOLDS),
        action="append",
        help="train these, print no table",
    )
    parser.add_argument(
        "--target", type=float, nargs="+", default=[0.5, 1.0], help="points of precision"
    )
    options = parser.parse_args()
    if not (Path(os.environ.get("DEID_CORPORA", "")) / "annotated").is_dir():
        sys.exit("no corpora; set DEID_CORPORA")
    said: dict[str, list[NoteScores]] = {}
    for fold in options.fold or range(FOLDS):
        said |= _score_fold(fold, options.work)
    if not options.fold:
        _show(said, options.work, options.target)


def _score_fold(fold: int, work: Path) -> dict[str, list[NoteScores]]:
    path = work / f"network-{fold}.pickle"
    if path.exists():
        return pickle.loads(path.read_bytes())
    started = time.process_time()
    left = list(CORPORA)[fold::FOLDS]
    learnt = [
        document
        for name in CORPORA
        if name not in left
        for document in base.learnt_from(name)[:LEARNT]
    ]
    for lang in base.LANGUAGES:
        for document in read_corpus(f"synthetic:{lang}:{SYNTHETIC}").documents:
            note = replace(document.note, note_id=f"synthetic-{lang}-{document.note.note_id}")
            learnt.append(Document(note, DisjointSpans.of(note, group_spans(document.spans))))
    trainer = plugins.load_trainer("flair")
    task = Task(
        phases=[learnt],
        dev=[],
        labels={label.value: label for label in (*FOUND, REST)},
        native=False,
        scheme=TagScheme.BIO,
        grouping=4,
        seed=1,
        settings=trainer.settings(SETTINGS),
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(task, Path(folder), lambda _: None)
        trained = time.process_time()
        detector: Any = plugins.load("flair", options={"model": folder, "threads": 1})
        found = {
            name: scores(
                detector.tagger, [document.note for document in base.corpus_of(name).documents]
            )
            for name in left
        }
    path.write_bytes(pickle.dumps(found))
    spent = time.process_time()
    print(
        f"{', '.join(left)}: {len(learnt)} notes learnt in {trained - started:.0f} s, read in"
        f" {spent - trained:.0f} s of CPU",
        file=sys.stderr,
        flush=True,
    )
    return found


def scores(tagger: Any, notes: Sequence[Note]) -> list[NoteScores]:
    """Return what a network thinks of notes."""
    labels, tags = tagger.folder.labels, tagger.folder.tags
    groups = [GROUP.get(labels[tag[2:]], REST) if tag != "O" else None for tag in tags]
    columns = [
        [column for column, group in enumerate(groups) if group is wanted] for wanted in FOUND
    ]
    found = []
    for note in notes:
        parts = tagger.inputs(note)
        shares = tagger.chain.shares(tagger.network.emissions(parts)) if parts else []
        rows = np.concatenate([np.zeros((0, len(tags))), *shares])
        tokens = [token for part in parts for token in part.tokens]
        found.append(
            NoteScores(
                tokens, np.stack([rows[:, column].sum(axis=1) for column in columns], axis=1)
            )
        )
    return found


def _show(said: Mapping[str, list[NoteScores]], work: Path, targets: Sequence[float]) -> None:
    methods = {}
    for name, network in said.items():
        known = pickle.loads((work / f"{name}.pickle").read_bytes())
        methods[name] = {
            "crf": known["crf"],
            "network": network,
            "batch + crf": blend(known["batch"], known["crf"]),
            "batch + network": blend(known["batch"], network),
            "batch + crf + network": blend(known["batch"], known["crf"], network),
        }
    *_, last = base.show_targets(methods, SHOWN, targets)
    last.show("batch + crf + network")


if __name__ == "__main__":
    main()
