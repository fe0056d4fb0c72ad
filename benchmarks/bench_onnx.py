"""Words per second of a small encoder in PyTorch eager and in ONNX Runtime, in one run, and what
precision costs in F1.

python benchmarks/bench_onnx.py [--model FOLDER] [--notes NOTES.jsonl --labels MAP] [--passes 9]
[--threads 1]

Without --model, the encoder of the recipe ``c4_here`` is trained first on synthetic Spanish notes,
for some minutes. Without --notes, the notes are synthetic too. "PyTorch" is the detector
``transformers``, "ONNX" the detector ``onnx``: all that a user waits for, from text to spans.
"Network" is the part of it from words to scores. "Padded" is PyTorch with all inputs of a note
padded to the longest, as is usual. All take turns, in a new order each, so that a busy machine is
busy for all; rates are medians, and a ratio is the median of the turns' ratios. CPU seconds are of
the process.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
import torch
from conditions import conditions
from onnx import TensorProto, helper, numpy_helper

from deid_assets import DisjointSpans, Note, SpanSet
from deid_assets.core.detector import Detector
from deid_assets.core.tagging import TagScheme, tokenize
from deid_assets.core.trainer import Document, Epoch, Task, label_inventory
from deid_assets.training.corpora import read_corpus
from deid_assets.training.recipe import load_recipe
from deid_assets.training.scoring import score
from deid_onnx import OnnxDetector
from deid_onnx.convert import to_int8
from deid_onnx.detector import PRECISIONS
from deid_onnx.families import Emissions, Input
from deid_onnx.parity import parity
from deid_synthesis import make_corpus
from deid_transformers import TransformersDetector, TransformersTrainer

EAGER, PADDED = "PyTorch", "PyTorch, padded"
SHAPES = ((640, 128, 512), (640, 512, 128), (640, 256, 1024))
"""Rows, inner and outer size of products like those of a small encoder."""
Detectors = Mapping[str, Any]


class Seconds(NamedTuple):
    """Time of one turn."""

    cpu: float
    wall: float


def documents(count: int, seed: int) -> list[Document]:
    """Return synthetic notes with their spans."""
    made = make_corpus(lang="es", notes=count, seed=seed)
    return [
        Document(note, DisjointSpans(note.note_id, note.digest, tuple(spans)))
        for note, spans in made
    ]


def train(out: Path, seed: int, threads: int) -> None:
    """Train the small encoder that is measured."""
    notes = documents(200, seed)
    trainer, recipe = TransformersTrainer(), load_recipe("c4_here")
    task = Task(
        phases=[notes],
        dev=documents(30, seed + 1),
        labels=label_inventory(notes, native=False),
        native=False,
        scheme=TagScheme.BIO,
        grouping=4,
        seed=seed,
        settings=trainer.settings(
            {**recipe.settings, "epochs": 6, "pretrain": None, "threads": threads}
        ),
    )

    def report(epoch: Epoch) -> None:
        print(
            f"  epoch {epoch.epoch}: loss {epoch.loss:.3f}, F1 {epoch.dev_f1 or 0:.3f},"
            f" {epoch.seconds:.0f} s"
        )

    out.mkdir(parents=True, exist_ok=True)
    trainer.train(task, out, report)


def time_call(work: Callable[[], object]) -> Seconds:
    """Return what a call takes."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Seconds(time.process_time() - cpu, time.perf_counter() - wall)


def time_in_turns(
    work: Mapping[str, Callable[[], object]], *, passes: int, seed: int
) -> dict[str, list[Seconds]]:
    """Return what each takes in each pass, after one that does not count."""
    found: dict[str, list[Seconds]] = {name: [] for name in work}
    rng = random.Random(seed)
    for turn in range(passes + 1):
        for name in rng.sample(list(work), len(work)):
            seconds = time_call(work[name])
            if turn:
                found[name].append(seconds)
    return found


def ratio(base: Sequence[float], other: Sequence[float]) -> float:
    """Return how many times faster than the base the other is."""
    return statistics.median(one / two for one, two in zip(base, other, strict=True))


def product_rates(folder: Path) -> None:
    """Print how fast this core multiplies matrices of a small encoder, in 1e9 operations
    a second.
    """
    torch.set_num_threads(1)
    for rows, inner, outer in SHAPES:
        left = np.random.default_rng(0).standard_normal((rows, inner), dtype=np.float32)
        right = np.random.default_rng(1).standard_normal((inner, outer), dtype=np.float32)
        run32, run8 = _products(folder, left, right)
        given = torch.from_numpy(left), torch.from_numpy(np.ascontiguousarray(right.T))
        runs: dict[str, Callable[[], object]] = {
            "PyTorch": partial(torch.nn.functional.linear, *given),
            "ONNX fp32": run32,
            "ONNX int8": run8,
        }
        found = {name: min(time_call(run).cpu for _ in range(200)) for name, run in runs.items()}
        rates = ", ".join(
            f"{name} {2e-9 * rows * inner * outer / seconds:.0f}" for name, seconds in found.items()
        )
        print(f"Products of {rows} x {inner} x {outer}, 1e9 operations/s: {rates}")


