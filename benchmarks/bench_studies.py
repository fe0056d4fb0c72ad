"""One more study over a corpus whose spans are stored: time, speed, and calls of detectors.

Synthetic notes of 2 KB are dropped, split into batches, and go through the graph once, up to the
installation's own release; two thousand notes stand again and again under other ids and patients.
Then the last of some studies is made batch by batch as Dagster makes it, from its redacted notes to
its release and its release diff, in a process of its own: the clock begins with the process. What
its process asks of detectors is counted.

python benchmarks/bench_studies.py [--notes 100000] [--studies 10] [--policy surrogate]
    [--workers 2] [--batch 5000]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_policy_change import cpu_s
from conditions import conditions

SETTINGS = """\
ensemble = ["rules"]
recipes = []
policies = ["tag"]
release_policy = "tag"
languages = ["en"]
workers = {workers}
release.require = "none"
[gates]
near_duplicates = 1.0
[batches]
max_characters = {characters}
"""
STUDY = '[studies.study_{number}]\npolicy = "{policy}"\n'
DISTINCT = 2000
"""Notes that the generator makes; the corpus is these under other ids."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=100_000)
    parser.add_argument("--studies", type=int, default=10)
    parser.add_argument("--policy", default="surrogate")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=5_000, help="notes in a batch, about")
    parser.add_argument("--step", choices=("release", "study"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step == "release":
        release(options)
    elif options.step == "study":
        make_study(options)
    else:
        print(conditions("1"))
        measure(options)


def measure(options: argparse.Namespace) -> None:
    """Release the corpus in one process, then add the studies and make the last one in another."""
    with tempfile.TemporaryDirectory() as folder:
        home, settings = Path(folder), Path(folder) / "deid.toml"
        environment = {
            **os.environ,
            "DEID_CONFIG": str(settings),
            "DEID_HOME": str(home / "home"),
            "DAGSTER_HOME": str(home / "dagster"),
            "DEID_KEY": "5a" * 32,
            "DAGSTER_DISABLE_TELEMETRY": "1",
        }
        plain = SETTINGS.format(workers=options.workers, characters=3000 * options.batch)
        studies = (
            STUDY.format(number=number, policy=options.policy)
            for number in range(1, options.studies + 1)
        )
        for step, text in (("release", plain), ("study", plain + "".join(studies))):
            settings.write_text(text, "utf-8")
            started = time.perf_counter()
            subprocess.run(
                [sys.executable, __file__, *sys.argv[1:], "--step", step],
                env=environment,
                check=True,
            )
            seconds = time.perf_counter() - started
            told = f"{seconds:7.1f} s, {options.notes / seconds:,.0f} notes/s"
            print(f"{step:8} {told}, its process with its start included", flush=True)


def release(options: argparse.Namespace) -> None:
    """Drop the notes and release them."""
    from deid_assets.config import Settings  # noqa: PLC0415 - the environment is set by now
    from deid_assets.intake.landing import take_in  # noqa: PLC0415
    from deid_assets.intake.splitting import split_arrivals  # noqa: PLC0415

    settings = Settings.load()
    settings.landing.mkdir(parents=True)
    drop(settings.landing / "notes.jsonl", options.notes)
    take_in(settings, settle_s=0)
    split_arrivals(settings)
    run("main_job")


def make_study(options: argparse.Namespace) -> None:
    """Make the last study, and count what detectors are asked."""
    from deid_assets.runtime.detectors import DetectorPool  # noqa: PLC0415

    asked = []

    def count_call(self, *given, inner=DetectorPool.map_detecting, **more):  # noqa: ANN001, ANN002, ANN003, ANN202
        asked.append(1)
        return inner(self, *given, **more)

    DetectorPool.map_detecting = count_call  # type: ignore[method-assign]
    batches = run(f"study__study_{options.studies}")
    home = Path(os.environ["DEID_HOME"]) / "studies" / f"study_{options.studies}" / "released"
    manifests = [json.loads(path.read_bytes()) for path in home.glob("*/manifest.json")]
    notes = sum(one["counts"]["notes"] for one in manifests)
    print(
        f"study    {notes:,} notes released in {len(manifests)} of {batches} batches;"
        f" detectors called {len(asked)} times",
        flush=True,
    )


def run(job_name: str) -> int:
    """Run a job for every batch in this process, and return how many there are."""
    import dagster as dg  # noqa: PLC0415 - the environment is set by now

    from deid_assets.config import Settings  # noqa: PLC0415
    from deid_assets.defs.build import definitions_of_settings  # noqa: PLC0415
    from deid_assets.defs.instance import harden_process, write_instance  # noqa: PLC0415
    from deid_assets.intake.states import batch_ids  # noqa: PLC0415
    from deid_assets.plugins import available  # noqa: PLC0415

    harden_process()
    settings = Settings.load()
    defs = definitions_of_settings(settings, plugins={"rules": available()["rules"]}, audits={})
    batches = batch_ids(settings)
    home = write_instance(Path(os.environ["DAGSTER_HOME"]))
    job = defs.resolve_job_def(job_name)
    with dg.DagsterInstance.from_config(str(home)) as instance:
        instance.add_dynamic_partitions("batches", batches)
        for batch in batches:
            began = time.perf_counter()
            done = job.execute_in_process(
                partition_key=batch,
                instance=instance,
                run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            )
            made = len(done.get_asset_materialization_events())
            print(f"  {batch}  {made} assets, {time.perf_counter() - began:5.1f} s", flush=True)
        print(
            f"processor time {cpu_s():7.1f} s, of this process and its workers from their start",
            flush=True,
        )
    return len(batches)


def drop(path: Path, count: int) -> None:
    """Write the corpus, each round over the distinct notes with patients of its own."""
    from deid_synthesis import make_corpus  # noqa: PLC0415

    distinct = [note for note, _ in make_corpus(lang="en", notes=min(count, DISTINCT), seed=1)]
    with path.open("w", encoding="utf-8") as file:
        for at in range(count):
            note, turn = distinct[at % len(distinct)], at // len(distinct)
            row = {
                "id": f"n{at}",
                "text": note.text,
                "patient_id": f"{note.patient_id}-{turn}",
                "lang": "en",
            }
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
