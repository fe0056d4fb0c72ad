"""Speed of the redaction policies on 2 KB notes with 20 spans each: of any text, then of dates and of identifiers.

The first pass over the dates reads each for the first time; the second finds those it has read in memory.

python benchmarks/bench_policies.py [--notes 500] [--seed 7]
"""

from __future__ import annotations

import argparse
import datetime as dt
import random
import statistics
import time

from bench_rules import sized_notes
from conditions import conditions

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy, redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies import BUILTIN, load_policy
from deid_assets.policies.collisions import Originals
from deid_assets.policies.safe_harbor import YearOnly
from deid_assets.policies.shift import Shift
from deid_assets.policies.tags import Tag

SPANS = 20
LABELS = (Phi.NAME, Phi.NAME, Phi.DATE, Phi.DATE, Phi.PHONE, Phi.MRN, Phi.CITY, Phi.AGE)


def spread(note: Note, rng: random.Random) -> DisjointSpans:
    """Return 20 spans of 8 to 12 characters, evenly spread over a note."""
    step = len(note.text) // SPANS
    places = [(n * step, n * step + rng.randint(8, 12)) for n in range(SPANS)]
    return DisjointSpans.of(note, [Span(start, end, rng.choice(LABELS)) for start, end in places])


def valued(count: int, label: Phi, values: list[str], rng: random.Random) -> list[tuple[Note, DisjointSpans]]:
    """Return notes of 2 KB with 20 spans of one category, three notes a patient."""
    pairs = []
    for number in range(count):
        text, spans = "", []
        for value in rng.choices(values, k=SPANS):
            text += "x" * (100 - len(value)) + " "
            spans.append(Span(len(text), len(text) + len(value), label))
            text += f"{value} "
        note = Note(f"{label}-{number}", text, patient_id=str(number // 3), lang="en")
        pairs.append((note, DisjointSpans.of(note, spans)))
    return pairs


def dates(rng: random.Random) -> list[str]:
    """Return ten years of days in eight forms, a quarter of them partial."""
    forms = ("%m/%d/%Y", "%Y-%m-%d", "%B %d, %Y", "%d %b %Y", "%m/%d/%y", "%A, %B %d, %Y", "%m/%d", "%B %Y")
    days = (dt.date(2012, 1, 1) + dt.timedelta(days=number) for number in range(3650))
    return [f"{day:{rng.choice(forms)}}" for day in days for _ in range(4)]


def identifiers(rng: random.Random) -> list[str]:
    """Return social security numbers, record numbers with letters, and plain ones."""
    numbers = [rng.randrange(10**8, 10**9) for _ in range(3000)]
    return [
        written
        for number in numbers
        for written in (f"{str(number)[:3]}-{str(number)[3:5]}-{str(number)[5:]}", f"MRN-{number}", str(number))
    ]


def rate(pairs: list[tuple[Note, DisjointSpans]], policy: Policy, key: Key) -> float:
    """Return notes per second of CPU time, for one pass."""
    started = time.process_time()
    for note, spans in pairs:
        redact(note, spans, policy, key=key)
    return len(pairs) / (time.process_time() - started)


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
        policy = load_policy(name)
        rates = [rate(pairs, policy, key) for _ in range(3)]
        print(f"{name:18} {statistics.median(rates):8,.0f} notes/s of CPU time, one core")
    dated = valued(options.notes, Phi.DATE, dates(rng), rng)
    for name, replacer in (
        ("tag", Tag()),
        ("shift", Shift(max_days=365, whole_weeks=False)),
        ("year_only", YearOnly()),
    ):
        policy = Policy(name, replacer)
        rates = [rate(dated, policy, key) for _ in range(4)]
        later = statistics.median(rates[1:])
        print(f"20 dates: {name:12} {rates[0]:8,.0f} notes/s in the first pass, {later:8,.0f} in the next")
    numbered = valued(options.notes, Phi.NATIONAL_ID, identifiers(rng), rng)
    originals = Originals.of(key, numbered)
    started = time.process_time()
    Originals.of(key, numbered)
    print(f"digests of a batch: {SPANS * options.notes / (time.process_time() - started):10,.0f} values/s")
    surrogate = load_policy("surrogate")
    rates = [rate(numbered, surrogate, key) for _ in range(3)]
    print(f"20 identifiers: surrogate {statistics.median(rates):8,.0f} notes/s")
    started = time.process_time()
    for note, spans in numbered:
        redact(note, spans, surrogate, key=key, originals=originals)
    print(
        f"the same, compared with {len(originals):,} values: {options.notes / (time.process_time() - started):8,.0f} notes/s"
    )


if __name__ == "__main__":
    main()