def _products(folder: Path, left: np.ndarray, right: np.ndarray) -> list[Callable[[], object]]:
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["left", "right"], ["out"])],
        "product",
        [helper.make_tensor_value_info("left", TensorProto.FLOAT, ["rows", left.shape[1]])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["rows", right.shape[1]])],
        [numpy_helper.from_array(right, "right")],
    )
    paths = folder / "product.onnx", folder / "product.int8.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
        paths[0],
    )
    to_int8(*paths)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    sessions = [
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        for path in paths
    ]
    return [partial(session.run, None, {"left": left}) for session in sessions]


def detectors_of(model: Path, exported: Path, threads: int) -> Detectors:
    """Return every way to run a model."""
    found: dict[str, Any] = {
        name: TransformersDetector(model=model, name="eager", threads=threads, device="cpu")
        for name in (EAGER, PADDED)
    }
    tagger = found[PADDED].tagger
    found[PADDED].tagger = replace(tagger, network=replace(tagger.network, alike=0.0))
    return found | {
        f"ONNX {name}": OnnxDetector(
            model=exported, name=name, precision=name, providers="cpu", threads=threads
        )
        for name in PRECISIONS
    }


def _detect(detector: Detector, notes: Sequence[Note]) -> list[SpanSet]:
    return list(detector.detect(notes))


def _score(detector: Any, parts: Sequence[Sequence[Input]]) -> list[list[Emissions]]:
    return [detector.tagger.network.emissions(part) for part in parts if part]


def show(
    detectors: Detectors, held_out: Sequence[Document], options: argparse.Namespace, exported: Path
) -> None:
    """Print the table."""
    notes = [document.note for document in held_out]
    words = sum(len(tokenize(note.text)) for note in notes)
    parts = [detectors[EAGER].tagger.inputs(note) for note in notes]
    whole = {name: partial(_detect, one, notes) for name, one in detectors.items()}
    networks = {name: partial(_score, one, parts) for name, one in detectors.items()}
    times = time_in_turns(whole, passes=options.passes, seed=options.seed)
    alone = time_in_turns(networks, passes=options.passes, seed=options.seed)
    tags = parity(detectors[EAGER].tagger, exported, notes, threads=options.threads)
    same = {f"ONNX {one.precision}": f"{one.share:.5f}" for one in tags}
    base = score(detectors[EAGER], held_out, native=options.native).micro.f1 or 0.0
    print(f"\n{len(notes)} notes, {words:,} words; strict F1 of PyTorch {base:.4f}\n")
    print(
        "| | Words/s, CPU | wall | x PyTorch, CPU | wall | Network alone, CPU | Strict F1 | Same"
        " tag | MB |"
    )
    print("|:--|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, one in detectors.items():
        cpu, wall = ([getattr(turn, kind) for turn in times[name]] for kind in ("cpu", "wall"))
        cells = [
            f"{words / statistics.median(cpu):,.0f}",
            f"{words / statistics.median(wall):,.0f}",
        ]
        for kind, measured in (("cpu", times), ("wall", times), ("cpu", alone)):
            both = ([getattr(turn, kind) for turn in measured[which]] for which in (EAGER, name))
            cells.append(f"{ratio(*both):.2f}")
        lost = (score(one, held_out, native=options.native).micro.f1 or 0.0) - base
        file = exported / PRECISIONS[name.removeprefix("ONNX ")] if name in same else None
        cells += [
            f"{lost:+.4f}",
            same.get(name, "-"),
            f"{file.stat().st_size / 1e6:.1f}" if file else "-",
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path)
    parser.add_argument("--notes", help="annotated notes that the model was not trained on")
    parser.add_argument("--labels", default="", help="their label map")
    parser.add_argument(
        "--native", action="store_true", help="the model's tags are the notes' own labels"
    )
    parser.add_argument("--most", type=int, default=50, help="notes that are read")
    parser.add_argument("--passes", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    libraries = f"torch {torch.__version__}, onnxruntime {onnxruntime.__version__}"
    print(
        conditions(str(options.seed)), libraries, f"threads {options.threads}", sep="; ", flush=True
    )
    with tempfile.TemporaryDirectory() as folder:
        model, exported = options.model or Path(folder) / "model", Path(folder) / "onnx"
        if not options.model:
            train(model, options.seed, options.threads)
        TransformersTrainer().export(model, exported)
        product_rates(Path(folder))
        if options.notes:
            held_out = list(read_corpus(options.notes, labels=options.labels).documents)[
                : options.most
            ]
        else:
            held_out = documents(options.most, options.seed + 2)
        show(detectors_of(model, exported, options.threads), held_out, options, exported)


if __name__ == "__main__":
    main()
