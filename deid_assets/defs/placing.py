"""Where an installation's graph stands in a code location: what its assets, jobs and resources are
called there, and what runs around each step.

Alone in a location it keeps its plain names. Under a prefix it shares one with other installations
and with assets of somebody else, and every name that Dagster wants to be unique has the prefix.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import dagster as dg

from deid_assets.core.assets import OF_A_RELEASE, STUDY, Family, ReleaseAssets, study_part
from deid_assets.core.errors import ConfigError
from deid_assets.defs.partitions import batches

LANDING = "landing"
"""The one dependency that is no asset of ours, and so has no receipt."""

SEPARATOR = "__"
"""Between the parts of a name; no part of a prefix holds it, so no two prefixes make one name."""

_PART = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")

Events = Iterator[Any]
"""What a step tells Dagster: materializations and results of checks."""

Execute = Callable[[dg.AssetExecutionContext, Events], Events]
"""Runs a step: the work begins when the first event is taken."""


def events_alone(_context: dg.AssetExecutionContext, events: Events) -> Events:
    """Run a step, and nothing around it."""
    return events


@dataclass(frozen=True, slots=True)
class Place:
    """Place of an installation in a code location.

    Args:
        prefix: Parts before the name of each asset; none where the location is its own.
        landing: Asset that stands for what arrives.
        execute: Runs each step.
    """

    prefix: tuple[str, ...] = ()
    landing: str = LANDING
    execute: Execute = events_alone

    def key(self, asset: str) -> dg.AssetKey:
        """Return the key of one of the installation's assets."""
        study, part = study_part(asset)
        if study:
            return dg.AssetKey([*self.prefix, STUDY, study, part])
        return dg.AssetKey([*self.prefix, self.landing if asset == LANDING else asset])

    def name(self, name: str) -> str:
        """Return the name of a group, job, sensor, schedule, resource or partition set."""
        return SEPARATOR.join([*self.prefix, name])

    @property
    def batches(self) -> dg.DynamicPartitionsDefinition:
        """The partitions: Dagster keeps those of one name for all code locations."""
        if not self.prefix:
            return batches
        return dg.DynamicPartitionsDefinition(name=self.name("batches"))

    @property
    def is_shared(self) -> bool:
        """Whether others have assets in the location."""
        return bool(self.prefix)

    @property
    def executor(self) -> dg.ExecutorDefinition | None:
        """Executor of the jobs; that of the location where it is the installation's own."""
        return dg.in_process_executor if self.is_shared else None


def name_in(key: dg.AssetKey) -> str:
    """Return the name under which the store has an asset."""
    *before, part = key.path
    is_of_study = part in OF_A_RELEASE or Family.RELEASED_TABLE.name_in(part)
    if is_of_study and before[-2:-1] == [STUDY]:
        return ReleaseAssets(before[-1]).of(part)
    return part


_PLACE: ContextVar[Place] = ContextVar("place")


def place() -> Place:
    """Return the place of the graph that is being built."""
    return _PLACE.get(Place())


@contextmanager
def place_definitions(there: Place) -> Iterator[None]:
    """Have every asset and job that is defined inside stand there."""
    token = _PLACE.set(there)
    try:
        yield
    finally:
        _PLACE.reset(token)


def check_prefix(prefix: Sequence[str] | str) -> tuple[str, ...]:
    """Return a prefix as its parts.

    Raises:
        ConfigError: A part would make names that Dagster refuses, or the names of another prefix.
    """
    parts = (prefix,) if isinstance(prefix, str) else tuple(prefix)
    for part in parts:
        if part == STUDY:
            raise ConfigError(
                f"key_prefix: {STUDY!r} begins the assets of studies; take another part"
            )
        if not isinstance(part, str) or not _PART.fullmatch(part):
            raise ConfigError(
                f"key_prefix: {part!r} cannot begin a name; take letters, digits and single"
                " underscores, with a letter first, such as [clinic_a, deid]"
            )
    return parts
