"""The worked example of the page on formats of plugins.

It runs, prints what the page says, and keeps the contract.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from deid_assets.formats import FORMATS
from deid_assets.formats.catalogue import load_installed
from deid_assets.formats.contract import check_format
from deid_assets.plugins import available

# make test-run names that of users
BIN = os.environ.get("DEID_BIN") or str(Path(sys.executable).parent)
PAGE = Path(__file__).parents[2] / "docs" / "formats" / "plugins.md"


@pytest.fixture
def site(tmp_path):
    """The plugin of the page, laid out as pip would."""
    page = PAGE.read_text(encoding="utf-8")
    project = tomllib.loads(re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[0])[
        "project"
    ]
    folder = tmp_path / "site"
    for name, code in re.findall(
        r"^`(deid_lab_format/\w+\.py)`.*?```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(code)
    info = folder / f"deid_lab_format-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    ((group, entries),) = project["entry-points"].items()
    (info / "entry_points.txt").write_text(
        f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items())
    )
    return folder


@pytest.mark.long
@pytest.mark.skipif("rules" not in available(), reason="the example needs the rules detector")
def test_the_example_of_the_page_prints_what_it_says(site, tmp_path):
    page = PAGE.read_text(encoding="utf-8")
    script, printed = (
        "".join(re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
        for language in ("sh", "text")
    )
    environment = {key: value for key, value in os.environ.items() if key != "DEID_DEBUG"}
    path = os.pathsep.join((BIN, os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env=environment | {"PATH": path, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == printed.splitlines()
    assert "8.lab:1: has no first line with patient and language" in done.stderr


def test_the_example_keeps_the_contract(site, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(site)
    load_installed.cache_clear()
    try:
        check_format(FORMATS["lab"], tmp_path)
    finally:
        load_installed.cache_clear()
