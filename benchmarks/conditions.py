"""Conditions of a measurement, printed with every benchmark."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "deid-assets",
    "deid-rules",
    "deid-peers",
    "dagster",
    "great-expectations",
    "pyarrow",
)


def conditions(seed: str = "none") -> str:
    """Return one line: processor, cores, load, Python, versions, commit and seed."""
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    load = os.getloadavg()[0]
    return (
        f"{_processor()}, {os.cpu_count()} cores, load {load:.1f}; Python"
        f" {platform.python_version()}; {', '.join(found)}; commit {_commit()}; seed {seed}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")),
        platform.machine(),
    )


def _commit() -> str:
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or "unknown"
