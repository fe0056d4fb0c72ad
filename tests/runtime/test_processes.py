"""Worker processes outlive a call, and never the process that started them or a change of what they
took over.
"""

import multiprocessing
import os
import resource
import runpy
import select
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from deid_assets.core.errors import InputError, WorkerError
from deid_assets.formats import format_named
from deid_assets.own_plugins import message_of
from deid_assets.runtime.processes import WorkerDied, end_workers, run_parts

SCRIPT = """
import multiprocessing, os, signal, sys, time
from deid_assets.runtime import processes

# Else ignored where the tests run in the background of a shell, which has interrupts ignored, and
# Dagster ran before in their process: it has termination treated as interrupts are, and what is
# ignored is handed down.
signal.signal(signal.SIGTERM, signal.SIG_DFL)

def start(ready):
    processes.run_parts(abs, [-1, -2], workers=2)
    ready.send([child.pid for child in multiprocessing.active_children()])
    if sys.argv[1] == "busy":
        processes.run_parts(time.sleep, [3600, 3600], workers=2)
    if sys.argv[1] == "raise":
        raise LookupError

if __name__ == "__main__":
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=start, args=(there,))
    process.start()
    there.close()
    print(process.pid, *here.recv(), flush=True)
    process.join()
"""


TALK = """
import atexit, logging, os, sys, threading, warnings
text = "text of a note"
os.write(1, text.encode())
os.write(2, text.encode())
print(text)
print(text, file=sys.__stderr__)
warnings.warn(text)
logging.error(text)
atexit.register(print, text)
threading.Thread(target=print, args=(text,)).start()
"""


@pytest.fixture(autouse=True)
def _end():
    yield
    end_workers()


@pytest.fixture
def spawned(tmp_path):
    """Start a process as Dagster starts a run, itself a child of multiprocessing, and return what
    it started.
    """
    started = []

    def run(mode):
        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(SCRIPT))
        # Who has the pipe's other end open lives; it is at its end when nobody does.
        process = subprocess.Popen(
            [sys.executable, script, mode],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process, [int(pid) for pid in process.stdout.readline().split()]

    yield run
    for process in started:
        process.stdout.close()
        if process.poll() is None:
            process.kill()
            process.wait()


def wait_for_end(process, pids):
    """Wait until none of the processes runs.

    One that sleeps for a minute hangs; a busy machine keeps it ready to run.
    """
    for pid in [process.pid, *pids]:
        try:
            waiting = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            asleep = 0
            while not select.select([waiting], [], [], 0.5)[0]:
                asleep = asleep + 1 if all_asleep([process.pid, *pids]) else 0
                assert asleep < 120, f"process {pid} runs on"
        finally:
            os.close(waiting)
    process.wait()


def all_asleep(pids):
    """Whether no thread of the processes runs or is ready to run."""
    states = []
    for pid in pids:
        for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
            with suppress(OSError):
                states.append(stat.read_text().rpartition(")")[2].split()[0])
    return not {"R", "D"}.intersection(states)


def workers():
    return {child.pid for child in multiprocessing.active_children()}


@pytest.mark.parametrize("mode", ["return", "raise"])
def test_a_process_that_multiprocessing_started_ends_with_its_workers(spawned, mode):
    process, pids = spawned(mode)

    assert len(pids) == 3
    wait_for_end(process, pids)


@pytest.fixture
def after_a_run_in_the_background():
    """What Dagster leaves of termination where interrupts are ignored."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.usefixtures("after_a_run_in_the_background")
def test_workers_end_with_a_process_that_is_killed_while_they_are_busy(spawned, number):
    process, pids = spawned("busy")

    os.kill(pids[0], number)

    wait_for_end(process, pids)


def test_the_workers_of_one_call_serve_the_next():
    assert run_parts(abs, [-3, -2, -1], workers=2) == [3, 2, 1]
    first = workers()

    assert run_parts(abs, [-3, -2, -1], workers=2) == [3, 2, 1]
    assert first
    assert workers() == first


@pytest.mark.slow
def test_a_changed_environment_or_folder_has_new_workers(monkeypatch, tmp_path):
    monkeypatch.setenv("DEID_KEY", "5a")
    assert run_parts(os.getenv, ["DEID_KEY"] * 2, workers=2) == ["5a", "5a"]

    monkeypatch.setenv("DEID_KEY", "a5")
    assert run_parts(os.getenv, ["DEID_KEY"] * 2, workers=2) == ["a5", "a5"]

    monkeypatch.chdir(tmp_path)
    assert run_parts(os.path.abspath, ["x", "y"], workers=2) == [
        str(tmp_path / "x"),
        str(tmp_path / "y"),
    ]


def test_after_a_worker_died_the_next_call_has_new_ones():
    with pytest.raises(WorkerDied):
        run_parts(os._exit, [3, 3], workers=2)

    assert run_parts(abs, [-1, -2], workers=2) == [1, 2]


def test_an_error_of_one_part_is_raised_by_its_class_and_its_message_stays_behind():
    with pytest.raises(WorkerError, match=r"^ValueError in a worker process$"):
        run_parts(int, ["1", "text of a note"], workers=2)

    assert run_parts(int, ["1", "2"], workers=2) == [1, 2]


def test_an_error_of_our_class_that_a_plugin_raised_leaves_its_message_behind(tmp_path):
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        "from deid_assets.core.errors import InputError\nraise InputError('text of a note')"
    )

    with pytest.raises(WorkerError, match=r"^InputError in a worker process$"):
        run_parts(runpy.run_path, [str(plugin)], workers=1)


def test_an_error_that_our_code_raised_in_a_worker_may_be_shown_here():
    with pytest.raises(InputError) as raised:
        run_parts(format_named, ["none"], workers=1)

    assert message_of(raised.value).startswith("unknown format 'none'")


def test_an_error_that_asks_to_exit_ends_no_worker():
    with pytest.raises(WorkerError, match=r"^SystemExit in a worker process$"):
        run_parts(sys.exit, ["text of a note"], workers=1)


def test_the_first_worker_of_a_process_sees_no_interrupt_either():
    program = (
        "import signal; from functools import partial; from deid_assets.runtime.processes import"
        " run_parts\nblocked = run_parts(partial(signal.pthread_sigmask, signal.SIG_BLOCK), [[]],"
        " workers=1)[0]\nprint(signal.SIGINT in blocked, signal.pthread_sigmask(signal.SIG_BLOCK,"
        " []))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )

    assert done.stdout == "True set()\n"


def test_a_worker_writes_nothing_and_sees_no_interrupt(capfd):
    assert run_parts(resource.getrlimit, [resource.RLIMIT_CORE], workers=1)[0][0] == 0
    assert (
        signal.SIGINT
        in run_parts(partial(signal.pthread_sigmask, signal.SIG_BLOCK), [[]], workers=1)[0]
    )
    run_parts(exec, [TALK], workers=1)
    end_workers()

    assert capfd.readouterr() == ("", "")
