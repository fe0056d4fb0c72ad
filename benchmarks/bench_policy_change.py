"""A changed policy over a corpus whose spans are stored.

Time, speed and memory of making its redacted notes again.

Synthetic notes of 2 KB are stored with the spans that the ensemble finds in them, second look
included, as ``merged_spans`` has them; two thousand notes stand again and again under other ids and
patients. Then ``redacted_notes_changed`` is made batch by batch as Dagster makes it, with all its
checks. No span is detected again; the check for residual hits runs the ensemble over a draw of the
redacted notes, and over the rest of a batch where the draw does not show that few have hits.

python benchmarks/bench_policy_change.py [--notes 100000] [--batch 5000] [--workers 2]
    [--policy surrogates|tags] [--residual 0.01] [--profile FILE]
"""

from __future__ import annotations

import argparse
import cProfile
import os
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from bench_graph import _pss_mb, _tree, watch
from conditions import conditions

from deid_assets.core.assets import Family

SETTINGS = """\
ensemble = ["rules"]
recipes = []
policies = ["tag", "{policy}"]
release_policy = "tag"
languages = ["en"]
workers = {workers}
[gates]
residual = {residual}
"""
POLICIES = {
    "surrogates": (
        """\
name = "changed"
default = "surrogate"
[actions]
AGE = "age_90"
DATE = { action = "shift", max_days = 364 }
"""
    ),
    "tags": (
        """\
name = "changed"
default = "tag"
[actions]
AGE = "age_90"
DATE = "generalize"
"""
    ),
}
DISTINCT = 2000
"""Notes that the generator makes; the corpus is these under other ids."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=5_000, help="notes in a batch")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--policy", choices=POLICIES, default="surrogates")
    parser.add_argument("--residual", type=float, default=0.01, help="gates.residual")
    parser.add_argument("--profile", type=Path, help="file for a profile of the main process")
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--store", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.store:
        store(options.notes, options.batch)
    elif options.home is not None:
        change_policy(options)
    else:
        print(conditions("1"))
        raise SystemExit(measure(options))


def measure(options: argparse.Namespace) -> int:
    """Store the corpus in one process, change its policy in another, and return the latter's exit
    status.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **lay_out(Path(folder), options)}
        program = [sys.executable, __file__, *sys.argv[1:], "--home", folder]
        subprocess.run([*program, "--store"], env=environment, check=True)
        process = subprocess.Popen(program, env=environment)
        peak = watch(process)
    print(f"peak memory         {peak:6,.0f} MB, all processes together, shared pages counted once")
    return process.returncode


def lay_out(home: Path, options: argparse.Namespace) -> dict[str, str]:
    """Write settings and policy, and return the environment that names them."""
    policy, settings = home / "changed.toml", home / "deid.toml"
    policy.write_text(POLICIES[options.policy], "utf-8")
    settings.write_text(
        SETTINGS.format(policy=policy, workers=options.workers, residual=options.residual), "utf-8"
    )
    return {
        "DEID_CONFIG": str(settings),
        "DEID_HOME": str(home / "home"),
        "DAGSTER_HOME": str(home / "dagster"),
        "DEID_KEY": "5a" * 32,
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }


def change_policy(options: argparse.Namespace) -> None:
    """Make the redacted notes of the changed policy, batch by batch."""
    import dagster as dg  # noqa: PLC0415 - the environment is set by now

    from deid_assets.config import Settings  # noqa: PLC0415
    from deid_assets.definitions import defs  # noqa: PLC0415
    from deid_assets.defs.instance import write_instance  # noqa: PLC0415
    from deid_assets.defs.jobs import MAIN_JOB  # noqa: PLC0415
    from deid_assets.runtime.installation import Installation  # noqa: PLC0415

    batches = Installation(Settings.load()).files.batches("raw_notes")
    home = write_instance(options.home / "dagster")
    job = defs.resolve_job_def(MAIN_JOB)
    profiler = cProfile.Profile() if options.profile else None
    with dg.DagsterInstance.from_config(str(home)) as instance:
        instance.add_dynamic_partitions("batches", batches)
        started = time.perf_counter()
        with profiler or nullcontext():
            for batch in batches:
                began = time.perf_counter()
                done = job.execute_in_process(
                    partition_key=batch,
                    asset_selection=[dg.AssetKey("redacted_notes_changed")],
                    instance=instance,
                    run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
                )
                print(
                    f"{batch}  {describe_search(done)}, {time.perf_counter() - began:5.1f} s,"
                    f" {memory_mb():5,.0f} MB",
                    flush=True,
                )
        seconds = time.perf_counter() - started
    if profiler:
        profiler.dump_stats(options.profile)
    print(
        f"policy change       {seconds:6.1f} s, {options.notes / seconds:,.0f} notes/s over"
        f" {len(batches)} batches"
    )
    print(
        f"processor time      {cpu_s():6.1f} s, of this process and its workers, starting them"
        " included"
    )


