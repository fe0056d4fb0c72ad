"""Speed, start-up and memory of the rules detector on 2 KB English notes, and on hostile text.

python benchmarks/bench_rules.py [--notes 1000] [--seed 7] [--peers datafog scrubadub]

The synthetic notes are dense: about eighteen identifiers in 2 KB. With DEID_CORPORA set, MTSamples
cut to 2 KB shows ordinary notes. With ``--peers``, the rules and these detectors instead read 400
MTSamples notes of 3 KB in turn.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import time
from pathlib import Path

from conditions import conditions

from deid_assets.core.detector import Detector
from deid_assets.core.note import Note
from deid_assets.formats import Annotated, read_notes
from deid_assets.plugins import load
from deid_synthesis import make_corpus

NOTE_CHARS = 2_000
PEER_CHARS, PEER_NOTES = 3_000, 400
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
    "titled names": "Dr Lee, " * 125_000,
}


def make_sized_notes(count: int, seed: int) -> list[Note]:
    """Return synthetic notes cut and joined to exactly 2,000 characters."""
    return cut(
        "\n\n".join(note.text for note, _ in make_corpus(lang="en", notes=count * 2, seed=seed))
    )[:count]


def real_notes(size: int = NOTE_CHARS) -> list[Note]:
    """Return MTSamples, cut to so many characters, or nothing where it is not at hand."""
    path = Path(os.environ.get("DEID_CORPORA", "")) / "raw" / "mtsamples" / "notes.jsonl"
    if not path.is_file():
        return []
    text = "\n\n".join(
        found.note.text for found in read_notes(path) if isinstance(found, Annotated)
    )
    return cut(text, size)


def cut(text: str, size: int = NOTE_CHARS) -> list[Note]:
    """Return notes of exactly so many characters."""
    starts = range(0, len(text) - size, size)
    return [Note(f"n{n}", text[at : at + size], lang="en") for n, at in enumerate(starts)]


def show_peers(names: list[str]) -> None:
    """Print what each detector takes for the same notes.

    The first pass, then the best and the median of five by turns.
    """
    notes = real_notes(PEER_CHARS)[:PEER_NOTES]
    if not notes:
        sys.exit(
            "MTSamples is not there; set DEID_CORPORA to a folder with raw/mtsamples/notes.jsonl"
        )
    detectors = {name: load(name) for name in ("rules", *names)}
    rates: dict[str, list[float]] = {name: [] for name in detectors}
    for _ in range(6):
        for name, detector in detectors.items():
            started = time.process_time()
            list(detector.detect(notes))
            rates[name].append(len(notes) / (time.process_time() - started))
    for name, (first, *later) in rates.items():
        print(
            f"{name:20s}{max(later):6.0f} notes/s of CPU time at best, median"
            f" {statistics.median(later):.0f}, first pass {first:.0f}"
        )


def show_speed(what: str, detector: Detector, notes: list[Note]) -> None:
    """Print the median rate of three passes over notes that were read before, and what the first
    pass over them took.

    Its second half shows what notes take that are new to a detector which has read as many others:
    words, numbers and ways through the patterns that it did not meet before.
    """
    rates, half = [], len(notes) // 2
    for part in (notes[:half], notes[half:], notes, notes, notes):
        started = time.process_time()
        spans = sum(len(found) for found in detector.detect(part))
        rates.append(len(part) / (time.process_time() - started))
    cold, new, *later = rates
    print(
        f"speed               {statistics.median(later):6.0f} notes/s of CPU time, one core; first"
        f" pass: {cold:.0f} in its first half, {new:.0f} in its second; {what}, {len(notes):,}"
        f" notes, {spans / len(notes):.1f} spans a note"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--peers", nargs="+", default=[], metavar="DETECTOR")
    options = parser.parse_args()
    print(conditions(str(options.seed)))
    if options.peers:
        show_peers(options.peers)
        return
    notes = make_sized_notes(options.notes, options.seed)
    base = peak_mb()
    started = time.process_time()
    detector = load("rules")
    print(f"start-up            {time.process_time() - started:6.2f} s CPU")
    show_speed("synthetic notes", detector, notes)
    if real := real_notes():
        show_speed("MTSamples", detector, real)
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
