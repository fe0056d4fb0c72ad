"""Masked language models as zero-shot detectors: the table of Myntti (2025, section 4.2) and beyond, as Markdown.

DEID_CORPORA=<folder with annotated/> python benchmarks/zero_shot.py --model NAME=FOLDER [--model ...]
    [--set NAME ...] [--notes N] [--variants] [--against FOLDER] [--speed N] [--window N] [--seed S]

Of each set, the first half chooses the threshold and the second is tested on. Unit: sub-tokens of the model's own
vocabulary, PHI or not. ``--variants`` measures each option apart on the first set, ``--speed`` the time for notes of
500 words against one mask at a time. A folder is one that ``deid pretrain`` or ``deid-zero-shot export`` wrote.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path

from conditions import conditions

from deid_assets.core.errors import OverlapError
from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans
from deid_assets.core.trainer import Document
from deid_assets.formats import Annotated, read_notes
from deid_assets.plugins import load
from deid_assets.training import read_corpus
from deid_assets.training.pretraining import learnt_from
from deid_zero_shot.method import Method, Runtime, method_of, read_options
from deid_zero_shot.points import Interval
from deid_zero_shot.protect import Protection
from deid_zero_shot.scorer import SHARE
from deid_zero_shot.study import (
    COLUMNS,
    Judged,
    Row,
    chance_rows,
    decided_row,
    ensemble_gain,
    points,
    score_all,
    zero_shot_row,
)

SETS: Mapping[str, tuple[str, str, str]] = {
    "meddocan": ("es", "meddocan/dev.jsonl", "meddocan"),
    "asq-phi": ("en", "asq-phi/dev.jsonl", "asq_phi"),
    "eds-pseudo": ("fr", "eds-pseudo-templates/dev.jsonl", "eds_pseudo"),
    "grascco": ("de", "grascco-phi/dev.jsonl", "grascco"),
    "deduce": ("nl", "deduce-cases-nl/cases.jsonl", "deduce"),
    "turku": ("fi", "turku-ner-fi/dev.jsonl", "turku_ner"),
    "synthetic-it": ("it", "synthetic:it:60:31", ""),
    "synthetic-sv": ("sv", "synthetic:sv:60:31", ""),
}
"""Language, file below ``annotated`` or made corpus, and label map. None is a test set of its makers."""
WORDS = 500
_FILTER = -3.0
"""Logarithm above which the first of two stages decides: a probability of 5 %."""


def main() -> None:
    options = _options()
    print(conditions(str(options.seed)), flush=True)
    models = dict(model.split("=", 1) for model in options.model)
    runtime = Runtime(precision=options.precision, threads=options.threads)
    for number, name in enumerate(options.set or SETS):
        documents = documents_of(name, options.notes)
        if len(documents) < 4:
            print(f"\n{name}: skipped; set DEID_CORPORA to a folder with annotated/", flush=True)
            continue
        found = _table(name, documents, models, options, runtime)
        if options.variants and not number:
            _variants(documents, models, found, options, runtime)
    if options.speed:
        _speed(models, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", required=True, metavar="NAME=FOLDER")
    parser.add_argument("--set", action="append", choices=SETS)
    parser.add_argument("--notes", type=int, default=10_000, help="of each set, at most")
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--against", help="folder of a model of general text")
    parser.add_argument("--speed", type=int, default=0, metavar="N", help="notes to time")
    parser.add_argument("--window", type=int, default=512)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--two-stages", action="store_true", help="score alone only what the first stage doubts")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def documents_of(name: str, most: int) -> Sequence[Document]:
    """Return the annotated notes of a set, or nothing where it is not at hand."""
    _, source, labels = SETS[name]
    if source.startswith("synthetic:"):
        return read_corpus(source).documents[:most]
    path = Path(os.environ.get("DEID_CORPORA", "")) / "annotated" / source
    return [*islice(_read(path, labels), most)] if path.exists() else ()


def _read(path: Path, labels: str) -> Iterator[Document]:
    """Yield annotated notes but those in which annotations overlap: a sub-token has one category."""
    for found in read_notes(path, labels=label_map(labels)):
        if isinstance(found, Annotated):
            with suppress(OverlapError):
                yield Document(found.note, DisjointSpans.of(found.note, found.spans))


def _judged(method: Method, documents: Sequence[Document], *, two_stages: bool = False) -> Judged:
    half = len(documents) // 2
    below = _FILTER if two_stages else None
    return Judged(score_all(method, documents[:half], below=below), score_all(method, documents[half:], below=below))


def _method(folder: str, options: argparse.Namespace, runtime: Runtime, **scoring: object) -> Method:
    return method_of(folder, read_options({"window": options.window} | scoring), runtime)


def _table(
    name: str, documents: Sequence[Document], models: Mapping[str, str], options: argparse.Namespace, runtime: Runtime
) -> Mapping[str, Judged]:
    """Print the table of a set, and return what was scored, by model."""
    scored: dict[str, Judged] = {}
    rules = load("rules")
    notes = [document.note for document in documents]
    found = list(rules.detect(notes))
    half = len(documents) // 2
    print(f"\n## {name} ({SETS[name][0]}), {half} notes calibrate, {len(documents) - half} test\n")
    print(_heading(), flush=True)
    for number, (system, folder) in enumerate(models.items()):
        if learnt := learnt_from(Path(folder), notes):
            sys.exit(f"{system} was pre-trained on note {learnt[0]}; choose other notes")
        method = _method(folder, options, runtime)
        began = time.process_time()
        judged = scored[system] = _judged(method, documents, two_stages=options.two_stages)
        spent = time.process_time() - began
        if not number:
            prevalence = float(points(judged.dev).gold.mean())
            chances = chance_rows(judged.test, prevalence, seed=options.seed)
            for row in [*chances, decided_row("rules", judged.test, found[half:])]:
                print(_line(row))
        row = zero_shot_row(system, judged, seed=options.seed)
        print(_line(row), flush=True)
        gain = ensemble_gain(judged, found[:half], found[half:], seed=options.seed)
        cost = method.scorer.spent
        print(
            f"<!-- {system}: {spent / len(documents):.2f} CPU s a note, {cost.variants / len(documents):.0f} variants in "
            f"{cost.runs / len(documents):.0f} runs; rules + {system}: recall {_short(gain.alone[0])} to "
            f"{_short(gain.together[0])} ({_interval(gain.difference)}), precision {_short(gain.alone[1])} to "
            f"{_short(gain.together[1])}; recall by category: "
            + ", ".join(f"{label} {value:.2f}" for label, value in row.recalls.items())
            + " -->",
            flush=True,
        )
    return scored


def _variants(
    documents: Sequence[Document],
    models: Mapping[str, str],
    scored: Mapping[str, Judged],
    options: argparse.Namespace,
    runtime: Runtime,
) -> None:
    for system, folder in models.items():
        print(f"\n### Each option apart, {system}\n\n{_heading()}", flush=True)
        for name, judged in _changed(scored[system], documents, folder, options, runtime):
            print(_line(zero_shot_row(name, judged, seed=options.seed)), flush=True)


def _changed(
    base: Judged, documents: Sequence[Document], folder: str, options: argparse.Namespace, runtime: Runtime
) -> Iterator[tuple[str, Judged]]:
    yield "as published", base
    yield "allow-list", base.changed(protection=Protection(allow=True))
    yield "field labels stay", base.changed(protection=Protection(fields=True))
    yield "numbers left to rules", base.changed(protection=Protection(numbers=True))
    yield "these three", base.changed(protection=Protection(allow=True, fields=True, numbers=True))
    yield "geometric mean", base.changed(mean=True)
    scorings: dict[str, dict[str, object]] = {
        "no lemmas": {"lemmas": "none"},
        "same words visible": {"together": False},
        "mutual information": {"prior": 1.0},
    }
    if options.against:
        scorings["against the general model"] = {"against": options.against}
    for name, scoring in scorings.items():
        is_plain = options.two_stages and not {"prior", "against"} & set(scoring)
        yield name, _judged(_method(folder, options, runtime, **scoring), documents, two_stages=is_plain)


def _speed(models: Mapping[str, str], options: argparse.Namespace) -> None:
    """Time notes of 500 words against one mask a run, fp32, which is what the method says."""
    notes = list(islice(_long_notes(), options.speed))
    print(f"\n## Speed, {len(notes)} notes of {WORDS} words, CPU seconds a note\n")
    print("| Model | Runtime | Stages | CPU s | Variants | Against one mask at a time |\n|---|---|--:|--:|--:|--:|")
    for system, folder in models.items():
        plain = Runtime(threads=options.threads, batch=1)
        slow = _timed(_method(folder, options, plain, window=512), notes[:1])
        print(f"| {system} | PyTorch, one mask a run | 1 | {slow[0]:.2f} | {slow[1]:.0f} | 1.0 |", flush=True)
        exported = Path(folder) / "onnx"
        ways = [("PyTorch, batched", folder, "fp32")]
        ways += [(f"ONNX {kind}", str(exported), kind) for kind in ("fp32", "int8") if exported.is_dir()]
        for label, where, precision in ways:
            for stages in (1, 2):
                method = _method(where, options, Runtime(precision=precision, threads=options.threads))
                took = _timed(method, notes, below=_FILTER if stages > 1 else None)
                print(
                    f"| {system} | {label}, window {options.window} | {stages} | {took[0]:.2f} | {took[1]:.0f} "
                    f"| {slow[0] / took[0]:.1f} |",
                    flush=True,
                )
    print(f"\nOf two stages, the first hides one in {SHARE} sub-tokens of a window at once.")


def _timed(method: Method, notes: Sequence[Note], *, below: float | None = None) -> tuple[float, float]:
    began = time.process_time()
    for note in notes:
        method.score(note, below=below)
    return (time.process_time() - began) / len(notes), method.scorer.spent.variants / len(notes)


def _long_notes() -> Iterator[Note]:
    """Yield made notes of 500 words, joined from synthetic ones."""
    words: list[str] = []
    number = 0
    for document in cycle(read_corpus("synthetic:en:60:31").documents):
        words += document.note.text.split(" ")
        while len(words) >= WORDS:
            yield Note(f"long-{number}", " ".join(words[:WORDS]), lang="en")
            words, number = words[WORDS:], number + 1


def _heading() -> str:
    return (
        "| System | Threshold | Redacted | Accuracy | F1 | Recall | Precision | PR-AUC | ROC-AUC |\n"
        "|---" + "|--:" * 8 + "|"
    )


def _line(row: Row) -> str:
    threshold = f"{row.threshold.probability:.2g}" if row.threshold else ""
    values = " | ".join(_interval(row.values[column]) for column in COLUMNS)
    return f"| {row.system} | {threshold} | {row.redacted:.0%} | {values} |"


def _interval(found: Interval) -> str:
    if found.value is None:
        return ""
    around = "" if found.low is None or found.high is None else f" ({found.low:.3f} to {found.high:.3f})"
    return f"{found.value:.3f}{around}"


def _short(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    main()
