"""What the pages on bake-offs and gates show runs, and says what the software does."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deid_assets.config import Gates, Settings
from deid_assets.evaluation.intervals import wilson
from deid_assets.plugins import available

pytestmark = pytest.mark.long

# make test-run names that of users
BIN = os.environ.get("DEID_BIN") or str(Path(sys.executable).parent)
DOCS = Path(__file__).parents[2] / "docs"


def blocks(page, language):
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.skipif(
    not {"rules", "presidio"} <= available().keys(), reason="the examples need rules and presidio"
)
@pytest.mark.skipif(not shutil.which("bash"), reason="the examples need bash")
def test_the_examples_of_bake_offs_run(tmp_path):
    path = os.pathsep.join((BIN, os.environ["PATH"]))

    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(blocks("bake-off.md", "sh"))],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "bench").iterdir()} == {"bench.html", "bench.json"}
    assert "Cannot find by design" in done.stdout
    assert "By none, if independent" in done.stdout


def test_every_peer_of_the_page_has_a_plugin_that_says_what_it_cannot_find():
    page = (DOCS / "bake-off.md").read_text(encoding="utf-8")
    peers = re.findall(r"^\| `(\w+)` \|.*make add PLUGIN=\1", page, re.MULTILINE)
    assert len(peers) > 5
    for name in peers:
        (said,) = (DOCS.parent / "plugins").glob(f"*/docs/{name}.md")
        assert re.search(
            r"[Cc]annot find by design|are not found|else not", said.read_text(encoding="utf-8")
        ), name


def test_the_settings_of_the_page_on_gates_load(tmp_path):
    path = tmp_path / "deid.toml"
    bounds = []
    for block in blocks("gates.md", "toml"):
        path.write_text(block)
        bounds.append(Settings.load(path).gates.recall_lower_bound)

    assert {"ALL": 0.95, "A names": 0.97} in bounds


def test_the_page_on_gates_gives_the_defaults_and_the_sizes():
    page = (DOCS / "gates.md").read_text(encoding="utf-8")
    gates = Gates()

    assert f"`{{ALL = {gates.recall_lower_bound['ALL']}}}` |" in page
    assert f"| {gates.notes_covered_lower_bound} |" in page
    assert f"| {gates.regression_tolerance} |" in page
    assert f"`min_gold_spans` ({gates.min_gold_spans})" in page
    assert f"`min_gold_notes` ({gates.min_gold_notes})" in page
    assert "at least 73 spans" in page
    assert wilson(73, 73)[0] >= 0.95 > wilson(72, 72)[0]
    assert "about 440 spans" in page
    assert wilson(427, 440)[0] >= 0.95 > wilson(417, 430)[0]
    assert round(wilson(20, 20)[0], 2) == 0.84
