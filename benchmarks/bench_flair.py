"""Speed of the Bi-LSTM-CRF, and what each precision costs in F1.

Flair's own predict, this project's detector, ONNX.

python benchmarks/bench_flair.py [--model FOLDER] [--notes 100] [--threads 1 2] [--passes 5]
[--hidden 256]

Without a model, one is trained for one epoch on synthetic notes: its tags are poor, its speed is
that of any tagger of its widths. With DEID_CORPORA set, the notes are those of MEDDOCAN's
development set; --notes of them are timed, and with --model all are scored. Flair's predict is
given sentences that are made before the clock starts; the detectors start from the notes' text.
Every pass runs each of them once, so that a busy machine is busy for all; a ratio is the median of
the passes' ratios. Two threads of PyTorch wait for each other by spinning: measure them on an idle
machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from conditions import conditions
from flair.data import Sentence

from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans
from deid_assets.core.tagging import TagScheme
from deid_assets.core.trainer import Document, Task, label_inventory
from deid_assets.training.corpora import read_corpus
from deid_assets.training.scoring import score
from deid_flair import FlairDetector, FlairTrainer
from deid_flair.folders import read
from deid_flair.quiet import quiet, use_threads
from deid_onnx import OnnxDetector
from deid_onnx.detector import PRECISIONS
from deid_onnx.tagger import Tagger
from deid_synthesis import make_corpus

BATCH = 32  # of Flair's predict, its default
GROUPING = 8
FLAIR = "Flair's predict"
TORCH = "detector, PyTorch"


@dataclass(slots=True)
class Times:
    """Seconds of each pass."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def train_one_epoch(folder: Path, hidden: int, threads: int) -> Path:
    """Train a tagger for one epoch, so that there is one to time."""
    found = make_corpus(lang="es", notes=20, seed=1)
    documents = [
        Document(note, DisjointSpans(note.note_id, note.digest, spans.spans))
        for note, spans in found
    ]
    trainer = FlairTrainer()
    embeddings = [
        {"kind": "word", "train": True, "epochs": 1},
        {
            "kind": "flair",
            "train": True,
            "hidden": hidden,
            "epochs": 1,
            "batch_size": 20,
            "optimizer": "adam",
            "learning_rate": 0.002,
        },
    ]
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


def documents(count: int) -> list[Document]:
    """Return annotated notes.

    All of MEDDOCAN's development set where it is, else so many synthetic ones.
    """
    path = Path(os.environ.get("DEID_CORPORA", "")) / "annotated" / "meddocan" / "dev.jsonl"
    if path.is_file():
        return list(read_corpus(str(path), labels="meddocan").documents)
    made = make_corpus(lang="es", notes=count, seed=2)
    return [
        Document(note, DisjointSpans(note.note_id, note.digest, spans.spans))
        for note, spans in made
    ]


def time_runs(runs: Mapping[str, Callable[[], object]], passes: int) -> dict[str, Times]:
    """Return the seconds of each run; the first pass is not counted."""
    found = {name: Times() for name in runs}
    for turn in range(passes + 1):
        for name, run in runs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            if turn:
                found[name].wall.append(time.perf_counter() - wall)
                found[name].cpu.append(time.process_time() - cpu)
    return found


def flairs_own(tagger: Tagger, notes: Sequence[Note], threads: int) -> Callable[[], object]:
    """Return Flair's predict over the same inputs."""
    network = read(tagger.folder)
    parts = [part for note in notes for part in tagger.inputs(note)]
    sentences = [Sentence([part.text[start:end] for start, end in part.tokens]) for part in parts]

    def run() -> None:
        use_threads(threads)
        network.tagger.predict(sentences, mini_batch_size=BATCH)

    return run


