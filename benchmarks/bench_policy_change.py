"""A changed policy over a corpus whose spans are stored: time, speed and memory of making its redacted notes again.

Synthetic notes of 2 KB are stored with the spans that the line-up finds in them, second look included, as
``merged_spans`` has them; two thousand notes stand again and again under other ids and patients. Then
``redacted_notes/changed`` is made batch by batch as Dagster makes it, with all its checks. No span is detected anew;
the check for residual hits runs the line-up over a draw of the redacted notes, as it does in every run.

python benchmarks/bench_policy_change.py [--notes 100000] [--batch 5000] [--workers 2] [--profile FILE]
"""

from __future__ import annotations

import argparse
import cProfile
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from bench_graph import watch
from conditions import conditions

SETTINGS = """\
line_up = ["rules"]
recipes = []
policies = ["tag", "{policy}"]
release_policy = "tag"
languages = ["en"]
workers = {workers}
"""
POLICY = """\
name = "changed"
default = "surrogate"
[actions]
AGE = "age_90"
DATE = {{ action = "shift", max_days = {days} }}
"""
DISTINCT = 2000
"""Notes that the generator makes; the corpus is these under other ids."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=5_000, help="notes in a batch")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--profile", type=Path, help="file for a profile of the main process")
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.home is not None:
        change_policy(options)
        return
    print(conditions("1"))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        environment = lay_out(home, options.workers)
        program = [sys.executable, __file__, *sys.argv[1:], "--home", folder]
        process = subprocess.Popen(program, env={**os.environ, **environment})
        peak = watch(process)
    print(f"peak memory         {peak:6.0f} MB, all processes together, shared pages counted once; storing included")
    raise SystemExit(process.returncode)


def lay_out(home: Path, workers: int) -> dict[str, str]:
    """Write settings and policy, and return the environment that names them."""
    policy, settings = home / "changed.toml", home / "deid.toml"
    policy.write_text(POLICY.format(days=364), "utf-8")
    settings.write_text(SETTINGS.format(policy=policy, workers=workers), "utf-8")
    return {
        "DEID_CONFIG": str(settings),
        "DEID_HOME": str(home / "home"),
        "DAGSTER_HOME": str(home / "dagster"),
        "DEID_KEY": "5a" * 32,
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }


def change_policy(options: argparse.Namespace) -> None:
    """Store notes and spans, then make the redacted notes of the changed policy."""
    import dagster as dg  # noqa: PLC0415 - the environment is set by now

    from deid_assets.definitions import defs  # noqa: PLC0415
    from deid_assets.defs.instance import write_instance  # noqa: PLC0415
    from deid_assets.defs.jobs import MAIN_JOB  # noqa: PLC0415

    batches = store(options.notes, options.batch)
    home = write_instance(options.home / "dagster")
    job = defs.resolve_job_def(MAIN_JOB)
    changed = dg.AssetKey(["redacted_notes", "changed"])
    profiler = cProfile.Profile() if options.profile else None
    with dg.DagsterInstance.from_config(str(home)) as instance:
        instance.add_dynamic_partitions("batches", batches)
        started = time.perf_counter()
        if profiler:
            profiler.enable()
        for batch in batches:
            began = time.perf_counter()
            done = job.execute_in_process(
                partition_key=batch,
                asset_selection=[changed],
                instance=instance,
                run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            )
            (event,) = done.get_asset_materialization_events()
            shown = {name: value.value for name, value in event.materialization.metadata.items()}
            print(
                f"{batch}  {shown['notes']:,} notes, {shown['withheld']:,} withheld, "
                f"{time.perf_counter() - began:5.1f} s, "
                f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB so far"
            )
        seconds = time.perf_counter() - started
    if profiler:
        profiler.disable()
        profiler.dump_stats(options.profile)
    print(f"policy change       {seconds:6.1f} s, {options.notes / seconds:,.0f} notes/s over {len(batches)} batches")


def store(count: int, size: int) -> list[str]:
    """Store batches of notes and spans, and return their names."""
    from deid_assets.config import Settings  # noqa: PLC0415 - the environment is set by now
    from deid_assets.store import frames  # noqa: PLC0415
    from deid_assets.store.files import ReceiptDraft  # noqa: PLC0415
    from deid_resources.corpus import Corpus  # noqa: PLC0415

    corpus = Corpus(Settings.load())
    files, made = corpus.files, detected(corpus)
    corpus.close()
    drafted = ReceiptDraft("benchmark")
    names = []
    for number, start in enumerate(range(0, count, size)):
        batch = f"b-{number:04}"
        places = range(start, min(start + size, count))
        pairs = [(renamed(made[at % len(made)][0], at, at // len(made)), made[at % len(made)][1]) for at in places]
        notes = [note for note, _ in pairs]
        found = [replace(spans, note_id=note.note_id) for note, spans in pairs]
        spanned, spans = frames.spans_to_tables(found)
        nothing, none = frames.spans_to_tables([])
        failed = frames.failed_to_table([])
        files.write("raw_notes", batch, {"notes": frames.notes_to_table(notes), "failed": failed}, receipt=drafted)
        files.write("gold_annotations", batch, {"notes": nothing, "spans": none}, receipt=drafted)
        merged = {"spans": spans, "notes": spanned, "failed": failed}
        files.write("merged_spans", batch, merged, receipt=drafted)
        names.append(batch)
    return names


def detected(corpus):  # noqa: ANN001, ANN201 - classes that are imported late
    """Return the distinct notes, each with the spans that the graph would store for it."""
    from deid_assets.core.pipeline import by_note  # noqa: PLC0415
    from deid_assets.core.span import DisjointSpans  # noqa: PLC0415
    from deid_assets.defs.merging import merge  # noqa: PLC0415
    from deid_assets.policies import load_policy  # noqa: PLC0415
    from deid_assets.synthesis import make_corpus  # noqa: PLC0415

    settings = corpus.settings
    notes = [note for note, _ in make_corpus(lang="en", notes=DISTINCT, seed=1)]
    opinions = {
        name: by_note(corpus.detectors.detect(name, notes, stage=f"spans/{name}")) for name in settings.line_up
    }
    yielding = frozenset().union(*(load_policy(policy).may_leave for policy in settings.policies))
    merged = merge(notes, opinions, corpus, yielding=yielding)
    return [(note, spans) for note, spans in zip(notes, merged, strict=True) if isinstance(spans, DisjointSpans)]


def renamed(note, at: int, turn: int):  # noqa: ANN001, ANN201 - a Note, which is imported late
    """Return a note under an id of its own; each round over the distinct notes has patients of its own."""
    return replace(note, note_id=f"n{at}", patient_id=f"{note.patient_id}-{turn}")


if __name__ == "__main__":
    main()
