"""Speed, start-up and memory of the rules detector on 2 KB English notes, and on hostile text.

python benchmarks/bench_rules.py [--notes 1000] [--seed 7]
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time

from conditions import conditions

from deid_assets.core.note import Note
from deid_assets.plugins import load
from deid_assets.synthesis import make_corpus

NOTE_CHARS = 2_000
HOSTILE = {
    "digits": "0123456789" * 100_000,
    "dashed digits": "12-34-" * 166_667,
    "one letter": "a" * 1_000_000,
    "capitals": "A" * 1_000_000,
    "title words": "Dr Mr Mrs " * 100_000,
    "near e-mails": "a.b.c@d." * 125_000,
    "open brackets": "(" * 1_000_000,
    "blanks": " " * 1_000_000,
    "commas and names": "Lee, John, " * 90_909,
}


def sized_notes(count: int, seed: int) -> list[Note]:
    """Return synthetic notes cut and joined to exactly 2,000 characters."""
    text = "\n\n".join(note.text for note, _ in make_corpus(lang="en", notes=count * 2, seed=seed))
    pieces = [text[at : at + NOTE_CHARS] for at in range(0, len(text) - NOTE_CHARS, NOTE_CHARS)]
    return [Note(f"n{n}", piece, lang="en") for n, piece in enumerate((pieces * 4)[:count])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    print(conditions(str(options.seed)))
    notes = sized_notes(options.notes, options.seed)
    base = peak_mb()
    started = time.process_time()
    detector = load("rules")
    print(f"start-up            {time.process_time() - started:6.2f} s CPU")
    list(detector.detect(notes[:50]))
    rates = []
    for _ in range(5):
        started = time.process_time()
        spans = sum(len(found) for found in detector.detect(notes))
        rates.append(len(notes) / (time.process_time() - started))
    print(f"speed               {statistics.median(rates):6.0f} notes/s of CPU time, one core, best {max(rates):.0f}")
    print(f"spans per note      {spans / len(notes):6.1f}")
    print(f"memory added        {peak_mb() - base:6.0f} MB at its peak")
    before = peak_mb()
    for _ in range(5):
        list(detector.detect(notes))
    print(f"memory growth       {peak_mb() - before:6.0f} MB over five more passes")
    for name, text in HOSTILE.items():
        started = time.process_time()
        list(detector.detect([Note("hostile", text, lang="en")]))
        print(f"hostile, 1 MB       {time.process_time() - started:6.2f} s CPU  {name}")


def peak_mb() -> float:
    """Return the process' largest resident size so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