def memory_mb() -> float:
    """Return the proportional set size of this process and its workers."""
    return sum(map(_pss_mb, _tree(os.getpid())))


def cpu_s() -> float:
    """Return the processor time that this process and its workers have used."""
    stats = (
        Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
        for pid in _tree(os.getpid())
    )
    return sum(int(fields[11]) + int(fields[12]) for fields in stats) / os.sysconf("SC_CLK_TCK")


def describe_search(done) -> str:  # noqa: ANN001 - a class that is imported late
    """Return the counts of one batch."""
    (event,) = done.get_asset_materialization_events()
    counts = {name: value.value for name, value in event.materialization.metadata.items()}
    (search,) = [
        found
        for found in done.get_asset_check_evaluations()
        if found.check_name == "no_residual_hits"
    ]
    searched = search.metadata["notes_searched"].value
    hits = search.metadata["notes_withheld"].value
    return (
        f"{counts['notes']:,} notes, {counts['withheld']:,} withheld, {searched:,} searched,"
        f" {hits:,} with hits"
    )


def store(count: int, size: int) -> None:
    """Store batches of notes and spans."""
    from deid_assets.config import Settings  # noqa: PLC0415 - the environment is set by now
    from deid_assets.runtime.installation import Installation  # noqa: PLC0415
    from deid_assets.store import frames  # noqa: PLC0415
    from deid_assets.store.files import UnsignedReceipt  # noqa: PLC0415

    installation = Installation(Settings.load())
    files, made = installation.files, detect_distinct(installation)
    drafted = UnsignedReceipt("benchmark")
    for number, start in enumerate(range(0, count, size)):
        batch = f"b-{number:04}"
        places = range(start, min(start + size, count))
        pairs = [
            (rename_note(made[at % len(made)][0], at, at // len(made)), made[at % len(made)][1])
            for at in places
        ]
        notes = [note for note, _ in pairs]
        found = [replace(spans, note_id=note.note_id) for note, spans in pairs]
        spanned, spans = frames.spans_to_tables(found)
        nothing, none = frames.spans_to_tables([])
        failed = frames.failed_to_table([])
        files.write(
            "raw_notes",
            batch,
            {"notes": frames.notes_to_table(notes), "failed": failed},
            receipt=drafted,
        )
        files.write("gold_annotations", batch, {"notes": nothing, "spans": none}, receipt=drafted)
        merged = {"spans": spans, "notes": spanned, "failed": failed}
        files.write("merged_spans", batch, merged, receipt=drafted)


def detect_distinct(installation):  # noqa: ANN001, ANN201 - classes that are imported late
    """Return the distinct notes, each with the spans that the graph would store for it."""
    from deid_assets.core.resolve import Ensemble  # noqa: PLC0415
    from deid_assets.pipeline.batch import Batch  # noqa: PLC0415
    from deid_assets.pipeline.composition import Pipeline  # noqa: PLC0415
    from deid_assets.pipeline.resolving import Resolve, by_note  # noqa: PLC0415
    from deid_assets.pipeline.spreading import Spread  # noqa: PLC0415
    from deid_assets.policies import load_policy  # noqa: PLC0415
    from deid_synthesis import make_corpus  # noqa: PLC0415

    settings = installation.settings
    notes = [note for note, _ in make_corpus(lang="en", notes=DISTINCT, seed=1)]
    predictions = {
        name: by_note(installation.detectors.detect(name, notes, stage=Family.SPANS.of(name)))
        for name in settings.ensemble
    }
    yielding = frozenset().union(*(load_policy(policy).may_leave for policy in settings.policies))
    resolve = Resolve(settings.resolve, Ensemble(settings.ensemble, yielding=yielding))
    done = Pipeline((resolve, Spread())).run(Batch(notes, predictions=predictions))
    return [(note, done.spans[note.note_id]) for note in notes if note.note_id in done.spans]


def rename_note(note, at: int, turn: int):  # noqa: ANN001, ANN201 - a Note, which is imported late
    """Return a note under an id of its own.

    Each round over the distinct notes has patients of its own.
    """
    return replace(note, note_id=f"n{at}", patient_id=f"{note.patient_id}-{turn}")


if __name__ == "__main__":
    main()
