"""A Dagster instance that keeps no text.

Its settings, the check that they hold, and how it is opened.
"""

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
from alembic.util import CommandError
from sqlalchemy.exc import SQLAlchemyError

from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError
from deid_assets.runtime.settings_record import check_settings
from deid_assets.store.atomic import locked
from deid_assets.system.silence import protect_memory

DAGSTER_YAML = """\
# Written by deid-assets. Notes must not reach this folder: no compute logs, no telemetry, errors
# by class only.
telemetry:
  enabled: false
nux:
  enabled: false
compute_logs:
  module: dagster._core.storage.noop_compute_log_manager
  class: NoOpComputeLogManager
run_retries:
  enabled: true
  max_retries: 1
  # A failed audit is an answer, not an accident.
  retry_on_asset_or_op_failure: false
# Notes who launched a run, where the settings declare a proxy that knows (approvals.login_header).
run_coordinator:
  module: deid_assets.defs.coordinator
  class: LoginRunCoordinator
concurrency:
  runs:
    max_concurrent_runs: 2
  pools:
    default_limit: 1
retention:
  schedule:
    purge_after_days: 30
  sensor:
    purge_after_days:
      skipped: 2
      failure: 30
      success: 30
code_servers:
  local_startup_timeout: 120
"""

ENVIRONMENT = {
    "DAGSTER_DISABLE_TELEMETRY": "1",
    "DAGSTER_REDACT_USER_CODE_ERRORS": "1",
    "GX_ANALYTICS_ENABLED": "false",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}
"""Environment variables that must be set wherever the graph runs.

``make`` and the code location set it.
"""


def write_instance(home: Path) -> Path:
    """Write ``dagster.yaml`` into the Dagster home unless there is one, and return the home.

    Raises:
        ConfigError: There is one that lets compute logs or telemetry be written.
    """
    home.mkdir(parents=True, exist_ok=True)
    path = home / "dagster.yaml"
    if not path.exists():
        path.write_text(DAGSTER_YAML)
    if not _keeps_no_text(path):
        raise ConfigError(
            f"{path}: compute logs or telemetry are on, and what a library prints could hold text;"
            " take over compute_logs and telemetry from one written by `python -m"
            " deid_assets.defs.instance FOLDER`"
        )
    return home


_PASSING = ("locked", "is full", "readonly", "unable to open", "disk I/O")
"""Words of SQLite where the database itself is as it should be."""


@contextmanager
def open_instance(home: Path) -> Iterator[dg.DagsterInstance]:
    """Open the instance of a Dagster home, which is made where there is none.

    Its databases are made under a lock: two processes that make them at once leave them unusable
    for good.

    Raises:
        ConfigError: The home lets text be written, or its databases cannot be used.
    """
    write_instance(home)
    with locked(home):
        instance = _opened(home)
    with instance:
        yield instance


def _opened(home: Path) -> dg.DagsterInstance:
    try:
        instance = dg.DagsterInstance.from_config(str(home))
        # Each makes its database when it is first asked for.
        instance.run_storage.get_runs_count()
        instance.event_log_storage.get_dynamic_partitions("none")
        instance.all_instigator_state()
    except (CommandError, SQLAlchemyError, dg.DagsterError) as error:
        is_folder = any(path.is_dir() for path in home.rglob("*.db"))
        if not is_folder and any(reason in str(error) for reason in _PASSING):
            raise
        raise ConfigError(
            f"{home}: a database of the Dagster home is damaged ({type(error).__name__}); move the"
            " folder away and run again: the history of runs is lost with it, batches, reports and"
            " releases are not"
        ) from None
    return instance


def _keeps_no_text(path: Path) -> bool:
    import yaml  # type: ignore[import-untyped]  # noqa: PLC0415 - comes with dagster

    try:
        settings = yaml.safe_load(path.read_text())
        telemetry, logs = settings["telemetry"]["enabled"], settings["compute_logs"]["class"]
    except (yaml.YAMLError, KeyError, TypeError):
        return False
    return telemetry is False and logs == "NoOpComputeLogManager"


def harden_process() -> None:
    """Set the environment, the loggers and the limits of this process so that errors and libraries
    tell no text.

    With ``DAGSTER_REDACT_USER_CODE_ERRORS`` Dagster keeps an error's message from its event log and
    sends the whole of it to the logger ``dagster.redacted_errors`` instead, which is silenced here.
    """
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    protect_memory()
    redacted = logging.getLogger(
        os.environ.get("DAGSTER_REDACTED_ERROR_LOGGER_NAME", "dagster.redacted_errors")
    )
    redacted.handlers = [logging.NullHandler()]
    redacted.propagate = False
    # Partitioned checks are a preview in Dagster 1.13; tests/defs/test_dagster_behaviour.py pins
    # what we rely on.
    for kind in (dg.PreviewWarning, dg.BetaWarning):
        warnings.filterwarnings("ignore", category=kind)


if __name__ == "__main__":
    try:
        check_settings(Settings.load())
        with open_instance(Path(sys.argv[1])):
            pass
    except ConfigError as error:
        raise SystemExit(f"ConfigError: {error}") from None
