"""The settings of the Dagster instance, ``dagster.yaml``: what is written, and what is unsafe."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from deid_assets.operation.findings import Condition, Finding

FILE = "dagster.yaml"
_HEAD = """\
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
  # A failed audit is an answer, not an accident: only a process that died is started again.
  retry_on_asset_or_op_failure: false
# Says of a run that does not begin, or does not end when it is told to, that it failed.
run_monitoring:
  enabled: true
  start_timeout_seconds: 300
  cancel_timeout_seconds: 300
  # Of a run that was killed, its slots in pools.
  free_slots_after_run_end_seconds: 60
# Notes who launched a run, where the settings declare a proxy that knows (approvals.login_header).
run_coordinator:
  module: deid_assets.defs.coordinator
  class: LoginRunCoordinator
concurrency:
  runs:
    max_concurrent_runs: 2
    # Of the runs that fill a detector's history one at once, beside new batches.
    tag_concurrency_limits:
      - key: deid/pool
        value: history
        limit: 1
  # Of the steps of one pool, such as those that need a GPU, one at once over all runs; another
  # number: dagster instance concurrency set gpu 2
  pools:
    granularity: op
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
_POSTGRES = """\
# The database that the text-free store has too. The URL holds a password and stands in .env alone.
storage:
  postgres:
    postgres_url:
      env: DEID_DATABASE_URL
"""
_TAKE_OVER = "take over compute_logs and telemetry from the one that `deid init` writes"
_LOGS = "compute logs or telemetry are on, and what a library prints could hold text; " + _TAKE_OVER
_HANDLERS = (
    "python_logs hands what libraries log to the event log, which could hold text; take it out"
)
_OPEN_RAY = (
    "whoever reaches a port of Ray runs programs where the notes and the key are; set"
    " RAY_AUTH_MODE=token and RAY_AUTH_TOKEN in .env, and start Ray and Dagster from it"
)
_TOLD_RAY = (
    "Ray shows env_vars and runtime_env of run_launcher with each job, and they could hold a"
    " secret; take them out, and start Ray from .env"
)
_RETRIES = (
    "a run that a check stopped is started again, to fail again; set"
    " run_retries.retry_on_asset_or_op_failure: false"
)
_MONITORING = "a run that never begins waits for ever; set run_monitoring.enabled: true"
_TICKS = (
    "ticks of sensors are kept for ever; take over retention from the one that `deid init` writes"
)


def dagster_yaml(*, is_postgres: bool = False) -> str:
    """Return the settings of an instance that keeps no text.

    Args:
        is_postgres: Whether it lies in the PostgreSQL database of ``DEID_DATABASE_URL``, and not in
            SQLite files beside the settings.
    """
    return _HEAD + (_POSTGRES if is_postgres else "")


def dagster_findings(home: Path) -> Iterator[Finding]:
    """Yield what is wrong with the settings in a Dagster home, or that nothing is."""
    path = home / FILE
    if not path.exists():
        yield Finding(FILE, Condition.MISSING, f"{path}: `deid run` and `deid init` write it")
        return
    settings = _read(path)
    faults = [*_unsafe(settings), *_doubtful(settings)]
    for state, fault in faults:
        yield Finding(FILE, state, f"{path}: {fault}")
    if not faults:
        yield Finding(
            FILE, Condition.OK, "telemetry and compute logs are off, retries are for crashes"
        )


def is_on_postgres(home: Path) -> bool:
    """Whether the instance of a Dagster home lies in a PostgreSQL database."""
    settings = _read(home / FILE)
    return isinstance(settings, Mapping) and "postgres" in _inner(settings, "storage")


def _read(path: Path) -> Any:
    import yaml  # type: ignore[import-untyped]  # noqa: PLC0415 - comes with dagster

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None


def _unsafe(settings: Any) -> Iterator[tuple[Condition, str]]:
    if not isinstance(settings, Mapping):
        yield Condition.UNSAFE, f"cannot be read; {_TAKE_OVER}"
        return
    logs = _inner(settings, "compute_logs").get("class") != "NoOpComputeLogManager"
    if logs or _inner(settings, "telemetry").get("enabled") is not False:
        yield Condition.UNSAFE, _LOGS
    if _inner(settings, "python_logs"):
        yield Condition.UNSAFE, _HANDLERS
    launcher = _inner(settings, "run_launcher")
    if launcher.get("class") == "RayRunLauncher":
        yield from _unsafe_ray(_inner(_inner(launcher, "config"), "ray"))


def _unsafe_ray(ray: Mapping[str, Any]) -> Iterator[tuple[Condition, str]]:
    if os.environ.get("RAY_AUTH_MODE") != "token":
        yield Condition.UNSAFE, _OPEN_RAY
    if ray.get("env_vars") or ray.get("runtime_env"):
        yield Condition.UNSAFE, _TOLD_RAY


def _doubtful(settings: Any) -> Iterator[tuple[Condition, str]]:
    if not isinstance(settings, Mapping):
        return
    retries = _inner(settings, "run_retries")
    if retries.get("enabled") and retries.get("retry_on_asset_or_op_failure") is not False:
        yield Condition.DOUBTFUL, _RETRIES
    if _inner(settings, "run_monitoring").get("enabled") is not True:
        yield Condition.DOUBTFUL, _MONITORING
    if not _inner(settings, "retention"):
        yield Condition.DOUBTFUL, _TICKS


def _inner(settings: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = settings.get(key)
    return value if isinstance(value, Mapping) else {}
