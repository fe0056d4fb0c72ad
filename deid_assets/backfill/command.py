"""Make assets of every batch in one process, for which a backfill in Dagster's UI takes a process
each.

Each batch is a run of its own on the instance that the UI shows, with its checks recorded for that
batch. What is up to date is left as it is.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import dagster as dg
from rich.console import Console

from deid_assets.config import Settings
from deid_assets.core.errors import DeidError, InputError
from deid_assets.defs.build import definitions_of
from deid_assets.defs.instance import harden_process, open_instance
from deid_assets.defs.jobs import MAIN_JOB
from deid_assets.defs.partitions import batches
from deid_assets.defs.runs import Graph, Pass, PassSelection, make_own_console
from deid_assets.intake.states import earlier_line, look_at_all, open_batches
from deid_assets.operation.environment import enter_folder
from deid_assets.operation.preflight import check_safety
from deid_assets.own_plugins import describe_error
from deid_assets.runtime.checks import check_snapshot
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.sweeping import remove_unfinished
from deid_assets.system.interrupts import INTERRUPTED

TAG = "deid/backfill"
"""Tag of each run: the time at which its backfill began."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Make what is wanted and print how long a batch took.

    Returns:
        0 if all is made, 1 if a batch was stopped, 2 for a wrong setting or argument, 130 if Ctrl-C
        stopped it.
    """
    parser = argparse.ArgumentParser(prog="python -m deid_assets.backfill", description=__doc__)
    parser.add_argument(
        "asset",
        nargs="*",
        help="such as spans_crf or redacted_notes_tag; all partitioned ones if none",
    )
    parser.add_argument(
        "--batch",
        action="append",
        help="a batch that was not withdrawn; may be given again; all if not given",
    )
    parser.add_argument("--again", action="store_true", help="also make what is up to date")
    options = parser.parse_args(arguments)
    console = make_own_console()
    harden_process()
    try:
        enter_folder()
        settings = Settings.load()
        check_safety(settings)
        return _run(Installation(settings, snapshot=check_snapshot(settings)), options, console)
    except DeidError as error:
        console.print(describe_error(error), style="red", markup=False, highlight=False)
        return 2


def _run(installation: Installation, options: argparse.Namespace, console: Console) -> int:
    remove_unfinished(installation)
    defs = definitions_of(installation.snapshot)
    known = open_batches(installation.settings, installation.files)
    chosen = _choose(options.batch or known, known, "open batch")
    made_here = defs.resolve_job_def(MAIN_JOB).asset_layer.executable_asset_keys
    assets = _choose(options.asset, sorted(key.to_user_string() for key in made_here), "asset")
    wanted = PassSelection(
        only={dg.AssetKey.from_user_string(asset) for asset in assets} or None,
        again=options.again,
        tags={TAG: datetime.now(UTC).isoformat(timespec="seconds")},
    )
    with open_instance(installation.settings.dagster_home) as instance:
        instance.add_dynamic_partitions(batches.name or "", known)
        started = time.perf_counter()
        outcome = Graph(defs, installation, instance).make(
            [Pass(MAIN_JOB, batch) for batch in chosen], console, wanted
        )
    seconds = time.perf_counter() - started
    each = f", {seconds / outcome.runs:.2f} s each" if outcome.runs else ""
    console.print(
        f"{outcome.made:,} assets in {outcome.runs:,} runs, {seconds:.1f} s{each}", highlight=False
    )
    for fault in outcome.faults:
        console.print(fault, style="red", markup=False, highlight=False)
    if line := earlier_line(look_at_all(installation.settings, installation.files)):
        console.print(line, style="yellow", markup=False, highlight=False, soft_wrap=True)
    if outcome.stopped:
        outcome.show_left(console, "the same command")
        return INTERRUPTED
    return 1 if outcome.faults else 0


def _choose(named: Sequence[str], known: Sequence[str], kind: str) -> list[str]:
    """Return the names.

    Raises:
        InputError: One is not known.
    """
    if unknown := [name for name in named if name not in known]:
        raise InputError(
            f"{kind} {unknown[0]!r}: no such {kind}; there are {', '.join(known) or 'none'}"
        )
    return list(named)
