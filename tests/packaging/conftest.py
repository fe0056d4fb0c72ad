"""Fresh interpreters, and the wheel built once."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root():
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def requirements():
    """The module that ``make add`` runs."""
    spec = importlib.util.spec_from_file_location(
        "requirements", ROOT / "plugins" / "requirements.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["requirements"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run_python(tmp_path):
    """Run a program in a fresh interpreter with an empty installation, and return its output."""

    def run(*arguments: str) -> str:
        environment = {
            **os.environ,
            "DEID_HOME": str(tmp_path / "home"),
            "DAGSTER_HOME": str(tmp_path / "dagster"),
            "DAGSTER_DISABLE_TELEMETRY": "1",
        }
        environment.pop("DEID_CONFIG", None)
        (tmp_path / "dagster").mkdir(exist_ok=True)
        done = subprocess.run(
            [sys.executable, *arguments],
            check=False,
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=environment,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    return run
