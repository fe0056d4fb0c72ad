"""Speed of the Bi-LSTM-CRF: Flair's own predict, this project's detector in PyTorch, and ONNX Runtime.

python benchmarks/bench_flair.py [--model FOLDER] [--notes 100] [--threads 0] [--hidden 256]

Without a model, one is trained for one epoch on synthetic notes: its tags are poor, its speed is that of any tagger
of its widths. With DEID_CORPORA set, the notes are those of MEDDOCAN's development set. Flair's predict is given
sentences that are made before the clock starts; the detectors start from the notes' text.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from conditions import conditions
from flair.data import Sentence

from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans
from deid_assets.core.tagging import TagScheme
from deid_assets.core.trainer import Document, Task, label_inventory
from deid_assets.synthesis import make_corpus
from deid_assets.training.corpora import read_corpus
from deid_flair import FlairDetector, FlairTrainer
from deid_flair.folders import read
from deid_flair.quiet import cores, quiet, use_threads
from deid_onnx import OnnxDetector
from deid_onnx.tagger import Tagger

BATCH = 32  # of Flair's predict, its default
GROUPING = 8


def trained(folder: Path, hidden: int, threads: int) -> Path:
    """Train a tagger for one epoch, so that there is one to time."""
    found = make_corpus(lang="es", notes=20, seed=1)
    documents = [Document(note, DisjointSpans(note.note_id, note.digest, spans.spans)) for note, spans in found]
    trainer = FlairTrainer()
    embeddings = [
        {"kind": "word", "train": True, "epochs": 1},
        {"kind": "flair", "train": True, "hidden": hidden, "epochs": 1, "batch_size": 20, "optimizer": "adam",
         "learning_rate": 0.002},
    ]  # fmt: skip
    settings = trainer.settings({"embeddings": embeddings, "max_epochs": 1, "threads": threads})
    task = Task(
        phases=[documents],
        dev=[],
        labels=label_inventory(documents, native=False),
        native=False,
        scheme=TagScheme.BIO,
        grouping=GROUPING,
        seed=1,
        settings=settings,
    )
    folder.mkdir()
    trainer.train(task, folder, lambda _epoch: None)
    return folder


def some_notes(count: int) -> list[Note]:
    path = Path(os.environ.get("DEID_CORPORA", "")) / "annotated" / "meddocan" / "dev.jsonl"
    if path.is_file():
        return [document.note for document in read_corpus(str(path), labels="meddocan").documents][:count]
    return [note for note, _ in make_corpus(lang="es", notes=count, seed=2)]


def rate(tokens: int, run: Callable[[], object]) -> float:
    """Return tokens per second, the median of three passes after one that is not counted."""
    run()
    rates = []
    for _ in range(3):
        started = time.perf_counter()
        run()
        rates.append(tokens / (time.perf_counter() - started))
    return statistics.median(rates)


def flairs_own(tagger: Tagger, notes: list[Note]) -> Callable[[], object]:
    """Return Flair's predict over the same inputs."""

    network = read(tagger.folder)
    parts = [part for note in notes for part in tagger.inputs(note)]
    sentences = [Sentence([part.text[start:end] for start, end in part.tokens]) for part in parts]
    return lambda: network.tagger.predict(sentences, mini_batch_size=BATCH)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--notes", type=int, default=100)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--hidden", type=int, default=256)
    options = parser.parse_args()
    threads = options.threads or cores()
    print(conditions("1"))
    with tempfile.TemporaryDirectory() as folder, quiet():
        model = options.model or trained(Path(folder) / "model", options.hidden, threads)
        FlairTrainer().export(model, Path(folder) / "onnx")
        notes = some_notes(options.notes)
        ours = FlairDetector(model=model, threads=threads)
        tokens = sum(len(part.tokens) for note in notes for part in ours.tagger.inputs(note))
        expected = [tag for note in notes for tag in ours.tagger.tags(note)]
        use_threads(threads)
        base = rate(tokens, flairs_own(ours.tagger, notes))
        print(f"{len(notes)} notes, {tokens} tokens, {threads} threads")
        print(f"Flair's predict      {base:8.0f} tokens/s")
        print(f"detector, PyTorch    {show(rate(tokens, lambda: list(ours.detect(notes))), base)}")
        for precision in ("fp32", "fp16", "int8"):
            onnx = OnnxDetector(model=Path(folder) / "onnx", precision=precision, threads=threads)
            found = [tag for note in notes for tag in onnx.tagger.tags(note)]
            other = sum(a != b for a, b in zip(found, expected, strict=True))
            speed = rate(tokens, lambda onnx=onnx: list(onnx.detect(notes)))
            print(f"detector, ONNX {precision}  {show(speed, base)}, {other} of {tokens} tags differ from PyTorch's")


def show(speed: float, base: float) -> str:
    return f"{speed:8.0f} tokens/s, {speed / base:.1f} times Flair's"


if __name__ == "__main__":
    main()
