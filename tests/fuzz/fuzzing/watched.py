"""A long row of tries in a process that is watched.

One that dies or hangs is a finding, and the row goes on after it.
"""

from __future__ import annotations

import gc
import mmap
import os
import resource
import signal
import struct
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

SLOW_CPU_S = 60.0
"""Seconds of processor time that one try may take."""
ASLEEP_LOOKS = 120
"""Looks at a try that all find it asleep, and whatever it started: it would wait for ever."""
LOOK_S = 0.5
"""Seconds between two looks."""
_MEMORY_BYTES = 6 << 30
"""Of address space: a reader that asks for more is a finding."""
_TOLD_EVERY_S = 60.0
_MOST_FINDINGS = 50


def watched(
    numbers: range, one: Callable[[int], str], tell: Callable[[str], None]
) -> tuple[Counter[str], list[str]]:
    """Make so many tries and return their outcomes, counted, and what was found.

    Args:
        numbers: Of the tries; each is given its own.
        one: Makes a try and returns its outcome; whatever it raises is a finding.
        tell: Is told the number of tries once a minute, and findings.
    """
    counts: Counter[str] = Counter()
    findings: list[str] = []
    done = numbers.start
    told = time.monotonic()
    while done < numbers.stop and len(findings) < _MOST_FINDINGS:
        with TemporaryFile() as log, mmap.mmap(-1, 8) as at:
            child = os.fork()
            if child == 0:
                _row(range(done, numbers.stop), one, at, log.fileno())
            reason, told = _watch(child, at, told, tell)
            log.seek(0)
            for line in log.read().decode().splitlines():
                kind, _, what = line.partition("\t")
                if kind == "count":
                    outcome, _, number = what.rpartition("\t")
                    counts[outcome] += int(number)
                else:
                    findings.append(what)
                    tell(what)
            (done,) = struct.unpack("Q", at[:])
        if reason:
            findings.append(f"try {done}: {reason}")
            done += 1
            counts["in a process that died"] += done - numbers.start - counts.total()
    return counts, findings


def _row(numbers: range, one: Callable[[int], str], at: mmap.mmap, log: int) -> None:
    """Make tries, and end this process.

    Counts are written as they come, since the process may be killed.
    """
    gc.freeze()  # what is loaded stays
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, resource.RLIM_INFINITY))
    counts: Counter[str] = Counter()
    found, number = 0, numbers.start

    def tell(*lines: str) -> None:
        for line in lines:
            os.write(log, f"{line}\n".encode())

    def flush() -> None:
        tell(*(f"count\t{outcome}\t{number}" for outcome, number in counts.items()))
        counts.clear()

    for number in numbers:
        at[:] = struct.pack("Q", number)
        if number % 100 == 0:
            flush()
        try:
            counts[one(number)] += 1
        except BaseException as error:  # noqa: BLE001 - any is a finding
            place = traceback.extract_tb(error.__traceback__)[-1]
            tell(
                f"finding\ttry {number}: {type(error).__name__} in"
                f" {Path(place.filename).name}:{place.lineno}, {str(error)[:80]!r}"
            )
            counts["found wanting"] += 1
            found += 1
            if found >= _MOST_FINDINGS:
                break
    flush()
    at[:] = struct.pack("Q", number + 1)
    os._exit(0)


def _watch(
    child: int, at: mmap.mmap, told: float, tell: Callable[[str], None]
) -> tuple[str, float]:
    """Wait for the process and return why it ended too early, or nothing, and when progress was
    last told.
    """
    last, since_cpu_s, asleep = -1, 0.0, 0
    looked = time.monotonic()
    pause = 0.01
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return (
                f"the process died of signal {os.WTERMSIG(status)}"
                if os.WIFSIGNALED(status)
                else ""
            ), told
        now = time.monotonic()
        (number,) = struct.unpack("Q", at[:])
        if number != last:
            last, since_cpu_s, asleep = number, _cpu_s(child), 0
        elif now - looked >= LOOK_S:
            looked, asleep = now, 0 if _is_running(child) else asleep + 1
        cpu_s = _cpu_s(child) - since_cpu_s
        if cpu_s > SLOW_CPU_S or asleep >= ASLEEP_LOOKS:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return (
                f"over {SLOW_CPU_S:g} s of CPU"
                if cpu_s > SLOW_CPU_S
                else "asleep, waiting for nothing"
            ), told
        if now - told > _TOLD_EVERY_S:
            told = now
            tell(f"{time.strftime('%H:%M:%S')} {number:,}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.5)


def _cpu_s(process: int) -> float:
    """Return the processor time that a process has taken, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _is_running(process: int) -> bool:
    """Whether a thread of the process, or of one that it started, runs or is ready to.

    A busy machine keeps it waiting.
    """
    for thread in Path(f"/proc/{process}/task").glob("*"):
        with suppress(OSError):
            if (thread / "stat").read_text().rpartition(")")[2].split()[0] in "RD":
                return True
            if any(_is_running(int(child)) for child in (thread / "children").read_text().split()):
                return True
    return False
