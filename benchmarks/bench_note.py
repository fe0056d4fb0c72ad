"""One note from its file to its released text.

Modules that it passes, calls between modules, detector passes, and notes a second of the shell.

DEID_CORPORA=<folder with raw/mtsamples/notes.jsonl> python benchmarks/bench_note.py [--notes N]

A hop is a function of ``deid_assets`` that another of its modules hands the note to, as it is then:
raw, parsed, with spans, or redacted, alone or among others. Each counts once. Policies, which see
values, are left out. A module that a note passes is one of ``deid_assets`` or ``deid_resources`` of
which a function runs for it, of whatever kind; everything was loaded and run once before, and the
work of worker processes runs in this one. ``rules`` detects. Seconds are processor time of the
command, start-up included.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any

from conditions import conditions

from deid_assets.cli import app, ensemble
from deid_assets.core.note import Note
from deid_assets.core.redact import Redacted
from deid_assets.core.span import SpanSet
from deid_assets.formats import Annotated, Fault, read_notes, write_notes
from deid_assets.formats.annotated import ParsedNote
from deid_assets.pipeline.batch import Batch

NOTE = (
    '{"id": "n-1", "text": "Seen by Dr. Jane Caldwick on 3 May 2021. MRN: 4471902. Tel.'
    ' 617-555-0143."}\n'
)
GRAPH = """\
ensemble = ["rules"]
recipes = []
policies = ["safe_harbor"]
release_policy = "safe_harbor"
release.require = "none"
"""
OURS = "deid_assets."
APART = "deid_assets.policies"
NOTES = (Note, SpanSet, Redacted, Annotated, ParsedNote, Batch)


def carries(value: object) -> bool:
    """Whether a value is a note in one of its states, or holds one first."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple) and value and not isinstance(value, NOTES):
        return carries(value[0])
    return isinstance(value, NOTES)


def hops(work: Callable[[], object]) -> list[str]:
    """Return the functions that are handed the note from another module, in the order of their
    first call.
    """
    found: dict[str, None] = {}

    def record_call(frame: FrameType, event: str, _: Any) -> None:
        caller = frame.f_back
        module = frame.f_globals.get("__name__", "")
        name = frame.f_code.co_name
        if event != "call" or caller is None or not module.startswith(OURS) or name.startswith("<"):
            return
        before = caller.f_globals.get("__name__", "")
        code = frame.f_code
        given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if not any(carries(frame.f_locals.get(one)) for one in given):
            return
        if (
            before.startswith(OURS)
            and before != module
            and not module.startswith(APART)
            and not name.startswith("__")
        ):
            found.setdefault(f"{module.removeprefix(OURS)}.{frame.f_code.co_qualname}")

    sys.setprofile(record_call)
    try:
        work()
    finally:
        sys.setprofile(None)
    return list(found)


def deid(*arguments: str) -> None:
    """Run a command of the shell in this process."""
    app(list(arguments), standalone_mode=False)


def one_note(folder: Path) -> None:
    (folder / "one.jsonl").write_text(NOTE)
    passes = 0
    deid("deidentify", str(folder / "one.jsonl"), "--out", str(folder / "warm"))
    plain = ensemble.run_detector

    def count_call(*args: Any, **options: Any) -> Any:
        nonlocal passes
        passes += 1
        return plain(*args, **options)

    ensemble.run_detector = count_call
    found = hops(
        lambda: deid("deidentify", str(folder / "one.jsonl"), "--out", str(folder / "out"))
    )
    print(f"one note: {len(found)} hops: {', '.join(found)}")
    print(f"detector passes: {passes}, the search of the draw included")


