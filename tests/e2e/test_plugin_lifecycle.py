"""A third party's detector is installed beside a running server, seen after a reload, offered,
back-filled alone, and judged as a candidate for the ensemble.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pytest
import requests

from deid_assets.defs.instance import write_instance

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("ps") is None, reason="ps is needed to see that no process is left behind"
    ),
]

ROOT = Path(__file__).parents[2]
LOCATION = "deid_assets"
START_S, BACKFILL_S, STOP_S = 120, 240, 30
SUCCESS = dg.DagsterRunStatus.SUCCESS
LAUNCHING = 'backfill.launch = ["new"]\nbackfill.only = ["badge"]\n[gates]'
SCORECARD = ("gold_covered", "promoted")

RELOAD = """
mutation ($location: String!) { reloadRepositoryLocation(repositoryLocationName: $location) {
    __typename ... on WorkspaceLocationEntry { loadStatus locationOrLoadError { __typename } } } }
"""
GROUPS = "{ assetNodes { groupName assetKey { path } } }"
BACKFILL = """
mutation ($batches: [String!]!) { launchPartitionBackfill(backfillParams: {
    assetSelection: [{path: ["spans_badge"]}], partitionNames: $batches, title: "badge alone"}) {
    __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }
"""
STATUS = """
query ($id: String!) {
  partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill { status } }
}
"""


LAUNCH = """
mutation ($params: ExecutionParams!) { launchRun(executionParams: $params) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }
"""


class Server:
    """``dagster dev`` on a free loopback port, in a session of its own.

    Args:
        installation: Whose settings and Dagster home it uses.
        paths: Put before the module path.
        log: Takes what the server says.
    """

    def __init__(self, installation, paths, log):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        inherited = filter(None, [os.environ.get("PYTHONPATH")])
        environment = {
            **os.environ,
            **installation.environment(),
            "PYTHONPATH": os.pathsep.join([*map(str, paths), *inherited]),
        }
        command = [
            str(Path(sys.executable).with_name("dagster")),
            "dev",
            "-w",
            str(ROOT / "workspace.yaml"),
        ]
        self._log = log.open("wb")
        self._process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(self.port)],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment,
            cwd=installation.root,
            # Else a parent that ignores interrupts hands that down, and the server cannot be
            # stopped.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 - no threads
        )

    def ask(self, query, **variables):
        """Return the data of a GraphQL answer."""
        answer = requests.post(
            f"http://127.0.0.1:{self.port}/graphql",
            json={"query": query, "variables": variables},
            timeout=60,
        )
        assert "errors" not in answer.json(), answer.json()["errors"]
        return answer.json()["data"]

    def post(self, path, **fields):
        """Post to the server's REST endpoints, without credentials as it asks for none."""
        return requests.post(f"http://127.0.0.1:{self.port}{path}", json=fields, timeout=60)

    def groups(self):
        """Return asset keys by group."""
        found = {}
        for node in self.ask(GROUPS)["assetNodes"]:
            found.setdefault(node["groupName"], set()).add("/".join(node["assetKey"]["path"]))
        return found

    def backfill_ended(self, backfill):
        """Return how a backfill ended, or nothing while it goes on."""
        status = self.ask(STATUS, id=backfill)["partitionBackfillOrError"]["status"]
        return "" if status in {"REQUESTED", "COMPLETING"} else status

    def is_up(self):
        """Whether it answers with the graph loaded."""
        assert self._process.poll() is None, "the server ended by itself"
        try:
            return "intake" in self.groups()
        except requests.RequestException:
            return False

    def stop(self):
        """Interrupt the server, and return the processes of its session that are still there."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_S)
            wait_for(lambda: not self._members(), STOP_S)
            return self._members()
        finally:
            for pid in self._members():
                os.kill(pid, signal.SIGKILL)
            self._log.close()

    def _members(self):
        found = subprocess.run(
            ["ps", "-o", "pid=,stat=", "-s", str(self._process.pid)],
            capture_output=True,
            text=True,
            check=False,
        )
        rows = (line.split() for line in found.stdout.splitlines())
        return [int(pid) for pid, state in rows if not state.startswith("Z")]


def wait_for(holds, limit_s):
    """Ask twice a second until it holds or the time is over."""
    end = time.monotonic() + limit_s
    while not (found := holds()) and time.monotonic() < end:
        time.sleep(0.5)
    return found


@pytest.fixture
def plugin(tmp_path):
    """The template, copied and renamed as its README says."""
    pytest.importorskip(
        "hatchling", reason="installing without a network needs the build backend installed"
    )
    folder = tmp_path / "badge"
    shutil.copytree(
        ROOT / "plugins" / "template", folder, ignore=shutil.ignore_patterns("__pycache__")
    )
    (folder / "deid_template").rename(folder / "deid_badge")
    for path in [*folder.glob("*.toml"), *folder.glob("deid_badge/*.py")]:
        path.write_text(path.read_text().replace("template", "badge"))
    return folder


def install(plugin, target):
    """Install the plugin into a folder of its own, with nothing from a network."""
    options = [
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--disable-pip-version-check",
    ]
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        *options,
        "--target",
        str(target),
        str(plugin),
    ]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def batches(installation, note_records):
    """Three batches with raw notes, gold and the ensemble's spans, in an instance on disk."""
    installation.configure(installation.default_settings)
    with dg.DagsterInstance.from_config(str(write_instance(installation.dagster_home))) as instance:
        installation.instance = instance
        made = []
        for number in range(3):
            made.append(installation.receive(note_records(20 * number)))
            result = installation.run(
                made[-1], "raw_notes", "gold_annotations", "spans_stencil", "merged_spans"
            )
            assert installation.failures(result) == {}
        yield made


