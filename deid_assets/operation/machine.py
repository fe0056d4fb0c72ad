"""What the machine must have, and what may carry text away from it: a look without changes."""

from __future__ import annotations

import platform
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from deid_assets.config import Settings
from deid_assets.operation.findings import Condition, Finding

PACKAGE = "deid-assets"
FREE_BYTES = 2 * 1024**3
"""Less room than this on the home's file system is said."""
CLOCK_S = 60.0
"""Clocks may differ by that: times of batches and releases would come out of order beyond it."""


def python_findings() -> Iterator[Finding]:
    """Yield whether this Python is one that the package is tested under."""
    found = platform.python_version()
    if sys.version_info[:2] in ((3, 11), (3, 12), (3, 13)):
        yield Finding("python", Condition.OK, found)
    else:
        yield Finding(
            "python", Condition.BROKEN, f"{found}; install under Python 3.11, 3.12 or 3.13 instead"
        )


def package_findings() -> Iterator[Finding]:
    """Yield each package that is needed and missing, or has another version, else their count."""
    count = 0
    for line in requires(PACKAGE) or []:
        needed = Requirement(line)
        if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
            continue
        remedy = f"run pip install '{needed.name}{needed.specifier}'"
        try:
            found = version(needed.name)
        except PackageNotFoundError:
            yield Finding(needed.name, Condition.BROKEN, f"not installed; {remedy}")
            continue
        if needed.specifier.contains(found, prereleases=True):
            count += 1
        else:
            fault = f"{found}, needed is {needed.specifier}; {remedy}"
            yield Finding(needed.name, Condition.BROKEN, fault)
    yield Finding("packages", Condition.OK, f"{count} fit, dagster {version('dagster')} among them")


def memory_findings() -> Iterator[Finding]:
    """Yield whether memory, which holds notes, may be written to a disk; Linux only."""
    listed = _lines(Path("/proc/swaps"))
    swaps = listed[1:]
    on_disk = [line.split()[0] for line in swaps if not _is_in_memory(line.split()[0])]
    if not listed:
        told = "not looked at, since this system does not list it; encrypt it, or turn it off"
        yield Finding("swap", Condition.DOUBTFUL, told)
    elif on_disk:
        yield Finding(
            "swap",
            Condition.DOUBTFUL,
            f"{on_disk[0]}: memory may be written there; encrypt it, or turn it off with"
            " `swapoff -a`",
        )
    else:
        yield Finding("swap", Condition.OK, "none on a disk")
    soft, _ = resource.getrlimit(resource.RLIMIT_CORE)
    detail = "off in every process that reads notes" + ("" if soft == 0 else "; on in this shell")
    yield Finding("core files", Condition.OK, detail)


def room_findings(settings: Settings) -> Iterator[Finding]:
    """Yield the room that is left, and whether the zones lie on one file system.

    A release is put in its place, and an arrival taken in, by renaming.
    """
    nearest = _nearest(settings.home)
    free = shutil.disk_usage(nearest).free
    shown = f"{free / 1024**3:,.1f} GiB free at {nearest}"
    if free < FREE_BYTES:
        yield Finding(
            "room",
            Condition.DOUBTFUL,
            f"{shown}; make room, or set DEID_HOME to a folder with more",
        )
    else:
        yield Finding("room", Condition.OK, shown)
    places = (settings.landing, settings.store, settings.released, settings.reports)
    apart = [path for path in places if _device(path) != nearest.stat().st_dev]
    for path in apart:
        yield Finding(
            "file system",
            Condition.BROKEN,
            f"{path}: on another file system than {nearest}, so that nothing can be moved there"
            " whole; let the home as a whole lie on one",
        )
    if not apart:
        yield Finding("file system", Condition.OK, "one for landing, store, releases and reports")


def clock_findings(settings: Settings) -> Iterator[Finding]:
    """Yield whether the clock of the machine and that of the home's file system agree."""
    with tempfile.NamedTemporaryFile(dir=_nearest(settings.home)) as file:
        apart = Path(file.name).stat().st_mtime - time.time()
    if abs(apart) > CLOCK_S:
        yield Finding(
            "clock",
            Condition.DOUBTFUL,
            f"the file server's differs by {apart:,.0f} s; set both by NTP",
        )
    else:
        yield Finding("clock", Condition.OK, time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _is_in_memory(device: str) -> bool:
    """Whether a swap device is compressed memory, or encrypted."""
    name = Path(device).resolve().name
    identity = _lines(Path(f"/sys/block/{name}/dm/uuid"))
    return name.startswith("zram") or any(line.startswith("CRYPT-") for line in identity)


def _nearest(path: Path) -> Path:
    """Return a folder, or the nearest one above it that is there."""
    whole = path.absolute()
    return next(one for one in (whole, *whole.parents) if one.is_dir())


def _device(path: Path) -> int:
    return _nearest(path).stat().st_dev
