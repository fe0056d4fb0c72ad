"""Ray as the launcher of runs: what `deid doctor` says of it, and the settings of the page."""

from pathlib import Path

import pytest
import yaml

from deid_assets.operation.dagster_yaml import dagster_findings, dagster_yaml
from deid_assets.operation.findings import Condition

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


@pytest.fixture
def home(tmp_path):
    """A Dagster home with what the page says to set."""
    block = PAGE.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    settings = yaml.safe_load(dagster_yaml(is_postgres=True)) | yaml.safe_load(block)
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(settings))
    return tmp_path


def states(home):
    return {finding.state for finding in dagster_findings(home)}


def test_the_settings_of_the_page_are_safe_where_ray_asks_for_a_token(home, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    assert states(home) == {Condition.OK}


@pytest.mark.parametrize("mode", [None, "disabled"])
def test_a_ray_that_asks_for_no_token_is_unsafe(home, monkeypatch, mode):
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    if mode:
        monkeypatch.setenv("RAY_AUTH_MODE", mode)

    (found,) = dagster_findings(home)

    assert found.state is Condition.UNSAFE
    assert "set RAY_AUTH_MODE=token" in found.detail


@pytest.mark.parametrize(
    "told", [{"env_vars": ["DEID_KEY"]}, {"runtime_env": {"env_vars": {"DEID_KEY": "x"}}}]
)
def test_secrets_that_ray_would_show_with_its_jobs_are_unsafe(home, monkeypatch, told):
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    path = home / "dagster.yaml"
    settings = yaml.safe_load(path.read_text())
    settings["run_launcher"]["config"]["ray"] |= told
    path.write_text(yaml.safe_dump(settings))

    assert states(home) == {Condition.UNSAFE}