def speeds(model: Path, onnx: Path, notes: Sequence[Note], threads: int, passes: int) -> None:
    """Print a table of speeds."""
    ours = FlairDetector(model=model, threads=threads)
    tokens = sum(len(part.tokens) for note in notes for part in ours.tagger.inputs(note))
    runs: dict[str, Callable[[], object]] = {
        FLAIR: flairs_own(ours.tagger, notes, threads),
        TORCH: lambda: list(ours.detect(notes)),
    }
    for precision in PRECISIONS:
        detector = OnnxDetector(model=onnx, precision=precision, providers="cpu", threads=threads)
        runs[f"detector, ONNX {precision}"] = lambda detector=detector: list(detector.detect(notes))
    found = time_runs(runs, passes)
    print(
        f"\n{len(notes)} notes, {tokens} tokens, {threads} thread{'s' * (threads > 1)}, {passes}"
        " passes"
    )
    for name, times in found.items():
        wall, cpu = (
            statistics.median(base / own for base, own in zip(theirs, mine, strict=True))
            for theirs, mine in ((found[FLAIR].wall, times.wall), (found[FLAIR].cpu, times.cpu))
        )
        rates = [tokens / statistics.median(seconds) for seconds in (times.wall, times.cpu)]
        print(
            f"{name:20} {rates[0]:8.0f} tokens/s, {wall:4.1f} x Flair; of CPU time {rates[1]:8.0f},"
            f" {cpu:4.1f} x"
        )


def qualities(model: Path, onnx: Path, held_out: Sequence[Document]) -> None:
    """Print F1 of each precision, and how many tags are not those of the network."""
    ours = FlairDetector(model=model)
    native = bool(ours.tagger.folder.settings["native"])
    expected = [tag for document in held_out for tag in ours.tagger.tags(document.note)]
    base = score(ours, held_out, native=native)
    low, high = base.f1_interval()
    print(
        f"\nPyTorch    strict F1 {base.micro.f1 or 0:.4f} [{low:.4f}, {high:.4f}],"
        f" {base.micro.gold} spans"
    )
    for precision, name in PRECISIONS.items():
        detector = OnnxDetector(model=onnx, precision=precision, providers="cpu")
        found = [tag for document in held_out for tag in detector.tagger.tags(document.note)]
        other = sum(left != right for left, right in zip(expected, found, strict=True))
        f1 = score(detector, held_out, native=native).micro.f1 or 0
        print(
            f"ONNX {precision}  strict F1 {f1:.4f} ({f1 - (base.micro.f1 or 0):+.4f}), "
            f"{other} of {len(expected)} tags differ, {(onnx / name).stat().st_size / 1e6:.1f} MB"
        )


def print_bound(settings: Mapping[str, Any], notes: Sequence[Note], tagger: Tagger) -> None:
    """Print the products of matrices that a token takes, and how fast this core multiplies."""
    lines = [
        [part.text[a:b] for a, b in part.tokens] for note in notes for part in tagger.inputs(note)
    ]
    characters = sum(len(token) + 1 for line in lines for token in line) / sum(map(len, lines))
    models = [each for each in settings["embeddings"] if each["kind"] == "flair"]
    width = sum(each.embedding.embedding_length for each in read(tagger.folder).parts)
    flops = (
        2
        * characters
        * sum(4 * each["hidden"] * (each["width"] + each["hidden"]) for each in models)
    )
    flops += 2 * 2 * 4 * settings["hidden"] * (width + settings["hidden"])
    use_threads(1)
    left, right = torch.randn(2048, 512), torch.randn(512, 1024)
    rates = []
    for _ in range(20):
        started = time.process_time()
        left @ right
        rates.append(2 * 2048 * 512 * 1024 / (time.process_time() - started))
    rate = statistics.median(rates)
    print(
        f"a token has {characters:.1f} characters and takes {flops / 1e6:.1f} MFLOP of LSTM at"
        f" fp32; one core multiplies matrices at {rate / 1e9:.0f} GFLOP/s: {rate / flops:.0f}"
        " tokens/s at most"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--notes", type=int, default=100)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--hidden", type=int, default=256)
    options = parser.parse_args()
    print(conditions("1"))
    with tempfile.TemporaryDirectory() as folder, quiet():
        model = options.model or train_one_epoch(
            Path(folder) / "model", options.hidden, options.threads[0]
        )
        onnx = Path(folder) / "onnx"
        FlairTrainer().export(model, onnx)
        tagger = FlairDetector(model=model).tagger
        held_out = documents(options.notes)
        notes = [document.note for document in held_out[: options.notes]]
        print_bound(tagger.folder.settings, notes, tagger)
        for threads in options.threads:
            speeds(model, onnx, notes, threads, options.passes)
        if options.model:
            qualities(model, onnx, held_out)


if __name__ == "__main__":
    main()
