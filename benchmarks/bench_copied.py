"""Time, memory and disk of what `deid corpus copied` measures, on a million short notes.

python benchmarks/bench_copied.py [--notes 1000000] [--source 100000] [--seed 5]

A note has two lines of grammar notes, as templates repeat, and ten words drawn by their rank, so
that most of its longer n-grams are its own. The source is annotated. Notes are made while they are
read, so that the time is that of making and measuring.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterable, Iterator
from random import Random

from conditions import conditions

from deid_assets import Note, Span
from deid_assets.extending import DisjointSpans
from deid_assets.extending.commands import Annotated
from deid_copying.report import measure_copies
from deid_synthesis import make_corpus

POOL = 2_000
WORDS = 10


Line = tuple[str, tuple[Span, ...]]


def lines(seed: int) -> list[Line]:
    """Return lines of grammar notes, with their spans."""
    found = []
    for note, spans in make_corpus(lang="en", notes=POOL, seed=seed, mix="bare"):
        at = 0
        for line in note.text.splitlines(keepends=True):
            kept = line.rstrip()
            own = [one for one in spans if at <= one.start and one.end <= at + len(kept)]
            if kept:
                found.append((kept, tuple(move(own, -at))))
            at += len(line)
    return found


def move(spans: Iterable[Span], by: int) -> Iterator[Span]:
    for one in spans:
        yield Span(one.start + by, one.end + by, one.label)


def short_notes(count: int, seed: int) -> Iterator[Annotated]:
    """Yield short notes, one at a time; three are of one patient."""
    pool = lines(seed)
    rng = Random(seed)
    vocabulary = sorted({word for line, _ in pool for word in line.split()})
    rng.shuffle(vocabulary)
    ranks = [1 / rank for rank in range(1, len(vocabulary) + 1)]
    drawn: list[str] = []
    for number in range(count):
        if not drawn:
            drawn = rng.choices(vocabulary, ranks, k=WORDS * 1_000)
        first, second = rng.choice(pool), rng.choice(pool)
        words = " ".join(drawn[-WORDS:])
        del drawn[-WORDS:]
        text = f"{first[0]}\n{second[0]}\n{words}"
        note = Note(f"n{number}", text, patient_id=f"p{number // 3}", lang="en")
        spans = (*first[1], *move(second[1], len(first[0]) + 1))
        yield Annotated(note, DisjointSpans.of(note, spans))


def peak_mb() -> float:
    """Return the process' largest resident size so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--notes", type=int, default=1_000_000)
    parser.add_argument("--source", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    print(conditions(str(options.seed)))
    print(f"peak      {peak_mb():.0f} MB before anything is read", flush=True)
    started = time.monotonic(), time.process_time()
    report = measure_copies(
        lambda: short_notes(options.notes, options.seed),
        lambda: short_notes(options.source, options.seed + 1),
    )
    took = time.monotonic() - started[0], time.process_time() - started[1]
    for corpus, (notes, words) in report.sizes.items():
        print(f"{corpus:9} {notes:,} notes, {words:,} words")
    for row in report.rows:
        kind = "identifiers" if row.marked else "all"
        print(f"n-grams   {row.n:2} {kind:11} {row.source:,} recall {row.recall:.4f}")
    print(f"passages  {report.found.to_json()}")
    print(f"nearest   {report.nearest.to_json()}")
    print(f"took      {took[0]:.0f} s, {took[1]:.0f} s CPU, peak {peak_mb():.0f} MB")


if __name__ == "__main__":
    main()