def newest(instance, keys):
    """The storage id of each asset's latest materialization, by partition."""
    return {
        key: {
            record.partition_key: record.storage_id
            for record in reversed(
                instance.fetch_materializations(dg.AssetKey(key), limit=100).records
            )
        }
        for key in keys
    }


def test_a_new_detector_is_seen_after_a_reload_and_backfilled_alone(
    installation, batches, plugin, detector_site, tmp_path
):
    late = tmp_path / "late"
    late.mkdir()
    server = Server(installation, [detector_site, late], tmp_path / "server.log")
    try:
        assert wait_for(server.is_up, START_S)
        groups = server.groups()
        assert "detector_badge" not in groups
        before = newest(installation.instance, set().union(*groups.values()))

        install(plugin, late)
        reloaded = server.ask(RELOAD, location=LOCATION)["reloadRepositoryLocation"]
        assert reloaded["locationOrLoadError"]["__typename"] == "RepositoryLocation"
        assert server.groups()["detector_badge"] == {"spans_badge"}

        assert wait_for(lambda: offered(installation, "0 of 3 batches"), START_S)

        asked_for = server.ask(BACKFILL, batches=batches[:1])["launchPartitionBackfill"]
        assert asked_for["__typename"] == "LaunchBackfillSuccess", asked_for
        assert (
            wait_for(lambda: server.backfill_ended(asked_for["backfillId"]), BACKFILL_S)
            == "COMPLETED_SUCCESS"
        )
        assert wait_for(lambda: offered(installation, "1 of 3 batches"), START_S)

        installation.configure(installation.default_settings.replace("[gates]", LAUNCHING))
        server.ask(RELOAD, location=LOCATION)
        (backfill,) = wait_for(lambda: launched_by_the_sensor(installation), START_S)
        assert (
            wait_for(lambda: server.backfill_ended(backfill.backfill_id), BACKFILL_S)
            == "COMPLETED_SUCCESS"
        )
        assert {key.to_user_string() for key in backfill.asset_selection} == {"spans_badge"}
        assert newest(installation.instance, ["spans_badge"])["spans_badge"].keys() == set(batches)
        assert newest(installation.instance, before) == before
        assert installation.opened().files.batches("spans_badge") == sorted(batches)

        card = "scorecard_badge"
        assert launched(server, installation, job="nightly_scorecards", asset=card)[0] is SUCCESS
        assert judged(installation) == {"gold_covered": True, "promoted": False}
        assert wait_for(lambda: len(launched_by_the_sensor(installation)) == 1, STOP_S)
        forged_checks_release_nothing(server, installation, batches[0])
        changed_settings_wait_for_a_reload(server, installation, batches[0])
    finally:
        left = server.stop()
    assert left == []


