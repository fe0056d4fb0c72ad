"""The main job from a shell: make what is not up to date, and print a table of what there is.

``make run`` calls it. The notes are those of the landing folder; where there never were any, a
sample is made.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from sqlalchemy.exc import DBAPIError

from deid_assets.config import Settings
from deid_assets.core.errors import DeidError, InputError, WorkerError
from deid_assets.defs.build import definitions_of
from deid_assets.defs.instance import harden_process, open_instance
from deid_assets.defs.partitions import batches
from deid_assets.defs.placing import name_in
from deid_assets.defs.runs import Graph, make_own_console
from deid_assets.intake.arrivals import waiting as waiting_to_be_split
from deid_assets.intake.landing import holding_landing, list_left_alone, take_in
from deid_assets.intake.reader import landing_store
from deid_assets.intake.splitting import split_arrivals
from deid_assets.intake.states import batch_ids, look_at_all, open_batches
from deid_assets.operation.environment import enter_folder
from deid_assets.operation.preflight import check_safety
from deid_assets.own_plugins import describe_error
from deid_assets.quickstart.overview import show_overview
from deid_assets.quickstart.passes import make_all
from deid_assets.quickstart.sample import write_sample
from deid_assets.quickstart.steps import waiting
from deid_assets.runtime.checks import check_ensemble, check_snapshot
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.processes import run_parts
from deid_assets.runtime.sweeping import remove_unfinished
from deid_assets.system.interrupts import INTERRUPTED

SAMPLE_NOTES = 200
SAMPLE_SEED = 2026
_REMEDY = "what is finished is kept; make room, see that the home can be written, and run again"


def main(arguments: Sequence[str] | None = None) -> int:
    """Make what is not up to date and print what there is.

    Returns:
        0 if all is made, 1 if a batch or asset was stopped, 2 for a wrong setting or argument, 130
        if Ctrl-C stopped it.
    """
    parser = argparse.ArgumentParser(prog="python -m deid_assets.quickstart", description=__doc__)
    parser.add_argument(
        "--notes", type=Path, help="a file or folder of notes to copy into the landing folder first"
    )
    parser.add_argument(
        "--other-settings",
        action="store_true",
        help="go on under these settings, also where the installation had others",
    )
    options = parser.parse_args(arguments)
    console = make_own_console()
    harden_process()
    try:
        enter_folder()
        settings = Settings.load()
        check_safety(settings)
        snapshot = check_snapshot(settings, adopt=options.other_settings)
        check_ensemble(snapshot)
        fill_landing(settings, options.notes, console)
        return _run(Installation(settings, snapshot=snapshot), console)
    except DeidError as error:
        console.print(
            describe_error(error), style="red", markup=False, highlight=False, soft_wrap=True
        )
        return 2
    except (OSError, DBAPIError) as error:
        why = error.strerror if isinstance(error, OSError) else error.orig
        console.print(
            f"{why or type(error).__name__}: {_REMEDY}", style="red", markup=False, highlight=False
        )
        return 1


def fill_landing(settings: Settings, notes: Path | None, console: Console) -> None:
    """Take in the given notes, or the sample if this installation never had any."""
    settings.landing.mkdir(parents=True, exist_ok=True, mode=0o700)
    with holding_landing(settings):  # another first run may be at the same
        _write_landing(settings, notes, console)
    # Nobody is still writing: these files were put here by this process or before it was started.
    if not take_in(settings, settle_s=0) and notes is not None:
        console.print(
            "What was named arrived before, byte for byte, or waits to be split.", highlight=False
        )
    for rule, count in sorted(
        Counter(rule for _, rule in list_left_alone(settings, settle_s=0)).items()
    ):
        console.print(
            f"Left in the landing folder: {count:,}, {rule}.", style="yellow", highlight=False
        )
    parts = _split(settings, console)
    if len(parts) > 1:
        console.print(
            f"Large arrivals became {len(parts)} batches of bounded size.", highlight=False
        )


def _write_landing(settings: Settings, notes: Path | None, console: Console) -> None:
    if notes is not None:
        if not notes.exists():
            raise InputError(f"{notes}: no such file or folder; name one of notes")
        copy = shutil.copytree if notes.is_dir() else shutil.copy2
        copy(notes, settings.landing / notes.name)
    elif not batch_ids(settings) and not any(settings.landing.iterdir()):
        console.print(
            f"No notes yet: making a sample of {SAMPLE_NOTES} synthetic notes, seed {SAMPLE_SEED}."
        )
        write_sample(settings.landing, notes=SAMPLE_NOTES, seed=SAMPLE_SEED)


def _split(settings: Settings, console: Console) -> list[str]:
    """Make batches of what is large, in a worker process.

    It is read, and a library may abort on a damaged file.
    """
    if not waiting_to_be_split(landing_store(settings)):
        return []
    try:
        return run_parts(split_arrivals, [settings], workers=settings.workers)[0]
    except WorkerError as error:
        console.print(
            f"What is large is not split: {error}.", style="red", markup=False, highlight=False
        )
        return []


def _run(installation: Installation, console: Console) -> int:
    remove_unfinished(installation)
    defs = definitions_of(installation.snapshot)
    started = time.perf_counter()
    with open_instance(installation.settings.dagster_home) as instance:
        known = open_batches(installation.settings, installation.files)
        instance.add_dynamic_partitions(batches.name or "", known)
        outcome = make_all(Graph(defs, installation, instance), known, console)
    if outcome.stopped:
        outcome.show_left(console, "the same command")
        return INTERRUPTED
    assets = [name_in(spec.key) for spec in defs.resolve_all_asset_specs()]
    found = look_at_all(installation.settings, installation.files)
    show_overview(installation, found, assets, console)
    for fault in outcome.faults:
        console.print(fault, style="red", markup=False, highlight=False)
    waits = waiting(installation, found)
    for line in waits.lines():
        console.print(line, style="yellow", markup=False, highlight=False, soft_wrap=True)
    console.print(
        f"next              {waits.next_step(found)}", markup=False, highlight=False, soft_wrap=True
    )
    console.print(f"finished in {time.perf_counter() - started:.1f} s", highlight=False)
    return 1 if outcome.faults else 0
