"""The worked examples of the pages on formats of hospital systems run.

They print what the pages say.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deid_assets.plugins import available

# make test-run names that of users
BIN = os.environ.get("DEID_BIN") or str(Path(sys.executable).parent)
PAGES = Path(__file__).parents[4] / "docs" / "formats"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif("rules" not in available(), reason="the examples need the rules detector"),
    pytest.mark.skipif(not shutil.which("bash"), reason="the examples need bash"),
]


@pytest.mark.parametrize("name", ["cda", "fhir", "hl7", "omop"])
def test_the_example_of_the_page_prints_what_it_says(name, tmp_path):
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    script, printed = (
        "".join(re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
        for language in ("sh", "text")
    )
    environment = {key: value for key, value in os.environ.items() if key != "DEID_DEBUG"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env=environment | {"PATH": os.pathsep.join((BIN, os.environ["PATH"]))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed
