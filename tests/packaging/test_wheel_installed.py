"""The first five minutes without a checkout: wheels in an empty environment and an empty folder."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FIRST = ("init", "doctor", "run", "ui")
"""Commands that the page begins with, each of which is run below."""
START_S = 240
PAGE = (Path(__file__).parents[2] / "docs" / "install.md").read_text(encoding="utf-8")
NOTE = {"id": "1", "lang": "en", "text": "Seen by Dr. Jane Lee on 3 May 2021."}


@pytest.fixture(scope="module")
def folder(root, tmp_path_factory):
    """Wheels, as ``make wheels`` builds them."""
    pytest.importorskip("hatchling", reason="it builds wheels")
    out = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, str(root / "plugins" / "wheels.py"), "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True)
    return out


@pytest.fixture(scope="module")
def place(folder, tmp_path_factory):
    """An environment with the wheels, outside the checkout."""
    made = tmp_path_factory.mktemp("environment") / "deid"
    venv.create(made, with_pip=True)
    # as the page says it
    (told,) = re.findall(r"^~/deid/bin/(pip install .*)$", PAGE, re.MULTILINE)
    done = subprocess.run(
        [str(made / "bin" / "python"), "-m", *shlex.split(told), "--disable-pip-version-check"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and re.search("No matching distribution found for (?!deid)", done.stderr):
        pytest.skip("the other packages cannot be had here")
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="module")
def house(place, tmp_path_factory):
    """An installation in an empty folder, of which `deid run` made the sample."""
    assert re.findall(r"^deid (\w+)", PAGE.split("## Why")[0], re.MULTILINE) == [*FIRST]
    empty = tmp_path_factory.mktemp("empty")
    made = deid(place, "init", "house", folder=empty)
    assert made.returncode == 0, made.stderr
    ran = deid(place, "run", folder=empty / "house", timeout=1200)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return empty / "house"


def environment(place):
    kept = {name: value for name, value in os.environ.items() if name in ("HOME", "LANG", "TMPDIR")}
    return kept | {"PATH": f"{place / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin"}


def deid(place, *words, folder, timeout=300):
    return subprocess.run(
        [str(place / "bin" / "deid"), *words],
        cwd=folder,
        env=environment(place),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def test_what_runs_is_the_wheel(place, root, tmp_path):
    asked = "import deid_assets; from deid_assets.own_plugins import is_checkout as here; print("
    command = [str(place / "bin" / "python"), "-c", f"{asked}deid_assets.__file__, here())"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        str(next(place.glob("lib/python3*/site-packages/deid_assets/__init__.py"))),
        "False",
    ]


def test_every_command_has_help(place, tmp_path):
    walk = (Path(__file__).parents[1] / "cli" / "test_installed.py").read_text(encoding="utf-8")
    (program,) = re.findall(r'^WALK = """\n(.*?)^"""', walk, re.DOTALL | re.MULTILINE)
    command = [str(place / "bin" / "python"), "-c", program]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(place), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    helped = json.loads(done.stdout)
    assert len(helped) > 50
    assert [words for words, (code, _) in helped.items() if code] == []
    assert "make add PLUGIN" not in done.stdout
    assert "deid plugin add lab" in done.stdout


def test_an_installation_is_whole(place, house):
    looked = deid(place, "doctor", "--json", folder=house)
    states = {one["what"]: one["state"] for one in json.loads(looked.stdout)}

    assert looked.returncode == 0, looked.stdout
    detectors = ("compact", "crf", "presidio", "rules")
    assert {states[f"detector {name}"] for name in detectors} == {"ok"}
    assert "make add" not in looked.stdout
    listed = deid(place, "batches", "list", folder=house)
    assert listed.stdout.count("b-") == 2, listed.stdout


def test_notes_are_redacted(place, tmp_path):
    (tmp_path / "notes.jsonl").write_text(json.dumps(NOTE) + "\n")
    found = ("detect", "notes.jsonl", "--detector", "compact", "--out", "spans.jsonl")
    redacted = ("redact", "notes.jsonl", "--spans", "spans.jsonl", "--policy", "tag")
    assert deid(place, *found, folder=tmp_path).returncode == 0
    done = deid(place, *redacted, "--out", "tagged.jsonl", folder=tmp_path)

    assert done.returncode == 0, done.stderr
    text = json.loads((tmp_path / "tagged.jsonl").read_text())["text"]
    assert text == "Seen by Dr. [NAME] on [DATE]."


def test_what_lay_elsewhere_in_the_checkout_is_there(place, tmp_path):
    fetched = deid(place, "corpus", "fetch", "composed", "--out", "composed", folder=tmp_path)
    assert fetched.returncode == 0, fetched.stderr
    assert len([*tmp_path.glob("composed/*/*.jsonl")]) > 30
    new = deid(place, "plugin", "new", "badge", "--into", "mine", folder=tmp_path)
    assert new.returncode == 0, new.stderr
    assert f"pip install --editable {tmp_path}/mine/badge" in new.stderr
    assert (tmp_path / "mine" / "badge" / "tests" / "test_badge.py").is_file()


def test_a_plugin_is_added_from_the_folder_of_the_wheels(place, folder, tmp_path):
    refused = deid(place, "generative", folder=tmp_path)
    assert "run `deid plugin add generative`" in " ".join(refused.stderr.split())
    offline = deid(place, "plugin", "add", "neural", "--offline", folder=tmp_path)
    wheel = next(folder.glob("deid_neural-*.whl"))
    assert f"{wheel}[" in offline.stderr  # with all extras, which are not in that folder
    assert offline.returncode == 2
    added = deid(place, "plugin", "add", "known_identity", folder=tmp_path)
    assert added.returncode == 0, added.stdout + added.stderr
    assert "known_identity" in deid(place, "detectors", folder=tmp_path).stdout


def test_the_user_interface_answers(place, house):
    port, reports = free_port(), free_port()
    command = [str(place / "bin" / "deid"), "ui"]
    options = ["--port", str(port), "--reports-port", str(reports)]
    with (house.parent / "ui.log").open("w") as log:
        server = subprocess.Popen(
            [*command, *options],
            cwd=house,
            env=environment(place),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        query = {"query": "{ assetNodes { assetKey { path } } }"}
        answer = asked(f"http://127.0.0.1:{port}/graphql", json.dumps(query).encode(), server)
        names = {node["assetKey"]["path"][-1] for node in json.loads(answer)["data"]["assetNodes"]}
        assert {"raw_notes", "spans_compact", "merged_spans", "released_corpus"} <= names
        report = next((house / "reports").glob("release-*.html")).name
        assert b"<html" in asked(f"http://127.0.0.1:{reports}/{report}", None, server)
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def asked(url, body, server):
    """Return what a server answers once it is up."""
    headers = {"content-type": "application/json"} if body else {}
    until = time.monotonic() + START_S
    while True:
        assert server.poll() is None, "the server ended"
        try:
            request = urllib.request.Request(url, body, headers)
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.read()
        except (urllib.error.URLError, OSError):
            assert time.monotonic() < until, f"{url} does not answer"
            time.sleep(1)
