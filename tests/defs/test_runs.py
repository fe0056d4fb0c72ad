"""Batch after batch in one process: the same as a run of its own for each."""

import threading
from io import StringIO

import dagster as dg
import pytest
from dagster._core.event_api import PartitionKeyFilter
from rich.console import Console

from deid_assets.backfill.command import main as backfill
from deid_assets.defs.jobs import MAIN_JOB
from deid_assets.defs.runs import Graph, Pass, PassSelection
from deid_assets.runtime import processes
from deid_assets.store.withdrawals import Withdrawals

pytestmark = pytest.mark.long

SPANS = dg.AssetKey("spans_stencil")


@pytest.fixture
def graph(installation):
    return Graph(installation.definitions(), installation.opened(), installation.instance)


@pytest.fixture
def passes(installation, note_records):
    known = [
        installation.receive(note_records(first), name=f"{first}.jsonl") for first in (0, 20, 40)
    ]
    installation.instance.add_dynamic_partitions("batches", known)
    return [Pass(MAIN_JOB, batch) for batch in known]


@pytest.fixture
def stop(monkeypatch):
    """Ask for a stop as the first Ctrl-C does, for this test alone."""
    monkeypatch.setattr(processes, "_stop", threading.Event())
    return processes.request_stop


UPSTREAM = {dg.AssetKey("raw_notes"), dg.AssetKey("gold_annotations"), SPANS}


def test_checks_are_recorded_for_each_batch_and_a_second_pass_makes_nothing(graph, passes):
    console = Console(file=StringIO())

    outcome = graph.make(
        passes, console, PassSelection(only=UPSTREAM, tags={"deid/backfill": "now"})
    )

    assert (outcome.faults, outcome.runs, outcome.made, outcome.stopped) == ([], 3, 9, False)
    check = dg.AssetCheckKey(SPANS, "answered")
    for one in passes:
        (row,) = graph.instance.event_log_storage.get_asset_check_execution_history(
            check, limit=9, partition_filter=PartitionKeyFilter(key=one.batch)
        )
        assert row.status.value == "SUCCEEDED"
    assert graph.make(passes, console, PassSelection(only=UPSTREAM)).runs == 0
    assert graph.make(passes[:1], console, PassSelection(only={SPANS}, again=True)).made == 1


def test_a_stop_undoes_the_running_detection_and_says_what_is_left(
    graph, passes, stop, monkeypatch
):
    console = Console(file=StringIO(), width=200)
    graph.make(passes[:1], console, PassSelection(only=UPSTREAM))
    find = processes.run_parts

    def run_parts(*args, **kwargs):
        stop()
        return find(*args, **kwargs)

    monkeypatch.setattr("deid_assets.runtime.detectors.run_parts", run_parts)

    outcome = graph.make(passes, console, PassSelection(only=UPSTREAM))
    outcome.show_left(console, "make run")

    assert (outcome.stopped, outcome.faults) == (True, [])
    assert [one.batch for one in outcome.left] == [one.batch for one in passes[1:]]
    assert graph.installation.files.batches("spans_stencil") == [passes[0].batch]
    assert f"2 left: {passes[1].batch}, {passes[2].batch}" in console.file.getvalue()


def test_a_backfill_leaves_withdrawn_batches_alone(installation, note_records, capsys):
    batch = installation.receive(note_records())
    opened = installation.opened()
    Withdrawals(opened.files).record(batch, {"notes": 8, "withheld": 0})

    assert backfill(["raw_notes"]) == 0
    assert "0 assets in 0 runs" in capsys.readouterr().out
    assert backfill(["raw_notes", "--batch", batch]) == 2
    assert "no such open batch" in capsys.readouterr().out
