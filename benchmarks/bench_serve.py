"""How long `deid serve` takes for a note of 2 KB, alone and with several callers, on loopback.

The server is `deid serve` with the default ensemble, in a process of its own. Requests are bounded:
each part sends so many and no more. Beside the clock, the processor time of the server is told,
which does not count what else the machine does.

python benchmarks/bench_serve.py --requests 200
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from conditions import conditions

from deid_assets.extending.languages import WORDS, languages

SEED = 41
CHARS = 2_000
MOST = 5_000
"""Requests of a part."""
LANGUAGES = tuple(languages(WORDS))
KEY = "5a" * 32
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class RunningServer:
    """A server that runs.

    Args:
        port: Of loopback.
        token: Of callers.
        process: It.
    """

    port: int
    token: str
    process: int

    def post(self, path: str, body: bytes, kind: str = "application/json") -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content

    def processor_time(self) -> float:
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100, help=f"of each part, {MOST} at most")
    requests = min(parser.parse_args().requests, MOST)
    print(conditions(str(SEED)))
    texts = notes_of_2_kb(requests)
    with running_server() as server:
        for lang, text in texts[: 2 * len(LANGUAGES)]:  # dictionaries are read once
            server.post("/v1/redact", redact_body(lang, text))
        measure_parts(server, texts)


def measure_parts(server: RunningServer, texts: Sequence[tuple[str, str]]) -> None:
    redact = [redact_body(lang, text) for lang, text in texts]
    detect = [json.dumps({"text": text, "lang": lang}).encode() for lang, text in texts]
    explain = [
        json.dumps({"text": text, "lang": lang, "explain": True, "edits": True}).encode()
        for lang, text in texts
    ]
    measure("detect", server, "/v1/detect", detect)
    measure("redact", server, "/v1/redact", redact)
    measure("redact, explained", server, "/v1/redact", explain)
    measure("session begun", server, "/v1/sessions", detect[:100])
    for callers in (2, 4, 8):
        measure(f"redact, {callers} callers", server, "/v1/redact", redact, callers=callers)
    rows = [{"id": f"n{at}", "text": text, "lang": lang} for at, (lang, text) in enumerate(texts)]
    batches = [json.dumps({"notes": rows[at : at + 50]}).encode() for at in range(0, len(rows), 50)]
    measure("batch of 50", server, "/v1/batch", batches)


def measure(
    what: str,
    server: RunningServer,
    path: str,
    bodies: Sequence[bytes],
    *,
    callers: int = 1,
) -> None:
    spent: list[float] = []
    statuses: list[int] = []
    lock = threading.Lock()

    def ask(body: bytes) -> None:
        began = time.perf_counter()
        status, _ = server.post(path, body)
        with lock:
            spent.append(1000 * (time.perf_counter() - began))
            statuses.append(status)

    used, began = server.processor_time(), time.perf_counter()
    if callers == 1:
        run_all(ask, bodies)
    else:
        with ThreadPoolExecutor(callers) as pool:
            list(pool.map(ask, bodies))
    clock = time.perf_counter() - began
    processor = 1000 * (server.processor_time() - used) / len(bodies)
    found = {status: statuses.count(status) for status in sorted(set(statuses))}
    print(
        f"{what}: p50 {share(spent, 0.5):.0f}, p95 {share(spent, 0.95):.0f}, p99"
        f" {share(spent, 0.99):.0f} ms; {len(bodies) / clock:.1f} requests/s; {processor:.1f} ms of"
        f" processor time each; answers {found}"
    )


def run_all(ask: Callable[[bytes], None], bodies: Sequence[bytes]) -> None:
    for body in bodies:
        ask(body)


def share(values: Sequence[float], part: float) -> float:
    """Return the value below which that part of the values lies."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(part * len(ranked)))]


def redact_body(lang: str, text: str) -> bytes:
    return json.dumps({"text": text, "lang": lang, "policy": "safe_harbor"}).encode()


def notes_of_2_kb(count: int) -> list[tuple[str, str]]:
    """Return synthetic notes of 2,000 characters in several languages, each another text."""
    from deid_synthesis import make_corpus  # noqa: PLC0415 - loads its lists

    found: list[tuple[str, str]] = []
    for lang in LANGUAGES:
        own = make_corpus(lang=lang, notes=3 * count, seed=SEED)
        long = (note.text for note, _ in own if len(note.text) >= CHARS)
        found += [(lang, text[:CHARS]) for text in long][: -(-count // len(LANGUAGES))]
    return [found[at] for at in sorted(range(len(found)), key=lambda at: (at * 7919) % 104_729)][
        :count
    ]


@contextmanager
def running_server() -> Iterator[RunningServer]:
    with tempfile.TemporaryDirectory() as folder:
        token, said = Path(folder) / "token", Path(folder) / "said"
        command = [str(Path(sys.executable).parent / "deid"), "serve", "--port", "0", "--quiet"]
        with said.open("wb") as file:
            process = subprocess.Popen(
                [*command, "--token-file", str(token)],
                env={**os.environ, "DEID_KEY": KEY},
                stdout=file,
                stderr=file,
            )
        try:
            while "the token is in" not in said.read_text() and process.poll() is None:
                time.sleep(0.1)
            found = re.search(r"http://127\.0\.0\.1:(\d+)", said.read_text())
            if not found:
                raise SystemExit(said.read_text())
            yield RunningServer(int(found[1]), token.read_text().strip(), process.pid)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


if __name__ == "__main__":
    main()
