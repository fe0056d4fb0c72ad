"""The speed of a CRF with the predictions of ``rules``, for ``bench_crf.py``."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Mapping
from typing import Any

from bench_rules import make_sized_notes

from deid_assets.plugins import load

PASSES, NOTES, SEED = 8, 400, 7


def show_speed(model: str, processes: int) -> None:
    """Print the notes per second of ``rules`` and of the CRF in this process, and of the CRF in so
    many at once.
    """
    rules, crf = _rates("rules", {"profile": "meddocan"}), _rates("crf", {"model": model})
    print(
        f"\n### {NOTES} synthetic notes of 2 KB, notes/s of CPU time of one core, passes after the"
        " first\n"
    )
    print("| detector | best | median |\n|:--|--:|--:|")
    for name, found in (("rules", rules), ("crf with the predictions of rules", crf)):
        print(f"| {name} | {max(found):,.0f} | {statistics.median(found):,.0f} |")
    own = sorted(1e3 / one - 1e3 / other for one, other in zip(crf, rules, strict=True))
    print(
        f"\nThe CRF's own part: {1e3 / max(crf) - 1e3 / max(rules):.2f} ms a note at best, median"
        f" {own[len(own) // 2]:.2f}"
    )
    if processes > 1:
        clock, cpu = zip(*_measure_shared_rates({"model": model}, processes), strict=True)
        print(
            f"\n| crf with the predictions of rules, {processes} processes at once | best | median"
            " |\n|:--|--:|--:|"
        )
        print(
            f"| notes/s by the clock, of all together | {max(clock):,.0f} |"
            f" {statistics.median(clock):,.0f} |"
        )
        print(
            f"| notes/s of CPU time of one core | {max(cpu):,.0f} | {statistics.median(cpu):,.0f} |"
        )


def _rates(name: str, options: Mapping[str, Any]) -> list[float]:
    """Return the notes per second of CPU time of each pass after the first."""
    notes, detector = make_sized_notes(NOTES, SEED), load(name, options=options)
    found = []
    for _ in range(PASSES + 1):
        started = time.process_time()
        list(detector.detect(notes))
        found.append(len(notes) / (time.process_time() - started))
    return found[1:]


def _measure_shared_rates(options: Mapping[str, Any], processes: int) -> list[tuple[float, float]]:
    """Return the notes per second by the clock and of CPU time of each pass after the first, each
    process reading its share.
    """
    context = multiprocessing.get_context("spawn")
    gate, passed = context.Barrier(processes), context.Queue()
    readers = [
        context.Process(target=_read_share, args=(options, gate, passed, n, processes))
        for n in range(processes)
    ]
    for reader in readers:
        reader.start()
    passes = [passed.get() for _ in readers]
    for reader in readers:
        reader.join()
    found = []
    for of_pass in zip(*passes, strict=True):
        starts, ends, cpu = zip(*of_pass, strict=True)
        found.append((NOTES / (max(ends) - min(starts)), NOTES / sum(cpu)))
    return found


def _read_share(
    options: Mapping[str, Any], gate: Any, passed: Any, number: int, processes: int
) -> None:
    """Put when each pass after the first began and ended, and its CPU time.

    All processes begin each together.
    """
    notes, detector = make_sized_notes(NOTES, SEED)[number::processes], load("crf", options=options)
    found = []
    for _ in range(PASSES + 1):
        gate.wait()
        started, cpu = time.monotonic(), time.process_time()
        list(detector.detect(notes))
        found.append((started, time.monotonic(), time.process_time() - cpu))
    passed.put(found[1:])
