"""Whoever reaches the web server writes the configuration of a run.

Nothing in it changes what the run does.
"""

import asyncio

import dagster as dg
import pytest
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget
from dagster_graphql.schema import create_schema

pytestmark = pytest.mark.long

LOCATION = """
import sys

sys.path.insert(0, {site!r})  # Dagster takes away what a test put there
from deid_assets import plugins
from deid_assets.config import Settings
from deid_assets.defs.build import definitions_of_settings

found = plugins.available()
chosen = dict(stencil=found["stencil"], shade=found["shade"])
defs = definitions_of_settings(Settings.load(), plugins=chosen)
"""
LAUNCH = """
mutation ($params: ExecutionParams!) {
  launchRun(executionParams: $params) {
    __typename
    ... on RunConfigValidationInvalid { errors { reason message } }
    ... on PythonError { message }
  }
}
"""
NO_GATES = """\
ensemble = ["stencil"]
recipes = []
policies = ["keep_nothing", "tag"]
release_policy = "tag"
detectors.stencil.skip = "NAME"
[gates]
quarantined = 1
residual = 1
[gates.recall]
ALL = 0
[gates.recall_lower_bound]
ALL = 0
"""
QUIET = {"console": {"config": {"log_level": "CRITICAL"}}}


@pytest.fixture
def attack(installation):
    """Settings of the caller's.

    A vault with a key that the caller holds, nothing found and no gate.
    """
    path = installation.root / "evil.toml"
    (installation.root / "evil.key").write_text("ee" * 32)
    (installation.root / "evil.key").chmod(0o600)
    vault = (
        f'[vault]\nurl = "sqlite:///{installation.root}/evil.db"\nkey_file ='
        f' "{installation.root}/evil.key"\n'
    )
    path.write_text(NO_GATES + vault)
    return {
        "config_file": str(path),
        "settings": str(path),
        "url": f"sqlite:///{installation.root}/evil.db",
    }


def configurations(attack):
    """Every way to hand the attack to a run."""
    for resource in ("installation", "vault", "io_manager"):
        for name, value in attack.items():
            yield {"resources": {resource: {"config": {name: value}}}}
        yield {"resources": {resource: {"config": {"config_file": {"env": "DEID_CONFIG"}}}}}
    yield {"ops": {"raw_notes": {"config": attack}}}
    yield {"ops": {"released_corpus": {"inputs": {"raw_notes": {"value": "x"}}}}}


def fields_of(shape):
    """Return the paths of a configuration's schema that take a value."""
    found = []
    for name, field in getattr(shape, "fields", {}).items():
        inner = fields_of(field.config_type)
        found += [f"{name}.{path}" for path in inner] or (
            [] if hasattr(field.config_type, "fields") else [name]
        )
    return found


def test_the_configuration_of_a_run_reaches_nothing_but_its_log(installation):
    definitions = installation.definitions()
    jobs = [definitions.resolve_job_def(job.name) for job in definitions.jobs]
    taken = {path for job in jobs for path in fields_of(job.run_config_schema.config_type)}

    assert len(jobs) == 12
    assert {path.split(".")[0] for path in taken} <= {"loggers", "execution"}


def test_no_configuration_opens_another_installation(installation, attack, note_records):
    batch = installation.receive(note_records())
    installation.instance.add_dynamic_partitions("batches", [batch])
    job = installation.definitions().resolve_job_def("main_job")
    tried = list(configurations(attack))

    for config in tried:
        with pytest.raises(dg.DagsterInvalidConfigError):
            job.execute_in_process(
                partition_key=batch,
                instance=installation.instance,
                run_config={**config, "loggers": QUIET},
            )

    assert len(tried) == 14
    assert installation.instance.get_runs() == []
    assert not (installation.root / "evil.db").exists()
    assert not installation.store.joinpath("restricted", "raw_notes").exists()


def test_graphql_refuses_it_before_there_is_a_run(
    installation, attack, note_records, detector_site
):
    batch = installation.receive(note_records())
    installation.dagster_home.mkdir()
    location = installation.root / "location.py"
    location.write_text(LOCATION.format(site=str(detector_site)))
    origin = LoadableTargetOrigin(python_file=str(location), attribute="defs", executable_path=None)
    target = InProcessWorkspaceLoadTarget(InProcessCodeLocationOrigin(origin, location_name="here"))
    selector = {
        "repositoryLocationName": "here",
        "repositoryName": "__repository__",
        "jobName": "main_job",
    }

    with (
        dg.DagsterInstance.local_temp(str(installation.dagster_home)) as instance,
        WorkspaceProcessContext(instance, target) as process,
    ):
        instance.add_dynamic_partitions("batches", [batch])
        for config in configurations(attack):
            params = {
                "selector": selector,
                "runConfigData": config,
                "executionMetadata": {"tags": [{"key": "dagster/partition", "value": batch}]},
            }
            answer = asyncio.run(
                create_schema().execute_async(
                    LAUNCH,
                    variables={"params": params},
                    context_value=process.create_request_context(),
                )
            )
            assert not answer.errors
            assert answer.data["launchRun"]["__typename"] == "RunConfigValidationInvalid", (
                answer.data
            )
        assert instance.get_runs() == []


def test_settings_that_change_after_the_location_was_loaded_change_nothing(
    installation, attack, note_records
):
    batch = installation.receive(note_records())
    definitions = installation.definitions()
    installation.configure((installation.root / "evil.toml").read_text())
    installation.instance.add_dynamic_partitions("batches", [batch])

    result = definitions.resolve_job_def("main_job").execute_in_process(
        partition_key=batch,
        instance=installation.instance,
        run_config={"loggers": QUIET},
        raise_on_error=False,
    )

    assert installation.failures(result) == {}
    assert not (installation.root / "evil.db").exists()
    released = (installation.home / "released" / batch / "notes.jsonl").read_text()
    assert "Zed" not in released
