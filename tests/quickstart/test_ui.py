"""Whoever ends ``make ui`` ends all that it started."""

import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

SERVING = (
    "import sys; from deid_assets.quickstart.ui import serve; sys.exit(serve({commands!r},"
    " grace_s=1.0))"
)
STUBBORN = """
import os, signal, subprocess, sys, threading

for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
if sys.argv[1] == "child":
    subprocess.Popen([sys.executable, __file__, "grandchild", sys.argv[2]])
with open(sys.argv[2], "a") as list:
    list.write(f"{os.getpid()}\\n")
threading.Event().wait()
"""
ENDING = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


def until(is_so):
    pause = threading.Event()
    while not is_so():
        pause.wait(0.1)


def is_alive(process_id):
    try:
        return (Path("/proc") / str(process_id) / "stat").read_text().rpartition(")")[2].split()[
            0
        ] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_ends_children_and_grandchildren_that_listen_to_none(tmp_path, number):
    program, pids = tmp_path / "stubborn.py", tmp_path / "pids"
    program.write_text(STUBBORN)
    pids.touch()
    commands = [[sys.executable, str(program), "child", str(pids)]] * 2
    serving = subprocess.Popen(
        [sys.executable, "-c", SERVING.format(commands=commands)], start_new_session=True
    )
    until(lambda: len(pids.read_text().split()) == 4)

    serving.send_signal(number)

    assert serving.wait(timeout=60) == 0
    assert [pid for pid in pids.read_text().split() if is_alive(pid)] == []


def test_the_end_of_one_ends_the_others_and_its_code_is_told(tmp_path):
    program, pids = tmp_path / "stubborn.py", tmp_path / "pids"
    program.write_text(STUBBORN)
    failing = (
        f"import time; p = {str(pids)!r}\nwhile len(open(p).read().split()) < 2:"
        " time.sleep(.1)\nraise SystemExit(7)"
    )
    pids.touch()
    commands = [[sys.executable, str(program), "child", str(pids)], [sys.executable, "-c", failing]]

    ended = subprocess.run(
        [sys.executable, "-c", SERVING.format(commands=commands)], check=False, timeout=60
    )

    assert ended.returncode == 7
    assert [pid for pid in pids.read_text().split() if is_alive(pid)] == []


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])


def children_of(parent):
    """Processes of the sessions that a process started, with their commands."""
    stats = {}
    for folder in Path("/proc").glob("[1-9]*"):
        try:
            stats[int(folder.name)] = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
    sessions = {str(process_id) for process_id, stat in stats.items() if int(stat[1]) == parent}
    inside = [process_id for process_id, stat in stats.items() if stat[3] in sessions]
    return {
        process_id: (Path("/proc") / str(process_id) / "cmdline").read_bytes()
        for process_id in inside
    }


@pytest.mark.slow
@pytest.mark.parametrize("number", ENDING[:2])
def test_nothing_of_dagster_outlives_it(tmp_path, number):
    ports = [free_port(), free_port()]
    (tmp_path / "workspace.yaml").write_text(
        "load_from:\n  - python_module: deid_assets.definitions\n"
    )
    arguments = ["--port", ports[0], "--reports-port", ports[1], "--workspace", "workspace.yaml"]
    ui = subprocess.Popen(
        [sys.executable, "-m", "deid_assets.quickstart.ui", *arguments],
        cwd=tmp_path,
        env={
            **os.environ,
            "DEID_HOME": str(tmp_path / "home"),
            "DAGSTER_HOME": str(tmp_path / "dagster"),
        },
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def is_up():
        try:
            return (
                urllib.request.urlopen(f"http://127.0.0.1:{ports[0]}/server_info", timeout=5).status
                == 200
            )
        except OSError:
            return False

    until(is_up)
    until(lambda: any(b"dagster._daemon" in command for command in children_of(ui.pid).values()))
    started = children_of(ui.pid)

    ui.send_signal(number)

    assert ui.wait(timeout=60) == 0
    assert [process_id for process_id in started if is_alive(process_id)] == []
