"""Tries of a campaign are stopped by the processor time that they take, not by the clock of a busy
machine.
"""

from __future__ import annotations

import os
import signal
import time

import pytest
from fuzzing import watched as program
from fuzzing.watched import watched


@pytest.fixture
def limits(monkeypatch):
    monkeypatch.setattr(program, "SLOW_CPU_S", 0.1)
    monkeypatch.setattr(program, "ASLEEP_LOOKS", 3)
    monkeypatch.setattr(program, "LOOK_S", 0.05)


@pytest.mark.usefixtures("limits")
def test_a_try_that_computes_for_ever_or_waits_or_dies_is_a_finding_and_the_others_go_on():
    def one(number):
        while number == 1:
            pass
        if number == 3:
            time.sleep(3600)
        if number == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 6:
            raise LookupError
        return "fine"

    counts, findings = watched(range(8), one, lambda _: None)

    assert [found.split(",")[0].split(" in ")[0] for found in findings] == [
        "try 1: over 0.1 s of CPU",
        "try 3: asleep",
        "try 5: the process died of signal 9",
        "try 6: LookupError",
    ]
    assert counts.total() == 8


@pytest.mark.usefixtures("limits")
def test_a_try_that_waits_for_a_process_at_work_is_no_finding():
    def one(_):
        waker = os.fork()
        if waker == 0:
            until = time.process_time() + 0.5  # a process that it waits for, at work
            while time.process_time() < until:
                pass
            os._exit(0)
        os.waitpid(waker, 0)
        return "fine"

    counts, findings = watched(range(1), one, lambda _: None)

    assert (dict(counts), findings) == ({"fine": 1}, [])
