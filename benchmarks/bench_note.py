"""One note from its file to its released text.

Calls between modules, detector passes, and notes a second of the shell.

DEID_CORPORA=<folder with raw/mtsamples/notes.jsonl> python benchmarks/bench_note.py [--notes N]

A hop is a function of ``deid_assets`` that another of its modules hands the note to, as it is then:
raw, parsed, with spans, or redacted, alone or among others. Each counts once. Policies, which see
values, are left out. Seconds are processor time of the command, start-up included.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
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
from deid_assets.pipeline.redacting import Batch

NOTE = (
    '{"id": "n-1", "text": "Seen by Dr. Jane Caldwick on 3 May 2021. MRN: 4471902. Tel.'
    ' 617-555-0143."}\n'
)
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
    """Return the functions that are handed the note from another module, in the order of their first call."""
    found: dict[str, None] = {}

    def called(frame: FrameType, event: str, _: Any) -> None:
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

    sys.setprofile(called)
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

    def counted(*args: Any, **options: Any) -> Any:
        nonlocal passes
        passes += 1
        return plain(*args, **options)

    ensemble.run_detector = counted
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=1_000, help="of MTSamples, the first ones")
    options = parser.parse_args()
    print(conditions())
    with tempfile.TemporaryDirectory() as name:
        shell(Path(name), options.notes)
        one_note(Path(name))


if __name__ == "__main__":
    main()
