"""A Dagster instance that keeps no text.

Its settings, the check that they hold, and how it is opened.
"""

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import dagster as dg
from alembic.util import CommandError
from sqlalchemy.exc import SQLAlchemyError

from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError
from deid_assets.operation.dagster_yaml import FILE, dagster_findings, dagster_yaml, is_on_postgres
from deid_assets.operation.environment import ENVIRONMENT
from deid_assets.operation.findings import Condition
from deid_assets.runtime.settings_record import check_settings
from deid_assets.store.atomic import lock_folder
from deid_assets.system.atomic import atomic_file
from deid_assets.system.silence import protect_memory


def write_instance(home: Path) -> Path:
    """Write ``dagster.yaml`` into the Dagster home unless there is one, and return the home.

    Raises:
        ConfigError: There is one that lets compute logs or telemetry be written.
    """
    home.mkdir(parents=True, exist_ok=True)
    path = home / FILE
    if not path.exists():
        with atomic_file(path) as file:  # one that is half written would be refused for good
            file.write(dagster_yaml().encode())
    for finding in dagster_findings(home):
        if finding.state is Condition.UNSAFE:
            raise ConfigError(finding.detail)
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
    with lock_folder(home):
        instance = _open(home)
    with instance:
        yield instance


def _open(home: Path) -> dg.DagsterInstance:
    if is_on_postgres(home) and find_spec("dagster_postgres") is None:
        raise ConfigError(
            f"{home / FILE}: Dagster on PostgreSQL needs dagster-postgres; run pip install"
            " dagster-postgres 'psycopg[binary]'"
        )
    try:
        instance = dg.DagsterInstance.from_config(str(home))
        # Each makes its database when it is first asked for.
        instance.run_storage.get_runs_count()
        instance.event_log_storage.get_dynamic_partitions("none")
        instance.all_instigator_state()
    except _errors_of_databases() as error:
        if is_on_postgres(home):
            raise ConfigError(
                f"{home}: Dagster's database does not answer ({type(error).__name__}); see that the"
                " server of DEID_DATABASE_URL runs and takes this user; `deid doctor` asks it"
            ) from None
        is_folder = any(path.is_dir() for path in home.rglob("*.db"))
        if not is_folder and any(reason in str(error) for reason in _PASSING):
            raise
        raise ConfigError(
            f"{home}: a database of the Dagster home is damaged ({type(error).__name__}); move the"
            " folder away and run again: the history of runs is lost with it, batches, reports and"
            " releases are not"
        ) from None
    return instance


def _errors_of_databases() -> tuple[type[Exception], ...]:
    """Return what Dagster raises where a database cannot be used, PostgreSQL among them."""
    known = (CommandError, SQLAlchemyError, dg.DagsterError)
    if find_spec("dagster_postgres") is None:
        return known
    return (*known, import_module("dagster_postgres.utils").DagsterPostgresException)


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
