"""Which plugins can be imported, tried in processes of their own and remembered by their code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from deid_assets.core.errors import PluginError
from deid_assets.plugins import Plugin, available, check_importable
from deid_assets.plugins.environments import import_fault
from deid_assets.system.atomic import atomic_file

TIMEOUT_S = 120
"""The slowest plugin known takes 20 s on a busy machine."""


def add_import_faults(plugins: Mapping[str, Plugin], memory: Path) -> dict[str, Plugin]:
    """Return the plugins.

    One that cannot be imported has its ``fault``, which names the class of the error alone.

    Args:
        plugins: By entry-point name.
        memory: File that remembers which code could be imported, so that each is tried once. What
            failed is tried again, since what it lacks may have been installed. Who changes the file
            gets an error later, no more.
    """
    known = _read(memory)
    tried = [
        plugin
        for plugin in plugins.values()
        if not plugin.fault and known.get(plugin.name) != _code(plugin)
    ]
    with ThreadPoolExecutor(2) as threads:
        faults = dict(
            zip((plugin.name for plugin in tried), threads.map(_fault, tried), strict=True)
        )
    imported = {plugin.name: _code(plugin) for plugin in tried if not faults[plugin.name]}
    if imported:
        with atomic_file(memory) as file:
            file.write(json.dumps(known | imported, indent=1, sort_keys=True).encode())
    return {
        name: replace(plugin, fault=faults[name]) if faults.get(name) else plugin
        for name, plugin in plugins.items()
    }


def _code(plugin: Plugin) -> str:
    return f"{plugin.code_version} {sys.version_info.major}.{sys.version_info.minor}"


def _read(memory: Path) -> dict[str, str]:
    try:
        found = json.loads(memory.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _fault(plugin: Plugin) -> str:
    """Return why a plugin cannot be imported; what it says itself is thrown away."""
    if plugin.environment:
        return import_fault(plugin)
    reader, writer = os.pipe()
    try:
        ended = subprocess.run(  # noqa: S603 - our own module
            [sys.executable, "-m", __name__, plugin.name, str(writer)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(writer,),
            timeout=TIMEOUT_S,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        return f"its import takes over {TIMEOUT_S} s"
    finally:
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            said = pipe.read().decode()
    return said or ("" if ended == 0 else "its import ends the process")


def _try(name: str, writer: int) -> None:
    try:
        check_importable(available()[name])
    except PluginError as error:
        os.write(writer, str(error).removeprefix(f"detector {name!r} ").encode()[:1000])


if __name__ == "__main__":
    _try(sys.argv[1], int(sys.argv[2]))
    os._exit(0)  # what a plugin does at exit is of no interest
