"""Tokens per second of a small encoder in PyTorch eager and in ONNX Runtime, in one run, and what int8 costs in F1.

python benchmarks/bench_onnx.py [--model FOLDER] [--notes 200] [--threads 1] [--seed 7]

Without --model a small encoder is trained first on synthetic Spanish notes, for some minutes. All read the same notes,
one by one, through the same code but for the network: tokens, batches and decoding are in every figure. "Padded" is
PyTorch with all inputs of a note padded to the longest, as is usual; the others put inputs of like length together.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import onnxruntime
import torch
from conditions import conditions

from deid_assets import DisjointSpans, Note
from deid_assets.core.detector import Detector
from deid_assets.core.tagging import TagScheme, tokenize
from deid_assets.core.trainer import Document, Epoch, Task, label_inventory
from deid_assets.synthesis import make_corpus
from deid_assets.training.scoring import score
from deid_onnx import OnnxDetector
from deid_onnx.detector import PRECISIONS
from deid_onnx.parity import parity
from deid_transformers import TransformersDetector, TransformersTrainer

PASSES = 5
SETTINGS = {
    "new": {"layers": 4, "hidden": 256, "heads": 4, "vocabulary": 4_000},
    "epochs": 6,
    "batch": 8,
    "learning_rate": 5e-4,
    "patience": 6,
    "collapse_after": 6,
}


def documents(count: int, seed: int) -> list[Document]:
    """Return synthetic notes with their spans."""
    made = make_corpus(lang="es", notes=count, seed=seed)
    return [Document(note, DisjointSpans(note.note_id, note.digest, tuple(spans))) for note, spans in made]


def train(out: Path, seed: int, threads: int) -> None:
    """Train the small encoder that is measured."""
    notes, dev = documents(200, seed), documents(30, seed + 1)
    task = Task(
        phases=[notes],
        dev=dev,
        labels=label_inventory(notes, native=False),
        native=False,
        scheme=TagScheme.BIO,
        grouping=8,
        seed=seed,
        settings={**SETTINGS, "threads": threads},
    )

    def report(epoch: Epoch) -> None:
        print(f"  epoch {epoch.epoch}: loss {epoch.loss:.3f}, F1 {epoch.dev_f1 or 0:.3f}, {epoch.seconds:.0f} s")

    out.mkdir(parents=True, exist_ok=True)
    TransformersTrainer().train(task, out, report)


def rate(detectors: dict[str, Detector], notes: list[Note]) -> dict[str, float]:
    """Return the median tokens per second of each, measured in turns so that a busy machine is busy for all."""
    tokens = sum(len(tokenize(note.text)) for note in notes)
    seconds: dict[str, list[float]] = {name: [] for name in detectors}
    for turn in range(PASSES + 1):
        for name, detector in detectors.items():
            started = time.perf_counter()
            list(detector.detect(notes))
            if turn:
                seconds[name].append(time.perf_counter() - started)
    return {name: tokens / statistics.median(times) for name, times in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--notes", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    libraries = f"torch {torch.__version__}, onnxruntime {onnxruntime.__version__}"
    print(conditions(str(options.seed)), libraries, f"threads {options.threads}", sep="; ")
    with tempfile.TemporaryDirectory() as folder:
        model = options.model or Path(folder) / "model"
        if not options.model:
            train(model, options.seed, options.threads)
        onnx = Path(folder) / "onnx"
        TransformersTrainer().export(model, onnx)
        eager = TransformersDetector(model=model, name="eager", threads=options.threads, device="cpu")
        exports = {
            name: OnnxDetector(model=onnx, name=name, precision=name, providers="cpu", threads=options.threads)
            for name in PRECISIONS
        }
        held_out = documents(options.notes, options.seed + 2)
        notes = [document.note for document in held_out]
        padded = TransformersDetector(model=model, name="padded", threads=options.threads, device="cpu")
        padded.tagger = replace(padded.tagger, network=replace(padded.tagger.network, alike=0.0))
        rates = rate({"padded": padded, "eager": eager, **exports}, notes)
        compared = {found.precision: found for found in parity(eager.tagger, onnx, notes, threads=options.threads)}
        base = score(eager, held_out, native=False).micro.f1 or 0.0
        print(f"PyTorch padded {rates['padded']:8.0f} tokens/s")
        print(f"PyTorch eager  {rates['eager']:8.0f} tokens/s, strict F1 {base:.4f}, {size(model):.1f} MB")
        for name, detector in exports.items():
            f1 = score(detector, held_out, native=False).micro.f1 or 0.0
            print(
                f"ONNX {name:9} {rates[name]:8.0f} tokens/s, {rates[name] / rates['eager']:.2f} x eager, {rates[name] / rates['padded']:.2f} x padded, "
                f"strict F1 {f1 - base:+.4f}, same tag {compared[name].share:.5f}, "
                f"score off by {compared[name].largest_difference:.2g}, "
                f"{(onnx / PRECISIONS[name]).stat().st_size / 1e6:.1f} MB"
            )


def size(model: Path) -> float:
    """Return the size of a model's weights in MB."""
    return (model / "model.safetensors").stat().st_size / 1e6


if __name__ == "__main__":
    main()
