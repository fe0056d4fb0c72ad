"""Ctrl-C by signal to a real process."""

import signal
import subprocess
import sys

import pytest

SCRIPT = """
from deid_assets.system.interrupts import interrupts_handled, watch_interrupts

watch_interrupts()
import signal, sys, threading

def say(word):
    print(word, flush=True)

signal.signal(signal.SIGINT, lambda *_: say("taken by a library"))
thread = threading.Thread(target=sys.stdin.read, daemon=True)
thread.start()
if sys.argv[1:]:
    with interrupts_handled(lambda: say("first"), lambda: say("second")):
        say("ready")
        thread.join()
say("ready")
thread.join()
say("went on")
"""

IN_BACKGROUND = """
import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)

from deid_assets.system.interrupts import watch_interrupts

watch_interrupts()
from dagster._utils.interrupts import capture_interrupts

with capture_interrupts():  # as a step of a run
    pass
print("ready", flush=True)
input()
"""


@pytest.fixture
def started():
    processes = []

    def start(*arguments, script=SCRIPT):
        process = subprocess.Popen(
            [sys.executable, "-c", script, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        processes.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_the_first_interrupt_asks_and_the_second_ends_the_process(started):
    process = started("handled")

    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "first\n"
    process.send_signal(signal.SIGINT)

    assert process.stdout.read() == "second\n"
    assert process.wait() == 130


def test_an_interrupt_where_nothing_can_be_half_done_ends_the_process(started):
    process = started()

    process.send_signal(signal.SIGINT)

    assert process.stdout.read() == ""
    assert process.wait() == 130


def test_what_a_shell_started_in_the_background_can_be_terminated_after_a_run(started):
    process = started(script=IN_BACKGROUND)

    process.terminate()
    process.communicate("\n")  # else one that ignores it would wait

    assert process.returncode != 0
