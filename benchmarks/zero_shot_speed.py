"""CPU time of a masked language model over notes of 500 words, against one mask at a time, as
Markdown.

python benchmarks/zero_shot_speed.py --model FOLDER [--notes N] [--variants N] [--windows N ...]
[--threads N] [--seed S]

The notes are made, English. The threshold of the two stages is chosen on others. ``FOLDER`` holds
the model, and in ``onnx`` what ``deid zero-shot export`` wrote of it. Where each word is masked
alone, the first ``--variants`` masked variants are timed, and a note's time is as many times that
of one as it has.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from conditions import conditions

from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.core.trainer import Document
from deid_assets.training import read_corpus
from deid_zero_shot.batches import ScoringCost
from deid_zero_shot.calibration import choose
from deid_zero_shot.method import Method, Runtime, method_of, read_options
from deid_zero_shot.study import points, score_all

WORDS, DEVELOPMENT, THOUSAND = 500, 4, 1000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--notes", type=int, default=20)
    parser.add_argument("--variants", type=int, default=96)
    parser.add_argument("--windows", type=int, nargs="+", default=[512, 128])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=31)
    options = parser.parse_args()
    print(conditions(str(options.seed)), "\n", flush=True)
    made = list(islice(long_documents(options.seed), DEVELOPMENT + options.notes))
    dev, notes = made[:DEVELOPMENT], [document.note for document in made[DEVELOPMENT:]]
    print(f"{len(notes)} notes of {WORDS} words\n")
    print(
        "| Runtime | Masked | Window | CPU s a note | Variants | Against the first | Hours of one"
        " core for 1,000 |"
    )
    print("|---|---|--:|--:|--:|--:|--:|", flush=True)
    first = 0.0
    for runtime, masked, window, method, below in ways(options, dev):
        if masked == ALONE:
            spent, variants = time_sample(method, notes, options.variants)
        else:
            spent, variants = time_notes(method, notes, below=below)
        first = first or spent
        print(
            f"| {runtime} | {masked} | {window} | {spent:.2f} | {variants:.0f} |"
            f" {first / spent:.1f} | {spent * THOUSAND / 3600:.2f} |",
            flush=True,
        )


ALONE = "one word"


def ways(
    options: argparse.Namespace, dev: Sequence[Document]
) -> Iterator[tuple[str, str, int, Method, float | None]]:
    """Yield runtime, what is masked at once, window, method and the threshold of two stages."""
    exported = options.model / "onnx"
    runtimes = [("PyTorch fp32", options.model, "fp32")]
    runtimes += [(f"ONNX {kind}", exported, kind) for kind in ("fp32", "int8")]

    def method(
        model: Path, precision: str, window: int, *, batch: int = 32, alone: bool = True
    ) -> Method:
        runtime = Runtime(precision=precision, threads=options.threads, batch=batch)
        return method_of(model, read_options({"window": window, "alone": alone}), runtime)

    widest = max(options.windows)
    yield (
        "PyTorch fp32, one mask a run",
        ALONE,
        widest,
        method(options.model, "fp32", widest, batch=1),
        None,
    )
    for window in options.windows:
        yield "ONNX int8", ALONE, window, method(exported, "int8", window), None
    for window in options.windows:
        for name, model, precision in runtimes:
            yield name, "many words", window, method(model, precision, window, alone=False), None
    window = min(options.windows)
    below = choose(
        points(score_all(method(exported, "int8", window, alone=False), dev)), "f1"
    ).log_threshold
    yield (
        "ONNX int8",
        "many, then doubtful words alone",
        window,
        method(exported, "int8", window),
        below,
    )


class _EnoughError(Exception):
    """As many variants as are wanted have been run."""


def time_sample(method: Method, notes: Sequence[Note], wanted: int) -> tuple[float, float]:
    """Return CPU seconds and masked variants a note, the seconds by those of the first note's first
    variants.
    """
    ask, asked, spent = method.scorer.ask, 0, 0.0

    def count_call(ids: Any, *others: Any) -> Any:
        nonlocal asked, spent
        if asked >= wanted:
            raise _EnoughError
        began = time.process_time()
        found = ask(ids, *others)
        spent, asked = spent + time.process_time() - began, asked + len(ids)
        return found

    def unrun(_ids: Any, _mask: Any, rows: Any, *_: Any) -> Any:
        return np.zeros(len(rows))

    method.scorer.ask = count_call
    with suppress(_EnoughError):
        method.score(notes[0])
    method.scorer.ask, method.scorer.spent = unrun, ScoringCost()
    for note in notes:
        method.score(note)
    variants = method.scorer.spent.variants / len(notes)
    return spent / asked * variants, variants


def time_notes(
    method: Method, notes: Sequence[Note], *, below: float | None = None
) -> tuple[float, float]:
    """Return CPU seconds and masked variants a note."""
    began = time.process_time()
    for note in notes:
        method.score(note, below=below)
    return (time.process_time() - began) / len(notes), method.scorer.spent.variants / len(notes)


def long_documents(seed: int) -> Iterator[Document]:
    """Yield made notes of 500 words, joined from synthetic ones and cut."""
    text, spans, number = "", list[Span](), 0
    for document in cycle(read_corpus(f"synthetic:en:200:{seed}").documents):
        spans += [
            Span(one.start + len(text), one.end + len(text), one.label) for one in document.spans
        ]
        text += document.note.text + "\n"
        words = list(re.finditer(r"\S+", text))
        if len(words) >= WORDS:
            note = Note(f"long-{number}", text[: words[WORDS - 1].end()], lang="en")
            yield Document(
                note, DisjointSpans.of(note, [span for span in spans if span.end <= len(note.text)])
            )
            text, spans, number = "", [], number + 1


if __name__ == "__main__":
    main()
