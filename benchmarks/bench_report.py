"""Time, memory and size of the evaluation report of one system, on one core.

python benchmarks/bench_report.py [--notes 10000] [--spans 20] [--seed 7]

Notes, gold and predictions are those of bench_scores.py, in three languages. They are made and held
in memory first; their time is taken off, their memory is printed by itself. A tenth of the notes is
measured too, to show what grows.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context

from bench_scores import generate_scored
from conditions import conditions

from deid_assets.core.phi import I2B2_2014
from deid_evaluation.pages.report import report_html
from deid_evaluation.report import ProfiledNotes, ReportOptions, System, build_report

LANGUAGES = ("en", "de", "fr")


def measure(*, notes: int, spans: int, seed: int) -> str:
    """Return a line of figures."""
    scored = list(generate_scored(notes, spans, seed))
    corpus = ProfiledNotes(
        notes={
            note.note_id: replace(note, lang=LANGUAGES[at % 3])
            for at, (note, _, _) in enumerate(scored)
        },
        gold={gold.note_id: gold for _, gold, _ in scored},
        profile=I2B2_2014,
    )
    system = System("bench", {pred.note_id: pred for _, _, pred in scored})
    del scored
    held, started = peak_mib(), time.process_time()
    report = build_report(corpus, [system], options=ReportOptions(title="bench"))
    stored, page = json.dumps(report), report_html(report)
    taken = time.process_time() - started
    return (
        f"{notes:7} notes  {taken:7.1f} s  peak {peak_mib():6.0f} MiB, of which the corpus"
        f" {held:6.0f}  report.json {len(stored) / 1e6:.2f} MB  report.html"
        f" {len(page) / 1e6:.2f} MB"
    )


def peak_mib() -> float:
    """Return the peak memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform != "darwin" else peak / 1024**2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--spans", type=int, default=20, help="annotated spans per note")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    print(conditions(str(args.seed)))
    for notes in (args.notes // 10, args.notes):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            print(
                pool.submit(
                    partial(measure, notes=notes, spans=args.spans, seed=args.seed)
                ).result()
            )


if __name__ == "__main__":
    main()
