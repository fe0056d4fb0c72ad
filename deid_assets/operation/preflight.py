"""The check before notes are read: nothing starts while something is unsafe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError
from deid_assets.operation.access import access_findings, server_findings
from deid_assets.operation.dagster_yaml import dagster_findings
from deid_assets.operation.findings import Condition, Finding


def safety_looks(settings: Settings) -> Mapping[str, Callable[[], Iterable[Finding]]]:
    """Return each look at what may be unsafe by its name, so that one that fails hides no other."""
    return {
        "access": partial(access_findings, settings),
        "dagster": partial(dagster_findings, settings.dagster_home),
        "server": partial(server_findings, settings),
    }


def safety_findings(settings: Settings) -> Iterator[Finding]:
    """Yield what may be unsafe: who may read what, what Dagster keeps, who reaches its server.

    It takes milliseconds, and opens no database.
    """
    for look in safety_looks(settings).values():
        yield from look()


def check_safety(settings: Settings) -> None:
    """Check that no note can reach somebody by how the installation is set up.

    Raises:
        ConfigError: It can, with a line for each way and its remedy.
    """
    faults = [one.detail for one in safety_findings(settings) if one.state is Condition.UNSAFE]
    if faults:
        raise ConfigError("\n".join([*faults, "no notes are read until then; see `deid doctor`"]))
