"""Time and memory of scoring 100,000 notes with 2 million annotated spans, streamed, on one core.

python benchmarks/bench_scores.py [--notes 100000] [--spans 20] [--seed 7]

Each measure runs in a process of its own. Notes are generated while they are scored; the time of
generating alone is measured first and taken off. Of the gold 5 % is missed, 5 % has another end, 2
% another label, and one prediction in 20 is spurious. Peak memory is that of the process; it is
printed for a tenth of the notes too, to show what grows.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from conditions import conditions

from deid_assets.core.note import Note
from deid_assets.core.phi import I2B2_2014, Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.marginal import coverage
from deid_assets.evaluation.score import evaluate_corpus
from deid_assets.evaluation.six_scores import six_scores
from deid_evaluation.note_outcomes import fully_redacted, note_outcomes

LABELS = tuple(I2B2_2014.labels)
GAP_CHARS = 100
WORD = "Abcde fgh 12 "
Scored = tuple[Note, SpanSet, SpanSet]


def generate_scored(notes: int, spans: int, seed: int) -> Iterator[Scored]:
    """Yield notes with gold and predictions; the same seed gives the same."""
    draw = random.Random(seed)
    text = (WORD * (GAP_CHARS // len(WORD) + 1))[:GAP_CHARS] * spans
    for number in range(notes):
        note = Note(f"n{number}", text + str(number))
        gold = [_span(draw, at * GAP_CHARS) for at in range(spans)]
        pred = [found for span in gold for found in _predict(draw, span)]
        yield (
            note,
            SpanSet(note.note_id, note.digest, tuple(gold)),
            SpanSet(note.note_id, note.digest, tuple(pred)),
        )


def _span(draw: random.Random, base: int) -> Span:
    start = base + draw.randrange(40)
    return Span(start, start + draw.randrange(4, 24), draw.choice(LABELS))


def _predict(draw: random.Random, span: Span) -> Iterator[Span]:
    chance = draw.random()
    if chance < 0.05:
        return
    end = span.end + 1 if chance < 0.10 else span.end
    label = Phi.AGE if 0.10 < chance < 0.12 else span.label
    yield Span(span.start, end, label, 0.9, "bench")
    if draw.random() < 0.05:
        yield Span(span.end + 5, span.end + 12, span.label, 0.5, "bench")


def generate_only(scored: Iterator[Scored], _lengths: dict[str, int]) -> str:
    return f"{sum(len(gold) + len(pred) for _, gold, pred in scored)} spans on both sides"


def evaluate_all(scored: Iterator[Scored], lengths: dict[str, int]) -> str:
    pairs = ((gold, pred) for _, gold, pred in scored)
    return str(evaluate_corpus(pairs, profile=I2B2_2014, lengths=lengths).characters)


def six_of_all(scored: Iterator[Scored], _lengths: dict[str, int]) -> str:
    scores = six_scores(scored)
    return ", ".join(
        f"{level} {by} {scores.micro(level, by).f1:.4f}" for level, by in sorted(scores.cells)
    )


def outcomes_of_all(scored: Iterator[Scored], lengths: dict[str, int]) -> str:
    pairs = ((gold, pred) for _, gold, pred in scored)
    share = fully_redacted(note_outcomes(pairs, profile=I2B2_2014, lengths=lengths))
    return f"{share.hits} of {share.trials} notes fully redacted"


def coverage_of_all(scored: Iterator[Scored], _lengths: dict[str, int]) -> str:
    total = None
    for _, gold, pred in scored:
        found = coverage(gold, {"bench": pred, "again": pred}, profile=I2B2_2014)
        total = found if total is None else total + found
    return "" if total is None else f"recall {total.value(['bench']).recall:.4f}"


MEASURES: dict[str, Callable[[Iterator[Scored], dict[str, int]], str]] = {
    "generate": generate_only,
    "evaluate_corpus": evaluate_all,
    "six_scores": six_of_all,
    "note_outcomes": outcomes_of_all,
    "coverage, 2 detectors": coverage_of_all,
}


def measure(name: str, *, notes: int, spans: int, seed: int) -> tuple[float, float, str]:
    """Return processor seconds, peak MiB and a line that shows that something was scored."""
    lengths = (
        {f"n{number}": spans * GAP_CHARS for number in range(notes)} if name != "generate" else {}
    )
    started = time.process_time()
    shown = MEASURES[name](generate_scored(notes, spans, seed), lengths)
    taken = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return taken, peak / 1024 if sys.platform != "darwin" else peak / 1024**2, shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=100_000)
    parser.add_argument("--spans", type=int, default=20, help="annotated spans per note")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", choices=list(MEASURES), help="one measure, beside generating")
    args = parser.parse_args()
    print(conditions(str(args.seed)))
    base: dict[int, float] = {}
    for name in MEASURES:
        if args.only not in (None, name) and name != "generate":
            continue
        for notes in (args.notes // 10, args.notes):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                taken, peak, shown = pool.submit(
                    partial(measure, name, notes=notes, spans=args.spans, seed=args.seed)
                ).result()
            base.setdefault(notes, taken)
            net = taken - base[notes] if name != "generate" else taken
            print(f"{name:22} {notes:7} notes  {net:7.1f} s  peak {peak:6.0f} MiB  {shown}")


if __name__ == "__main__":
    main()
