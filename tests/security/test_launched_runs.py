"""A run that the web server launches executes what its definitions were made of, or nothing."""

import asyncio
import os
import sys
import time

import dagster as dg
import pytest
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import ModuleTarget
from dagster_graphql.schema import create_schema

from deid_assets.defs.instance import write_instance

LAUNCH = """
mutation ($params: ExecutionParams!) {
  launchRun(executionParams: $params) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message }
  }
}
"""
GIVE_UP_S = 90


def launched(process, batch):
    """Launch the first asset of the main job as the web server does, and return its run id."""
    params = {
        "selector": {
            "repositoryLocationName": "here",
            "repositoryName": "__repository__",
            "jobName": "main_job",
            "assetSelection": [{"path": ["raw_notes"]}],
        },
        "executionMetadata": {"tags": [{"key": "dagster/partition", "value": batch}]},
    }
    answer = asyncio.run(
        create_schema().execute_async(
            LAUNCH, variables={"params": params}, context_value=process.create_request_context()
        )
    )
    assert answer.data["launchRun"]["__typename"] == "LaunchRunSuccess", answer
    run_id = answer.data["launchRun"]["run"]["runId"]
    process.instance.launch_run(run_id, process.create_request_context())  # as the daemon does with its queue
    return run_id


def ended(instance, run_id):
    deadline = time.monotonic() + GIVE_UP_S
    while not (run := instance.get_run_by_id(run_id)).is_finished and time.monotonic() < deadline:
        time.sleep(0.2)  # another process writes the events; there is nothing to wait on
    return run


@pytest.mark.slow
def test_settings_changed_after_the_code_server_loaded_stop_the_run(installation, note_records, detector_site):
    installation.configure(installation.default_settings.replace("recipes = []", "recipes = []\nworkers = 1"))
    batch = installation.receive(note_records())
    os.environ["PYTHONPATH"] = os.pathsep.join([str(detector_site), *sys.path])
    target = ModuleTarget("deid_assets.definitions", None, str(installation.root), "here")
    home = write_instance(installation.dagster_home)

    with (
        dg.DagsterInstance.from_config(str(home)) as instance,
        WorkspaceProcessContext(instance, target) as process,
    ):
        instance.add_dynamic_partitions("batches", [batch])
        first = ended(instance, launched(process, batch))
        installation.configure((installation.root / "deid.toml").read_text() + "quarantined = 1\n")
        second = ended(instance, launched(process, batch))
        failures = [
            record.event_log_entry.dagster_event.step_failure_data.user_failure_data.description
            for record in instance.get_records_for_run(second.run_id, of_type=dg.DagsterEventType.STEP_FAILURE).records
        ]

    assert first.status is dg.DagsterRunStatus.SUCCESS
    assert second.status is dg.DagsterRunStatus.FAILURE
    assert len(failures) == 1
    assert "changed since the code location was loaded; nothing was stored; reload the code location" in failures[0]
