"""Size, speed and memory of known_identity with a table of a million patients.

python benchmarks/bench_known_identity.py [--patients 1000000] [--notes 1000] [--seed 4]

The patients of the notes are in the table under invented values, so that little is found; every
value is looked for.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from conditions import conditions
from faker import Faker

from deid_assets.formats import Identity
from deid_assets.identities import build_table
from deid_assets.plugins import load
from deid_synthesis import make_corpus


def identities(patients: list[str], count: int, seed: int) -> Iterator[Identity]:
    """Yield six values per patient: those named, then others."""
    names = Faker("en_US")
    names.seed_instance(seed)
    given, family = ([make() for _ in range(800)] for make in (names.first_name, names.last_name))
    rng = Random(seed)

    def person() -> str:
        return f"{rng.choice(given)} {rng.choice(family)}"

    for number in range(count):
        patient = patients[number] if number < len(patients) else f"p{number:07d}"
        yield Identity(patient, "name", person())
        yield Identity(patient, "relative", person())
        yield Identity(
            patient,
            "birth_date",
            f"{rng.randint(1930, 2020)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
        )
        yield Identity(patient, "record_number", str(rng.randint(10**7, 10**8)))
        yield Identity(
            patient, "phone", f"+1 212 {rng.randint(200, 999)} {rng.randint(1000, 9999)}"
        )
        yield Identity(patient, "address", f"{rng.randint(1, 999)} {rng.choice(family)} Street")


def peak_mb() -> float:
    """Return the process' largest resident size so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--patients", type=int, default=1_000_000)
    parser.add_argument("--notes", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=4)
    options = parser.parse_args()
    print(conditions(str(options.seed)))
    notes = [note for note, _ in make_corpus(lang="en", notes=options.notes, seed=options.seed)]
    patients = list(dict.fromkeys(note.patient_id for note in notes if note.patient_id))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "identities.sqlite")
        started = time.process_time()
        counts = build_table(path, identities(patients, options.patients, options.seed))
        took = time.process_time() - started
        print(
            f"table     {counts.patients:,} patients, {path.stat().st_size / 1e6:.0f} MB, made in"
            f" {took:.0f} s CPU"
        )
        before = peak_mb()
        detector = load("known_identity", options={"model": path})
        rates = []
        for _ in range(3):
            started = time.process_time()
            spans = sum(len(found) for found in detector.detect(notes))
            rates.append(len(notes) / (time.process_time() - started))
        length = sum(len(note.text) for note in notes) / len(notes)
        print(
            f"speed     {rates[-1]:.0f} notes/s of CPU time, one core; {length:.0f} characters a"
            f" note, {spans} spans"
        )
        print(f"memory    {peak_mb() - before:.0f} MB more than before the table was opened")


if __name__ == "__main__":
    main()
