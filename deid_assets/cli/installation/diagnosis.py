"""``deid doctor``: what works here, what does not, and what to do about it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from rich.text import Text

from deid_assets import plugins
from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption
from deid_assets.cli.endings import guard_command
from deid_assets.cli.tables import print_json, print_table
from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError, DeidError, class_name
from deid_assets.formats.catalogue import OUTSIDE, load_installed
from deid_assets.operation.access import is_open
from deid_assets.operation.databases import database_findings
from deid_assets.operation.environment import FILE, enter_folder, environment_faults
from deid_assets.operation.findings import Condition, Finding, exit_code
from deid_assets.operation.machine import (
    clock_findings,
    memory_findings,
    package_findings,
    python_findings,
    room_findings,
)
from deid_assets.operation.models import model_findings
from deid_assets.operation.preflight import safety_looks
from deid_assets.own_plugins import command

OPTIONAL = {
    "psycopg": "postgresql",
}
_DRIVER_S = 20.0
"""Time that a driver's tool has to answer."""
_COLOURS = {
    Condition.OK: "green",
    Condition.MISSING: "yellow",
    Condition.DOUBTFUL: "yellow",
    Condition.BROKEN: "red",
    Condition.UNSAFE: "bold red",
}


@app.command()
@guard_command
def doctor(*, as_json: JsonOption = False) -> int:
    """Say what is installed and what is missing.

    With what is unsafe of the installation in this folder, and what to do about it. No notes are
    read while something is unsafe.
    """
    findings = diagnose()
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        rows = [
            (found.what, Text(found.state, _COLOURS[found.state]), found.detail)
            for found in findings
        ]
        print_table(("what", "state", "detail"), rows)
    return exit_code(findings)


def diagnose() -> list[Finding]:
    """Look at Python, packages, detectors, formats, models, the machine and the installation.

    Detectors are loaded, and a database is asked its time.
    """
    looks: dict[str, Callable[[], Iterable[Finding]]] = {
        "python": python_findings,
        "packages": package_findings,
        "optional packages": _optional_packages,
        "detectors": _detectors,
        "formats": _formats,
        "memory": memory_findings,
        "accelerator": _accelerator,
        "environment": _of_folder,
        "installation": _of_installation,
    }
    return [found for what, look in looks.items() for found in _look(what, look)]


def _look(
    what: str, look: Callable[[], Iterable[Finding]], failed: Condition = Condition.BROKEN
) -> Iterator[Finding]:
    """Yield what a look finds; one that fails is a finding itself, and hides no other.

    Args:
        what: Its name.
        look: Makes the findings.
        failed: State of the finding where it fails.
    """
    try:
        yield from look()
    except DeidError as error:
        yield Finding(what, failed, str(error))
    except Exception as error:  # noqa: BLE001 - whatever it is, the other findings are told
        yield Finding(what, failed, f"{class_name(error)}: this could not be looked at")


def _of_folder() -> Iterator[Finding]:
    """Yield why the environment of the working directory was not taken over; no other command runs
    there until then.
    """
    try:
        enter_folder()
    except ConfigError as error:
        state = Condition.UNSAFE if is_open(Path(FILE)) else Condition.BROKEN
        yield Finding("environment", state, str(error))


def _of_installation() -> Iterator[Finding]:
    """Yield what there is to say of the settings and of the installation that they name."""
    try:
        settings = Settings.load()
    except DeidError as error:
        yield Finding("settings", Condition.BROKEN, str(error))
        return
    looks: dict[str, Callable[[Settings], Iterable[Finding]]] = {
        "settings": _settings,
        "key": _key,
        "room": room_findings,
        "clock": clock_findings,
        "environment": _environment,
        "database": database_findings,
        "models": model_findings,
    }
    for what, safe in safety_looks(settings).items():
        yield from _look(what, safe, failed=Condition.UNSAFE)
    for what, look in looks.items():
        yield from _look(what, partial(look, settings))


