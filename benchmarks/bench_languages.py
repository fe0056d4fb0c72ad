"""Start-up, speed and memory of the rules detector with all its languages on 2 KB notes of mixed
languages.

python benchmarks/bench_languages.py [--notes 1600] [--seed 7]

No note names its language, so telling it counts. Synthetic notes are dense in identifiers; with
DEID_CORPORA set, case reports and MTSamples in four languages show ordinary notes.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from random import Random

from bench_rules import peak_mb, show_speed
from conditions import conditions

from deid_assets.core.note import Note
from deid_assets.formats import Annotated, read_notes
from deid_assets.plugins import load
from deid_synthesis import languages, make_corpus

NOTE_CHARS = 2_000
RAW = (
    "mtsamples/notes.jsonl",
    "case-reports-ccby/es-nubes.jsonl",
    "case-reports-ccby/fr.jsonl",
    "case-reports-ccby/it.jsonl",
)


def synthetic(count: int, seed: int) -> list[Note]:
    """Return as many notes of each language that has a grammar."""
    each = count // len(languages())
    texts = (
        "\n\n".join(note.text for note, _ in make_corpus(lang=lang, notes=each * 2, seed=seed))
        for lang in languages()
    )
    return shuffle([chunk for text in texts for chunk in cut(text)[:each]], seed)


def ordinary(count: int, seed: int) -> list[Note]:
    """Return as many raw notes of each of four languages, or none where they are not at hand."""
    root = Path(os.environ.get("DEID_CORPORA", "")) / "raw"
    if not all((root / name).is_file() for name in RAW):
        return []
    chunks: list[str] = []
    for name in RAW:
        text = "\n\n".join(
            found.note.text for found in read_notes(root / name) if isinstance(found, Annotated)
        )
        chunks += cut(text)[: count // len(RAW)]
    return shuffle(chunks, seed)


def cut(text: str) -> list[str]:
    """Return pieces of exactly 2,000 characters."""
    return [text[at : at + NOTE_CHARS] for at in range(0, len(text) - NOTE_CHARS, NOTE_CHARS)]


def shuffle(chunks: list[str], seed: int) -> list[Note]:
    """Return the pieces as notes in an order of chance."""
    Random(seed).shuffle(chunks)
    return [Note(f"n{number}", chunk) for number, chunk in enumerate(chunks)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--notes", type=int, default=1_600)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    print(conditions(str(options.seed)))
    mixed, real = synthetic(options.notes, options.seed), ordinary(options.notes, options.seed)
    base = peak_mb()
    started = time.process_time()
    detector = load("rules")
    print(f"start-up            {time.process_time() - started:6.2f} s CPU, languages and all")
    if real:
        show_speed("raw notes in four languages", detector, real)
    show_speed(f"synthetic notes in {len(languages())} languages", detector, mixed)
    print(
        f"memory              {peak_mb():6.0f} MB at its peak, of which {peak_mb() - base:.0f} MB"
        " for the detector"
    )


if __name__ == "__main__":
    main()
