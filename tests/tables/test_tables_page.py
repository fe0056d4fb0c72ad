"""The example of the page on tables runs as it stands."""

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deid_assets.plugins import available

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"
BIN = os.environ.get("DEID_BIN") or str(Path(sys.executable).parent)

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif("rules" not in available(), reason="the example needs rules"),
    pytest.mark.skipif(
        not all(map(shutil.which, ("bash", "openssl"))), reason="the example needs bash and openssl"
    ),
]


def test_the_example_runs(tmp_path):
    (script,) = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    path = os.pathsep.join((BIN, os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    assert done.returncode == 0, done.stderr + done.stdout
    folder = tmp_path / "home" / "released_tables" / "admissions"
    first, second = csv.DictReader((folder / "admissions.csv").open())
    note = (next((tmp_path / "home" / "released").glob("b-*")) / "notes.jsonl").read_text()
    assert f"Admitted on {first['admitted'][:10]}." in note
    assert (second["born"], second["age"]) == ("", "90+")
    assert first["admission"].startswith("v-")
    assert "name" not in first