def _environment(settings: Settings) -> Iterator[Finding]:
    path = settings.home / FILE
    if not path.is_file():
        return
    try:
        for fault in environment_faults(path):
            yield Finding("environment", Condition.DOUBTFUL, fault)
    except ConfigError as error:
        yield Finding("environment", Condition.BROKEN, str(error))


def _optional_packages() -> Iterator[Finding]:
    return (_optional(name, plugin) for name, plugin in OPTIONAL.items())


def _optional(name: str, plugin: str) -> Finding:
    return (
        Finding(name, Condition.OK, "installed")
        if find_spec(name)
        else Finding(name, Condition.MISSING, f"for {plugin}: {command(plugin)}")
    )


def _detectors() -> list[Finding]:
    found = []
    for name, plugin in plugins.available().items():
        try:
            if plugin.needs_model:
                plugins.check_importable(plugin)
                found.append(
                    Finding(
                        f"detector {name}",
                        Condition.OK,
                        f"{plugin.version}; named with a model, {name}=MODEL",
                    )
                )
                continue
            plugins.load(name)
            found.append(Finding(f"detector {name}", Condition.OK, plugin.version))
        except DeidError as error:
            found.append(Finding(f"detector {name}", Condition.BROKEN, str(error)))
    fault = f"no detector is installed: {command('rules')}"
    return found or [Finding("detectors", Condition.BROKEN, fault)]


def _formats() -> list[Finding]:
    """Return the plugins of formats that cannot be used; one that is not installed is no fault."""
    absent = {known.fault for known in OUTSIDE.values()}
    return [
        Finding(f"format {name}", Condition.MISSING if fault in absent else Condition.BROKEN, fault)
        for name, fault in load_installed().faults.items()
    ]


def _settings(settings: Settings) -> Iterator[Finding]:
    recipes = {Path(recipe).stem for recipe in settings.recipes}
    if absent := sorted(set(settings.ensemble) - plugins.available().keys() - recipes):
        yield Finding(
            "settings",
            Condition.BROKEN,
            f"ensemble names {', '.join(absent)}, which is not installed",
        )
        return
    yield Finding(
        "settings",
        Condition.OK,
        f"ensemble {', '.join(settings.ensemble)}; releases {settings.release_policy}",
    )


def _key(settings: Settings) -> Iterator[Finding]:
    is_kept = (settings.home / "secret.key").exists()
    if os.environ.get("DEID_KEY") and is_kept:
        yield Finding(
            "key",
            Condition.DOUBTFUL,
            f"DEID_KEY holds, and {settings.home / 'secret.key'} is another; move that away, so"
            " that nobody works under it",
        )
    elif os.environ.get("DEID_KEY") or is_kept:
        yield Finding("key", Condition.OK, "from secret.key" if is_kept else "from DEID_KEY")
    else:
        yield Finding(
            "key",
            Condition.MISSING,
            "the graph makes one in its home; `deid redact` with surrogates needs DEID_KEY",
        )


def _accelerator() -> Iterator[Finding]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        yield Finding("accelerator", Condition.MISSING, "none found; everything runs on the CPU")
        return
    try:
        gpus = _count_gpus(tool)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        fault = f"{tool} does not run ({class_name(error)}); see to the driver"
        yield Finding("accelerator", Condition.DOUBTFUL, fault)
        return
    if gpus:
        yield Finding("accelerator", Condition.OK, f"{gpus} GPU")
    else:
        yield Finding("accelerator", Condition.MISSING, "no GPU answers")


def _count_gpus(tool: str) -> int:
    """Return how many GPUs a driver's tool lists.

    Raises:
        OSError: It cannot be started.
        SubprocessError: It hangs.
        ValueError: What it writes is no text.
    """
    # A session of its own: what a wrapper started ends with it, else its pipe is waited for.
    with subprocess.Popen(  # noqa: S603 - found on the path
        [tool, "-L"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as listing:
        try:
            listed, _ = listing.communicate(timeout=_DRIVER_S)
        except subprocess.TimeoutExpired:
            os.killpg(listing.pid, signal.SIGKILL)
            raise
    return listed.count("GPU ")
