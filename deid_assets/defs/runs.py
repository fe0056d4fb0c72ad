"""Runs of the graph in this process, one after another.

The definitions are loaded once, workers stay warm.

Each run is Dagster's own, of one batch, so that its checks are recorded for that batch; a run over
a range of partitions leaves partitioned checks planned for ever.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import dagster as dg
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from deid_assets.assets.scoring import has_scores
from deid_assets.defs.build_tables import TABLES_JOB
from deid_assets.defs.jobs import NIGHTLY_JOB, TRAINING_JOB
from deid_assets.defs.staleness import list_stale_assets
from deid_assets.defs.stopping import clear_stale_stops, drop_known_stops
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.processes import (
    Stopped,
    check_stop,
    end_workers,
    is_stopping,
    request_stop,
)
from deid_assets.runtime.progress import progress_callback
from deid_assets.store.files import ALL
from deid_assets.system.interrupts import interrupts_handled

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass(frozen=True, slots=True)
class Pass:
    """One job for one batch, or for ``ALL`` where its assets have no partitions."""

    job: str
    batch: str = ALL

    @property
    def shown(self) -> str:
        """Name for people."""
        shown = {TRAINING_JOB: "taggers", NIGHTLY_JOB: "scores", TABLES_JOB: "tables"}
        return shown.get(self.job, self.batch)


@dataclass(frozen=True, slots=True)
class PassSelection:
    """The passes of a run and their assets.

    Args:
        only: Assets; all of the job when not given.
        without: Assets that are left as they are.
        again: Also what is up to date.
        tags: Of the runs.
    """

    only: AbstractSet[dg.AssetKey] | None = None
    without: AbstractSet[dg.AssetKey] = frozenset()
    again: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class RunOutcome:
    """Outcome of the passes.

    Args:
        made: Assets made.
        runs: Runs that made them.
        faults: Why assets were stopped.
        left: Passes that a stop left undone.
        stopped: Whether there was one.
    """

    made: int = 0
    runs: int = 0
    faults: list[str] = field(default_factory=list)
    left: list[Pass] = field(default_factory=list)
    stopped: bool = False

    def show_left(self, console: Console, command: str) -> None:
        """Print what a stop left undone, and how to resume."""
        left = ", ".join(one.shown for one in self.left[:5]) + (" …" if len(self.left) > 5 else "")
        told = f"{len(self.left):,} left: {left}" if self.left else "nothing is left"
        console.print(f"Stopped; {told}", style="yellow", markup=False, highlight=False)
        console.print(
            f"What is made is kept; resume with {command}.", markup=False, highlight=False
        )


@dataclass(frozen=True, slots=True)
class Graph:
    """An installation's graph with the instance that records its runs."""

    defs: dg.Definitions
    installation: Installation
    instance: dg.DagsterInstance

    def make(
        self,
        passes: Sequence[Pass],
        console: Console,
        wanted: PassSelection | None = None,
        *,
        until: Callable[[], bool] | None = None,
    ) -> RunOutcome:
        """Make what is not up to date, pass after pass, until all is made or Ctrl-C is pressed.

        Args:
            passes: In this order.
            console: Where what is made is shown.
            wanted: All that is not up to date when not given.
            until: Asked after each pass; once it holds, the rest is not begun.
        """
        outcome, wanted = RunOutcome(), wanted or PassSelection()
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=console, transient=True) as progress, _stopping(console):
            for n, one in enumerate(passes, start=1):
                try:
                    check_stop()
                    self._make(one, wanted, outcome, progress, f"{n}/{len(passes)}  {one.shown}")
                    check_stop()
                    if until is not None and until():
                        break
                except Stopped:
                    outcome.stopped = True
                    outcome.left += [left for left in passes[n - 1 :] if self._choose(left, wanted)]
                    break
        return outcome

    def _make(
        self, one: Pass, wanted: PassSelection, outcome: RunOutcome, progress: Progress, place: str
    ) -> None:
        """Make what is wanted of one pass in one run.

        Raises:
            Stopped: A stop was requested.
        """
        chosen = self._choose(one, wanted)
        if not chosen:
            is_empty = one.job == NIGHTLY_JOB and not has_scores(self.installation)
            state = "none, as nothing is annotated" if is_empty else "up to date"
            progress.console.print(f"[dim]{place}: {state}[/]", highlight=False)
            return
        task = progress.add_task(f"{place}: making {len(chosen)} assets", total=None)

        def show(what: str, done: int, of: int) -> None:
            share = f", {done:,} of {of:,}" if of else ""
            progress.update(task, description=f"{place}: {what}{share}")

        with progress_callback(show):
            try:
                result = self._job(one).execute_in_process(
                    partition_key=None if one.batch == ALL else one.batch,
                    asset_selection=chosen,
                    instance=self.instance,
                    run_config=_QUIET,
                    tags=dict(wanted.tags),
                    raise_on_error=False,
                )
            except dg.DagsterExecutionInterruptedError:
                raise Stopped from None
            finally:
                progress.remove_task(task)
        made = len(result.get_asset_materialization_events())
        outcome.made, outcome.runs = outcome.made + made, outcome.runs + 1
        progress.console.print(f"{place}: made {made} of {len(chosen)} assets", highlight=False)
        if not is_stopping():
            outcome.faults += [
                _reason(event) for event in result.all_events if event.is_step_failure
            ]

    def _choose(self, one: Pass, wanted: PassSelection) -> list[dg.AssetKey]:
        if one.job == NIGHTLY_JOB and not has_scores(self.installation):
            return []
        keys = self._job(one).asset_layer.executable_asset_keys
        named = keys if wanted.only is None else wanted.only
        wished = [key for key in keys if key in named and key not in wanted.without]
        if wanted.again or not wished:
            return wished
        stale = [
            key
            for key in list_stale_assets(self.defs, self.installation, one.batch, self.instance)
            if key in wished
        ]
        clear_stale_stops(self.installation, one.batch, [key for key in wished if key not in stale])
        specs = {spec.key: spec for spec in self.defs.resolve_all_asset_specs()}
        return drop_known_stops(specs, self.installation, one.batch, stale)

    def _job(self, one: Pass) -> dg.JobDefinition:
        return self.defs.resolve_job_def(one.job)


def _stopping(console: Console) -> AbstractContextManager[None]:
    """Return what lets Ctrl-C stop the passes."""

    def first() -> None:
        console.print(
            "Stopping after the running asset; press Ctrl-C again to stop at once.", style="yellow"
        )
        request_stop()

    def second() -> None:
        end_workers()
        console.show_cursor()

    return interrupts_handled(first, second)


def make_own_console() -> Console:
    """Return a console on a stream of its own, so that it is shown while plugins are silenced."""
    try:
        return Console(
            file=os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding=sys.stdout.encoding)
        )
    except (OSError, ValueError):  # standard output is not a file, or closed
        return Console()


def _reason(event: dg.DagsterEvent) -> str:
    failure = event.step_failure_data.user_failure_data
    return (
        failure.description if failure else None
    ) or f"{event.step_key}: stopped; see the run in the Dagster UI"
