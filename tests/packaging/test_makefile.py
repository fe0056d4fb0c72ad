"""What the commands of the README install, and where."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def steps(target: str) -> str:
    """What ``make`` would do for a target in a fresh clone."""
    if not shutil.which("make"):
        pytest.skip("make is not installed")
    run = subprocess.run(
        ["make", "-nB", target], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return run.stdout


def test_the_main_job_installs_the_product_without_networks_and_other_tools(requirements) -> None:
    """Networks, tools to compare with but for one, and the laboratory are added when asked for."""
    commands = steps("run")
    assert re.search(r"plugins/requirements\.py --own \S+ quickstart >\.venv/run\.txt", commands)
    assert "--requirement .venv/run.txt" in commands
    chosen = requirements.closure(["quickstart"], own=ROOT)
    assert chosen.pop(ROOT) == {"quickstart"}
    installed = {folder.name: "".join(extras) for folder, extras in chosen.items()}
    product = {
        one.folder.name
        for one in requirements.list_shipped()
        if one.folder.parent.name == "plugins"
    }

    assert installed.keys() == product - {"known_identity", "neural"}
    assert {name: extra for name, extra in installed.items() if extra} == {"peers": "presidio"}
    assert not any(
        requirements.brings_torch(ROOT / "plugins" / name, {extra} - {""})
        for name, extra in installed.items()
    )


@pytest.mark.parametrize("target", ["test", "lint", "types", "bench"])
def test_what_the_tests_install_stays_out_of_the_environment_of_the_main_job(target: str) -> None:
    commands = steps(target)

    assert "plugins/requirements.py" in commands
    assert "-e '.[dev]' --requirement .venv-dev/tested.txt" in commands
    assert ".venv-dev/bin" in commands
    assert ".venv/" not in commands
