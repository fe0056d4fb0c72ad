"""Speed of the redaction policies on 2 KB notes with 20 spans each.

python benchmarks/bench_policies.py [--notes 500] [--seed 7]
"""

from __future__ import annotations

import argparse
import random
import statistics
import time

from bench_rules import sized_notes
from conditions import conditions

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies import BUILTIN, load_policy

SPANS = 20
LABELS = (Phi.NAME, Phi.NAME, Phi.DATE, Phi.DATE, Phi.PHONE, Phi.MRN, Phi.CITY, Phi.AGE)


def spread(note: Note, rng: random.Random) -> DisjointSpans:
    """Return 20 spans of 8 to 12 characters, evenly spread over a note."""
    step = len(note.text) // SPANS
    places = [(n * step, n * step + rng.randint(8, 12)) for n in range(SPANS)]
    return DisjointSpans.of(note, [Span(start, end, rng.choice(LABELS)) for start, end in places])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    print(conditions(str(options.seed)))
    rng = random.Random(options.seed)
    pairs = [(note, spread(note, rng)) for note in sized_notes(options.notes, options.seed)]
    key = Key(b"benchmark secret, not a real one")
    for name in BUILTIN:
        policy, rates = load_policy(name), []
        for _ in range(3):
            started = time.process_time()
            for note, spans in pairs:
                redact(note, spans, policy, key=key)
            rates.append(len(pairs) / (time.process_time() - started))
        print(f"{name:18} {statistics.median(rates):8,.0f} notes/s of CPU time, one core")


if __name__ == "__main__":
    main()