def shell(folder: Path, count: int) -> None:
    path = Path(os.environ.get("DEID_CORPORA", "")) / "raw" / "mtsamples" / "notes.jsonl"
    if not path.is_file():
        print("shell: skipped; set DEID_CORPORA to a folder with raw/mtsamples/notes.jsonl")
        return
    notes = [one for one in read_notes(path) if not isinstance(one, Fault)][:count]
    write_notes(folder / "notes.jsonl", notes, format="jsonl")
    program = [sys.executable, "-c", "from deid_assets.cli import app; app()"]
    subprocess.run(
        [*program, "deidentify", "notes.jsonl", "--out", "many"], cwd=folder, check=False
    )
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = used.ru_utime + used.ru_stime
    print(
        f"shell: {len(notes):,} MTSamples notes, {spent:.1f} s of processor time,"
        f" {len(notes) / spent:.1f} notes/s"
    )


def modules(work: Callable[[], object]) -> list[str]:
    """Return the modules of which a function runs, in the order of their first call."""
    names: dict[str, None] = {}

    def record_call(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_globals.get("__name__", "")
        is_ours = name.partition(".")[0] in {"deid_assets", "deid_resources"}
        if event == "call" and is_ours and frame.f_code.co_name != "<module>":
            names.setdefault(name)

    sys.setprofile(record_call)
    threading.setprofile(record_call)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(names)


def count_modules(folder: Path) -> None:
    """Print the modules that a note passes through each interface."""
    from deid_assets import deidentify  # noqa: PLC0415 - as a caller has it

    text = json.loads(NOTE)["text"]
    (folder / "note.jsonl").write_text(NOTE)
    shown = folder / "shown.log"
    runs = iter(range(4))

    def through_python() -> None:
        deidentify(text, lang="en", detectors=["rules"])

    def through_shell() -> None:
        out = str(folder / f"of-shell-{next(runs)}")
        notes = str(folder / "note.jsonl")
        with shown.open("w") as file, redirect_stdout(file), redirect_stderr(file):
            deid("deidentify", notes, "--detector", "rules", "--out", out)

    for name, work in (("Python", through_python), ("deid deidentify", through_shell)):
        work()
        print_modules(name, modules(work))
    print_modules("the graph", modules_of_graph(folder))


def modules_of_graph(folder: Path) -> list[str]:
    """Return the modules that the second batch of one note passes, from its file to its release."""
    import dagster as dg  # noqa: PLC0415 - loads seconds of Dagster

    from deid_assets import plugins  # noqa: PLC0415
    from deid_assets.config import Settings  # noqa: PLC0415
    from deid_assets.defs.build import definitions_of_settings  # noqa: PLC0415
    from deid_assets.intake.landing import take_in  # noqa: PLC0415
    from deid_assets.runtime import detectors  # noqa: PLC0415

    (folder / "deid.toml").write_text(GRAPH)
    os.environ |= {"DEID_CONFIG": str(folder / "deid.toml"), "DEID_HOME": str(folder / "home")}
    detectors.run_parts = lambda work, parts, **_: [work(part) for part in parts]
    settings = Settings.load()
    detecting = {"rules": plugins.available()["rules"]}
    job = definitions_of_settings(settings, plugins=detecting, audits={}).resolve_job_def(
        "main_job"
    )
    log_level = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    with dg.DagsterInstance.ephemeral() as instance:

        def run(number: int) -> None:
            landing = settings.home / "landing"
            landing.mkdir(parents=True, exist_ok=True)
            (landing / f"{number}.jsonl").write_text(NOTE.replace("n-1", f"n-{number}"))
            (batch,) = take_in(settings, settle_s=0)
            instance.add_dynamic_partitions("batches", [batch])
            done = job.execute_in_process(
                partition_key=batch, instance=instance, run_config=log_level
            )
            assert done.success

        run(1)
        return modules(lambda: run(2))


def print_modules(name: str, found: list[str]) -> None:
    print(f"{name}: a note passes {len(found)} modules: {', '.join(found)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--notes", type=int, default=1_000, help="of MTSamples, the first ones; 0 for none"
    )
    options = parser.parse_args()
    print(conditions())
    with tempfile.TemporaryDirectory() as name:
        if options.notes:
            shell(Path(name), options.notes)
        one_note(Path(name))
        os.environ.setdefault("DEID_KEY", "5a" * 32)
        count_modules(Path(name))


if __name__ == "__main__":
    main()
