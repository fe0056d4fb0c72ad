"""Checks of an installation before anything starts."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError, DeidError, did_you_mean
from deid_assets.core.redact import Policy
from deid_assets.plugins import Plugin
from deid_assets.policies import load_policy
from deid_assets.runtime.importing import add_import_faults
from deid_assets.runtime.settings_record import SettingsSource, check_settings
from deid_assets.runtime.snapshot import Snapshot
from deid_assets.runtime.studies import faults_of_loading
from deid_assets.runtime.taggers import find_installed_detectors, list_known_detectors
from deid_assets.training import Recipe, load_recipe


def check_snapshot(
    settings: Settings,
    *,
    promised: str = "",
    adopt: bool = False,
    source: SettingsSource | None = None,
    only: Collection[str] | None = None,
) -> Snapshot:
    """Return what this process executes, if the settings name nothing that is missing and the home
    can be used.

    A plugin that cannot be imported has its fault in the snapshot, and stops nothing.

    Args:
        settings: Of this process.
        promised: See ``Snapshot``.
        adopt: Whether the installation is run under these settings from now on, also where it had
            others.
        source: Where the settings come from, if from a code location.
        only: Detectors that are taken for installed; all that are where not given.

    Raises:
        ConfigError: With a line for each fault, or the installation is run under other settings.
    """
    named = source or SettingsSource(os.environ.get("DEID_CONFIG") or "settings")
    if faults := [named.show(fault) for fault in _faults(settings)]:
        raise ConfigError("\n".join(faults))
    check_settings(settings, adopt=adopt, source=source)
    found = find_installed_detectors(settings)
    taken = {name: one for name, one in found.items() if only is None or name in only}
    plugins = add_import_faults(taken, settings.home / "imports.json")
    return Snapshot.take(settings, plugins=plugins, promised=promised)


def check_ensemble(snapshot: Snapshot) -> None:
    """Check that every detector of the ensemble can be used.

    Raises:
        ConfigError: With a line for each that cannot.
    """
    faults = [
        f"ensemble: detector {name!r} cannot be used: {snapshot.detectors[name].fault}"
        for name in snapshot.settings.ensemble
        if snapshot.detectors[name].fault
    ]
    if faults:
        raise ConfigError("\n".join(faults))


def _faults(settings: Settings) -> Iterator[str]:
    yield from _find_misnamed("recipes", settings.recipes, load_recipe)
    yield from _find_misnamed("policies", settings.policies, load_policy)
    yield from _home(settings.home)
    yield from faults_of_loading(settings)
    try:
        known: Mapping[str, Plugin] = list_known_detectors(settings)
    except ConfigError:  # a recipe is wrong, which was said
        return
    for key, names in (("ensemble", settings.ensemble), ("detectors", settings.detectors)):
        for name in names:
            if name not in known:
                yield (
                    f"{key}: no detector {name!r} is installed and no recipe has this name"
                    f"{did_you_mean(name, known)}; there are {', '.join(sorted(known)) or 'none'}"
                )


def _find_misnamed(
    key: str, sources: Iterable[str], load: Callable[[str], Recipe | Policy]
) -> Iterator[str]:
    """Yield what cannot be loaded, and what has the name of another.

    Both would make the same assets.
    """
    source_of: dict[str, str] = {}
    for source in sources:
        try:
            name = load(source).name
        except DeidError as error:
            yield f"{key}: {error}"
            continue
        if source_of.get(name) == source:
            yield f"{key}: {source} stands twice; remove one"
        elif name in source_of:
            yield f"{key}: {source_of[name]} and {source} are both named {name!r}; rename one"
        source_of[name] = source


def _home(home: Path) -> Iterator[str]:
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home) as file:
            file.write(bytes(1))
    except OSError as error:
        yield (
            f"home {home}: cannot be written ({error.strerror}); set DEID_HOME to a folder of yours"
            " with room"
        )
