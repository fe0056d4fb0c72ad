"""The page on somebody's own Dagster project, followed to the letter."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from deid_assets import DeidPipelineComponent

pytest.importorskip("deid_rules", reason="the page names its detector")

PAGE = (Path(__file__).parents[1] / "docs" / "in-your-dagster-project.md").read_text("utf-8")
FILES = dict(re.findall(r"^`([\w./-]+)`\n\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
SHELL = re.findall(r"^```bash\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PYTHON = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
MATERIALIZE = ("dagster", "asset", "materialize", "-m", "ward.definitions", "--select")
LIMIT_S = 1800
"""A release took 340 s on two cores that eight processes wanted; the limit is for worse."""


@pytest.fixture
def project(tmp_path):
    """The page's project, as its files say."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def environment():
    """That of a shell in which the environment of the project is active."""
    told = {key: value for key, value in os.environ.items() if not key.startswith("DEID_")}
    told["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), told.get("PATH", "")])
    return told


@contextmanager
def shell(script, folder, environment):
    """Run a script in a session of its own, and end all that it started."""
    process = subprocess.Popen(
        ["bash", "-c", script], cwd=folder, env=environment, start_new_session=True
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(30)
        finally:
            with_rest(process.pid)


def with_rest(group):
    """End what is left of a process group."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@pytest.mark.slow
def test_from_a_table_to_a_release_and_on_to_an_asset_that_follows_it(project, environment):
    (script,) = SHELL
    assert script.endswith("\ndagster dev -m ward.definitions\n")
    script = script.replace("dagster dev", f"dagster dev -p {free_port()}")
    script = script.replace("$PWD/src", python_path(project))
    released = project / ".deid" / "clinic" / "released"
    began = time.monotonic()

    with shell(script, project, environment):
        while not (found := list(released.glob("*/notes.jsonl"))):
            assert time.monotonic() - began < LIMIT_S, "nothing was released"
            time.sleep(1)
        texts = [json.loads(line)["text"] for line in found[0].read_text().splitlines()]

    (shown,) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert shown.strip() in texts
    assert not re.search("Caldwick|Lindqvist|4477120|5309", " ".join(texts))
    done = subprocess.run(
        [*MATERIALIZE, "study", "--partition", found[0].parent.name],
        cwd=project,
        env=environment
        | {"DAGSTER_HOME": str(project / ".dagster"), "PYTHONPATH": python_path(project)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def python_path(project):
    """As the page exports it, with what the tests' own shell has."""
    return os.pathsep.join(filter(None, [str(project / "src"), os.environ.get("PYTHONPATH", "")]))


@pytest.mark.long
def test_its_python_builds_an_installation_under_a_prefix(project, monkeypatch):
    monkeypatch.chdir(project)
    (built,) = [block for block in PYTHON if "build_definitions" in block]
    (subclass,) = [block for block in PYTHON if "class Ours" in block]
    names = {}

    exec(compile(built, "page", "exec"), names)
    exec(compile(subclass, "page", "exec"), names)

    keys = {spec.key.to_user_string() for spec in names["defs"].resolve_all_asset_specs()}
    assert "clinic_b/deid/released_corpus" in keys
    assert issubclass(names["Ours"], DeidPipelineComponent)


def test_the_page_names_every_attribute_with_its_values():
    table = PAGE.partition("## Attributes")[2].partition("\n## ")[0]
    attributes = {
        name
        for line in table.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert attributes == set(DeidPipelineComponent.model_fields)
    assert {"manual", "eager", "host"} <= set(re.findall(r"`(\w+)`", table))


@pytest.mark.long
def test_the_command_of_dagster_writes_what_the_page_shows_and_it_loads(project, environment):
    dg = shutil.which("dg", path=environment["PATH"])
    if dg is None:
        pytest.skip("dg is not installed: pip install dagster-dg-cli")
    if not any(
        one.value == "deid_assets" for one in entry_points(group="dagster_dg_cli.registry_modules")
    ):
        pytest.skip("deid-assets was installed before it had a component: install it again")
    shown = project / "src" / "ward" / "defs" / "clinic"
    expected = (shown / "defs.yaml").read_text()
    shutil.rmtree(shown)
    (command,) = re.findall(r"^`(dg scaffold defs [^`]*)`", PAGE, re.MULTILINE)
    told = environment | {
        "DAGSTER_HOME": str(project / ".dagster"),
        "PYTHONPATH": python_path(project),
        "VIRTUAL_ENV": sys.prefix,
    }
    (project / ".dagster").mkdir()

    for line in (command, "dg check yaml", "dg check defs"):
        done = subprocess.run(
            line.split(), cwd=project, env=told, check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr

    lines = (shown / "defs.yaml").read_text().splitlines()
    assert 3 <= len(lines) <= 6
    assert [line for line in expected.splitlines() if line in lines] == lines
