"""``deid doctor``: what works here, what does not, and what to do about it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from rich.text import Text

from deid_assets import plugins
from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption
from deid_assets.cli.endings import guarded
from deid_assets.cli.tables import print_json, print_table
from deid_assets.config import Settings
from deid_assets.core.errors import DeidError
from deid_assets.formats.catalogue import OUTSIDE, installed

OPTIONAL = {
    "psycopg": "PostgreSQL: make add PLUGIN=postgresql",
}
REQUIRED = ("dagster", "dagster-webserver", "great-expectations", "sqlmodel", "pyarrow", "pandas")


@dataclass(frozen=True, slots=True)
class DiagnosisItem:
    """One thing looked at.

    Args:
        what: Its name.
        state: ``ok``, ``missing`` (optional and absent) or ``broken``.
        detail: A version, or the remedy.
    """

    what: str
    state: str
    detail: str


@app.command()
@guarded
def doctor(*, as_json: JsonOption = False) -> int:
    """Say what is installed and what is missing.

    With the accelerator there is, and how to get what is missing.
    """
    findings = diagnose()
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        colours = {"ok": "green", "missing": "yellow", "broken": "red"}
        rows = [
            (found.what, Text(found.state, colours[found.state]), found.detail)
            for found in findings
        ]
        print_table(("what", "state", "detail"), rows)
    return int(any(finding.state == "broken" for finding in findings))


def diagnose() -> list[DiagnosisItem]:
    """Look at Python, packages, detectors, formats, settings, key and accelerator.

    Detectors are loaded.
    """
    return [
        DiagnosisItem("python", "ok", f"{platform.python_version()}, {os.cpu_count()} cores"),
        *(_package(name) for name in REQUIRED),
        *(_optional(name, remedy) for name, remedy in OPTIONAL.items()),
        *_detectors(),
        *_formats(),
        _settings(),
        _key(),
        _accelerator(),
    ]


def _package(name: str) -> DiagnosisItem:
    try:
        return DiagnosisItem(name, "ok", version(name))
    except PackageNotFoundError:
        return DiagnosisItem(name, "broken", "run `make run` in the checkout again")


def _optional(name: str, remedy: str) -> DiagnosisItem:
    return (
        DiagnosisItem(name, "ok", "installed")
        if find_spec(name)
        else DiagnosisItem(name, "missing", remedy)
    )


def _detectors() -> list[DiagnosisItem]:
    found = []
    for name, plugin in plugins.available().items():
        try:
            if plugin.needs_model:
                plugins.check_importable(plugin)
                found.append(
                    DiagnosisItem(
                        f"detector {name}",
                        "ok",
                        f"{plugin.version}; named with a model, {name}=MODEL",
                    )
                )
                continue
            plugins.load(name)
            found.append(DiagnosisItem(f"detector {name}", "ok", plugin.version))
        except DeidError as error:
            found.append(DiagnosisItem(f"detector {name}", "broken", str(error)))
    remedy = "no detector is installed: make add PLUGIN=rules"
    return found or [DiagnosisItem("detectors", "broken", remedy)]


def _formats() -> list[DiagnosisItem]:
    """Return the plugins of formats that cannot be used; one that is not installed is no fault."""
    absent = {known.fault for known in OUTSIDE.values()}
    return [
        DiagnosisItem(f"format {name}", "missing" if fault in absent else "broken", fault)
        for name, fault in installed().faults.items()
    ]


def _settings() -> DiagnosisItem:
    try:
        settings = Settings.load()
    except DeidError as error:
        return DiagnosisItem("settings", "broken", str(error))
    recipes = {Path(recipe).stem for recipe in settings.recipes}
    if absent := sorted(set(settings.ensemble) - plugins.available().keys() - recipes):
        return DiagnosisItem(
            "settings", "broken", f"ensemble names {', '.join(absent)}, which is not installed"
        )
    return DiagnosisItem(
        "settings",
        "ok",
        f"ensemble {', '.join(settings.ensemble)}; releases {settings.release_policy}",
    )


def _key() -> DiagnosisItem:
    if os.environ.get("DEID_KEY"):
        return DiagnosisItem("key", "ok", "from DEID_KEY")
    return DiagnosisItem(
        "key",
        "missing",
        "the graph makes one in its home; `deid redact` with surrogates needs DEID_KEY",
    )


def _accelerator() -> DiagnosisItem:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return DiagnosisItem("accelerator", "missing", "none found; everything runs on the CPU")
    listed = subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=20, check=False)  # noqa: S603
    gpus = listed.stdout.count("GPU ")
    return (
        DiagnosisItem("accelerator", "ok", f"{gpus} GPU")
        if gpus
        else DiagnosisItem("accelerator", "missing", "no GPU answers")
    )