def offered(installation, progress):
    """Whether the newest thing that was told of the detector is how far it is."""
    records = installation.instance.fetch_observations(dg.AssetKey("spans_badge"), limit=1).records
    told = records[0].asset_observation.metadata if records else {}
    return bool(told) and told["history"].value == progress and "what_to_do" in told


def launched_by_the_sensor(installation):
    """The backfills that nobody asked for."""
    found = installation.instance.get_backfills()
    return [one for one in found if one.tags.get("deid/history") == "badge"]


def judged(installation):
    """The checks of the detector's score card, and whether each passed."""
    keys = [dg.AssetCheckKey(dg.AssetKey("scorecard_badge"), name) for name in SCORECARD]
    found = installation.instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
    return {key.name: row.status.value == "SUCCEEDED" for key, row in found.items()}


def forged_checks_release_nothing(server, installation, batch):
    """Report the checks of a missing step as passed over the web, and try to release."""
    for check in (
        "complete",
        "unchanged_outside",
        "survivors",
        "no_residual_hits",
        "quarantine_share",
    ):
        answer = server.post(
            "/report_asset_check/redacted_notes_tag", check_name=check, passed=True, partition=batch
        )
        assert answer.status_code == 200, answer.text
    failures = installation.failures(installation.run(batch, "released_corpus"))

    assert "ProvenanceError" in failures["released_corpus"]
    assert not (installation.home / "released").exists()


def changed_settings_wait_for_a_reload(server, installation, batch):
    """Launch a run from the server after the settings changed, and once more after a reload."""
    installation.configure(
        installation.default_settings.replace("min_gold_characters = 1", "min_gold_characters = 2")
    )
    status, told = launched(server, installation, batch)
    assert status is dg.DagsterRunStatus.FAILURE
    assert (
        "settings, policies, plugins or code changed since the code location was loaded; nothing"
        " was stored; reload the code location and launch the run again" in told
    )

    server.ask(RELOAD, location=LOCATION)
    assert launched(server, installation, batch)[0] is dg.DagsterRunStatus.SUCCESS


def launched(server, installation, batch="", *, job="detector__badge", asset="spans_badge"):
    """Launch a job as the web page does, and return how its run ended, and with which words."""
    selector = {
        "repositoryLocationName": LOCATION,
        "repositoryName": "__repository__",
        "jobName": job,
        "assetSelection": [{"path": [asset]}],
    }
    tags = [{"key": "dagster/partition", "value": batch}] if batch else []
    params = {"selector": selector, "runConfigData": {}, "executionMetadata": {"tags": tags}}
    answer = server.ask(LAUNCH, params=params)["launchRun"]
    assert answer["__typename"] == "LaunchRunSuccess", answer
    run_id = answer["run"]["runId"]
    assert wait_for(lambda: installation.instance.get_run_by_id(run_id).is_finished, BACKFILL_S)
    failures = [
        record.event_log_entry.dagster_event.step_failure_data.user_failure_data.description
        for record in installation.instance.get_records_for_run(
            run_id, of_type=dg.DagsterEventType.STEP_FAILURE
        ).records
    ]
    return installation.instance.get_run_by_id(run_id).status, " ".join(failures)
