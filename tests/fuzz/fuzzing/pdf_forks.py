"""PDFs are read in a process each, started by ``fork`` from one that has the library loaded, not by
a new interpreter.

Starting an interpreter and importing the library take 0.2 s of processor time, reading the file 2
ms. The process that reads is the same but for that: it runs the worker's ``main`` once, under the
worker's own bounds, and ends.

    python -P pdf_forks.py MODULE     # one request per line on standard input, one answer per line
    on standard output
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from types import SimpleNamespace
from typing import Any

SERVER = __file__


class Forks:
    """Takes the place of ``subprocess`` in the reader of PDF.

    The worker's module stands at the end of its command.
    """

    PIPE, DEVNULL, TimeoutExpired = subprocess.PIPE, subprocess.DEVNULL, subprocess.TimeoutExpired

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def _started(self, module: str) -> tuple[Any, Any]:
        if self._process is None:
            command = [sys.executable, "-P", SERVER, module]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        return self._process.stdin, self._process.stdout

    def run(self, command: list[str], *, input: bytes, timeout: float, **_: Any) -> SimpleNamespace:  # noqa: A002
        """Answer as ``subprocess.run`` does."""
        requests, answers = self._started(command[-1])
        requests.write(f"{timeout} ".encode() + input.replace(b"\n", b" ") + b"\n")
        requests.flush()
        answer = answers.readline()
        assert answer, "the process that starts the others is gone"
        if answer == b"timeout\n":
            raise subprocess.TimeoutExpired(command, timeout)
        return SimpleNamespace(stdout=answer.rstrip(b"\n"))

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


def serve(module: str) -> None:
    """Answer requests until there are none."""
    import_module("pypdf")
    worker = import_module(module)
    for line in sys.stdin.buffer:
        limit, _, request = line.partition(b" ")
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _work(worker.main, request, reading, writing)
        os.close(writing)
        answer = _answer(child, reading, float(limit))
        sys.stdout.buffer.write(answer.replace(b"\n", b" ") + b"\n")
        sys.stdout.buffer.flush()


def _work(main: Any, request: bytes, reading: int, writing: int) -> None:
    os.close(reading)
    sys.stdin = io.TextIOWrapper(io.BytesIO(request))
    sys.stdout = io.TextIOWrapper(io.FileIO(writing, "w"), write_through=True)
    code = 1
    try:
        main()
        sys.stdout.flush()
        code = 0
    finally:
        os._exit(code)


def _answer(child: int, reading: int, limit_s: float) -> bytes:
    import select

    end, parts = time.monotonic() + limit_s, []
    while True:
        ready, _, _ = select.select([reading], [], [], max(0, end - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            parts = [b"timeout"]
            break
        part = os.read(reading, 1 << 16)
        if not part:
            break
        parts.append(part)
    os.close(reading)
    os.waitpid(child, 0)
    return b"".join(parts)


if __name__ == "__main__":
    serve(sys.argv[1])
