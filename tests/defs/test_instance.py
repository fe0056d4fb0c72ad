"""The Dagster instance that keeps no text."""

import logging

import dagster as dg
import pytest

from deid_assets.core.errors import ConfigError
from deid_assets.defs.instance import ENVIRONMENT, harden_process, write_instance


def test_a_new_home_gets_settings_without_logs_and_telemetry(tmp_path):
    home = write_instance(tmp_path / "home")

    with dg.DagsterInstance.from_config(str(home)) as instance:
        assert type(instance.compute_log_manager).__name__ == "NoOpComputeLogManager"
        assert instance.telemetry_enabled is False
        assert instance.get_settings("run_retries")["retry_on_asset_or_op_failure"] is False


def test_settings_that_are_there_stay_as_they_are(tmp_path):
    own = write_instance(tmp_path) / "dagster.yaml"
    own.write_text(own.read_text() + "# ours\n")
    before = own.read_text()

    write_instance(tmp_path)

    assert own.read_text() == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("class: NoOpComputeLogManager", "class: LocalComputeLogManager # not NoOpComputeLogManager"),
        ("enabled: false", "enabled: true"),
        ("telemetry:", "sensors:"),
        ("telemetry:", "telemetry: ["),
    ],
)
def test_settings_that_would_keep_text_are_refused_with_the_remedy(tmp_path, old, new):
    path = write_instance(tmp_path) / "dagster.yaml"
    path.write_text(path.read_text().replace(old, new))

    with pytest.raises(ConfigError, match="take over compute_logs and telemetry"):
        write_instance(tmp_path)


def test_a_process_is_hardened_but_keeps_what_the_user_set(monkeypatch):
    for name in ENVIRONMENT:
        monkeypatch.setenv(name, "")  # so that it is put back afterwards
        monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")

    harden_process()

    import os

    assert os.environ["DAGSTER_REDACT_USER_CODE_ERRORS"] == "1"
    assert os.environ["HF_HUB_OFFLINE"] == "0"


def test_what_dagster_redacts_goes_nowhere_else(capfd):
    harden_process()

    logging.getLogger("dagster.redacted_errors").error("text of a note")

    assert capfd.readouterr() == ("", "")
