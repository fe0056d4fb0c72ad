"""Speed of the redaction policies on notes of about 2 KB with 20 spans each, all in CPU time of one
core.

"Fresh" notes are each of a patient and a hospital of its own, with 20 values that no other note
has, in the mix that the synthetic generator writes. The first pass meets every value for the first
time, after 20 notes of other values have had the lists read ("start"); every policy begins in a
process of its own. Then any text, dates and identifiers.

python benchmarks/bench_policies.py [--notes 1000] [--seed 7] [--langs en,de]
"""

from __future__ import annotations

import argparse
import datetime as dt
import gc
import random
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import count, islice
from multiprocessing import get_context

from bench_rules import make_sized_notes
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
from deid_synthesis import make_corpus

SPANS = 20
AROUND_CHARS = 40
FRESH = ("surrogate", "research", "i2b2_style", "tag")
SECRET = b"benchmark secret, not a real one"
LABELS = (Phi.NAME, Phi.NAME, Phi.DATE, Phi.DATE, Phi.PHONE, Phi.MRN, Phi.CITY, Phi.AGE)


def fragments(lang: str, seed: int) -> Iterator[tuple[str, str, str, Phi]]:
    """Give values, each once, with the text before and after them, from a new hospital every eight
    notes.
    """
    seen = set()
    for world in count(1000 * seed):
        for note, spans in make_corpus(lang=lang, notes=8, seed=world):
            for span in spans:
                text = note.text
                value = text[span.start : span.end]
                if (span.label, value) not in seen:
                    seen.add((span.label, value))
                    yield (
                        text[max(0, span.start - AROUND_CHARS) : span.start],
                        value,
                        text[span.end : span.end + AROUND_CHARS],
                        span.label,
                    )


def make_fresh_notes(notes: int, *, lang: str, seed: int) -> list[tuple[Note, DisjointSpans]]:
    """Return notes of 20 values that no other has, each of a patient of its own."""
    rows = list(islice(fragments(lang, seed), notes * SPANS))
    random.Random(seed).shuffle(rows)
    pairs = []
    for number in range(notes):
        text, spans = "", []
        for before, value, after, label in rows[number * SPANS : (number + 1) * SPANS]:
            start = len(text) + len(before)
            spans.append(Span(start, start + len(value), label))
            text += f"{before}{value}{after} "
        note = Note(f"fresh-{seed}-{number}", text, patient_id=f"{seed}-{number}", lang=lang)
        pairs.append((note, DisjointSpans.of(note, spans)))
    return pairs


def measure_fresh_rates(name: str, lang: str, notes: int, seed: int) -> tuple[float, list[float]]:
    """Return the seconds of the start, and notes per second in the first pass and two more."""
    policy, key = load_policy(name), Key(SECRET)
    pairs, others = (
        make_fresh_notes(notes, lang=lang, seed=seed),
        make_fresh_notes(20, lang=lang, seed=seed + 1),
    )
    started = time.process_time()
    rate(others, policy, key)
    start_s = time.process_time() - started
    gc.collect()
    return start_s, [rate(pairs, policy, key) for _ in range(3)]


def show_fresh(langs: list[str], notes: int, seed: int) -> None:
    """Print the rates of each policy and language, each in a new process."""
    runs = [(name, lang) for lang in langs for name in FRESH]
    context = get_context("spawn")
    for name, lang in runs:
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            start_s, (first, *later) = pool.submit(
                measure_fresh_rates, name, lang, notes, seed
            ).result()
        print(
            f"fresh, {lang}: {name:12} {first:8,.0f} notes/s in the first pass,"
            f" {statistics.median(later):8,.0f} in the next; start {start_s:.1f} s"
        )


def spread(note: Note, rng: random.Random) -> DisjointSpans:
    """Return 20 spans of 8 to 12 characters, evenly spread over a note."""
    step = len(note.text) // SPANS
    places = [(n * step, n * step + rng.randint(8, 12)) for n in range(SPANS)]
    return DisjointSpans.of(note, [Span(start, end, rng.choice(LABELS)) for start, end in places])


def make_valued_notes(
    count: int, label: Phi, values: list[str], rng: random.Random
) -> list[tuple[Note, DisjointSpans]]:
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
    forms = (
        "%m/%d/%Y",
        "%Y-%m-%d",
        "%B %d, %Y",
        "%d %b %Y",
        "%m/%d/%y",
        "%A, %B %d, %Y",
        "%m/%d",
        "%B %Y",
    )
    days = (dt.date(2012, 1, 1) + dt.timedelta(days=number) for number in range(3650))
    return [f"{day:{rng.choice(forms)}}" for day in days for _ in range(4)]


def identifiers(rng: random.Random) -> list[str]:
    """Return social security numbers, record numbers with letters, and plain ones."""
    numbers = [rng.randrange(10**8, 10**9) for _ in range(3000)]
    return [
        written
        for number in numbers
        for written in (
            f"{str(number)[:3]}-{str(number)[3:5]}-{str(number)[5:]}",
            f"MRN-{number}",
            str(number),
        )
    ]


def rate(pairs: list[tuple[Note, DisjointSpans]], policy: Policy, key: Key) -> float:
    """Return notes per second of CPU time, for one pass."""
    started = time.process_time()
    for note, spans in pairs:
        redact(note, spans, policy, key=key)
    return len(pairs) / (time.process_time() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--langs", default="en,de,es,fi")
    options = parser.parse_args()
    print(conditions(str(options.seed)))
    show_fresh(options.langs.split(","), options.notes, options.seed)
    rng = random.Random(options.seed)
    pairs = [(note, spread(note, rng)) for note in make_sized_notes(options.notes, options.seed)]
    key = Key(SECRET)
    for name in BUILTIN:
        policy = load_policy(name)
        rates = [rate(pairs, policy, key) for _ in range(3)]
        print(f"{name:18} {statistics.median(rates):8,.0f} notes/s of CPU time, one core")
    dated = make_valued_notes(options.notes, Phi.DATE, dates(rng), rng)
    for name, replacer in (
        ("tag", Tag()),
        ("shift", Shift(max_days=365, whole_weeks=False)),
        ("year_only", YearOnly()),
    ):
        policy = Policy(name, replacer)
        rates = [rate(dated, policy, key) for _ in range(4)]
        later = statistics.median(rates[1:])
        print(
            f"20 dates: {name:12} {rates[0]:8,.0f} notes/s in the first pass, {later:8,.0f} in the"
            " next"
        )
    numbered = make_valued_notes(options.notes, Phi.NATIONAL_ID, identifiers(rng), rng)
    originals = Originals.of(key, numbered)
    started = time.process_time()
    Originals.of(key, numbered)
    print(
        f"digests of a batch: {SPANS * options.notes / (time.process_time() - started):10,.0f}"
        " values/s"
    )
    surrogate = load_policy("surrogate")
    rates = [rate(numbered, surrogate, key) for _ in range(3)]
    print(f"20 identifiers: surrogate {statistics.median(rates):8,.0f} notes/s")
    started = time.process_time()
    for note, spans in numbered:
        redact(note, spans, surrogate, key=key, originals=originals)
    print(
        f"the same, compared with {len(originals):,} values:"
        f" {options.notes / (time.process_time() - started):8,.0f} notes/s"
    )


if __name__ == "__main__":
    main()
