"""Dagster's instance in the database that ``deid init --postgresql`` names."""

from importlib.util import find_spec

import dagster as dg
import pytest

from deid_assets.core.errors import ConfigError
from deid_assets.defs.instance import open_instance
from deid_assets.operation.environment import read_environment
from deid_assets.operation.folder import write_folder

pytestmark = [
    pytest.mark.long,
    pytest.mark.postgres,
    pytest.mark.skipif(not find_spec("dagster_postgres"), reason="needs dagster-postgres"),
]


@dg.op
def nothing():
    pass


@dg.job
def idle():
    nothing()


def test_a_run_is_kept_there_and_a_server_that_is_gone_is_named(
    postgres_server, tmp_path, monkeypatch
):
    write_folder(tmp_path / "house", database_url=postgres_server)
    written = read_environment(tmp_path / "house" / ".env")
    for name, value in written.items():
        monkeypatch.setenv(name, value)  # the port stands beside the URL
    home = tmp_path / "house" / "dagster"

    with open_instance(home) as instance:
        assert idle.execute_in_process(instance=instance).success
        assert [run.status for run in instance.get_runs()] == [dg.DagsterRunStatus.SUCCESS]
    assert not list(home.rglob("*.db"))

    gone = written["DEID_DATABASE_URL"].replace("postgres?", "gone?")
    monkeypatch.setenv("DEID_DATABASE_URL", gone)
    with pytest.raises(ConfigError, match="does not answer"), open_instance(home):
        pass
