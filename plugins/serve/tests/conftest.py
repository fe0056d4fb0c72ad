"""A real server on loopback, in a thread, with detectors of its own."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
import requests
import uvicorn

from deid_serve.app import NoteService
from deid_serve.commands import server_config
from deid_serve.guarding import Doorkeeper
from deid_serve.limits import ServiceLimits
from deid_serve.pipeline_door import open_door

SECRET = bytes.fromhex("5a" * 32)
TOKEN = "a-token-of-the-tests-and-no-other"
BODY = '''
"""Test detector: names with Zed; it breaks on one word, prints what it reads, and may wait."""

import logging
import re
import time

from deid_assets import Phi, Span, SpanSet

NAME = re.compile(r"Zed[a-z]+(?: Cald[a-z]+)?|ZED[A-Z]+(?: CALD[A-Z]+)?")


class Detector:
    name = "talker"
    version = "1"
    labels = frozenset({Phi.NAME})

    def __init__(self, *, seconds=0.0):
        self._seconds = seconds

    def detect(self, notes):
        time.sleep(self._seconds)
        return [SpanSet.of(note, self._spans(note)) for note in notes]

    def _spans(self, note):
        print(note.text, flush=True)
        logging.getLogger("talker").critical(note.text)
        if "tripwire" in note.text:
            raise LookupError(note.text)
        return [Span(*one.span(), Phi.NAME, 0.9, self.name) for one in NAME.finditer(note.text)]
'''


@pytest.fixture(scope="session", autouse=True)
def talker_site(tmp_path_factory):
    """A folder on the path with the detector ``talker``."""
    site = tmp_path_factory.mktemp("site")
    about = site / "deid_talker-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: deid-talker\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[deid_assets.detectors]\ntalker = deid_talker:Detector\n"
    )
    (about / "RECORD").write_text("")
    (site / "deid_talker.py").write_text(BODY)
    sys.path.insert(0, str(site))
    yield site
    sys.path.remove(str(site))


@dataclass
class RunningService:
    """A server that runs.

    Args:
        service: What answers.
        base: Address of the server.
        lines: What it told of requests.
    """

    service: NoteService
    base: str
    lines: list = field(default_factory=list)

    def ask(self, path, body=None, *, token=TOKEN, method=None, **options):
        headers = {"Authorization": f"Bearer {token}", **options.pop("headers", {})}
        if isinstance(body, dict):
            options["json"] = body
        elif body is not None:
            options["data"] = body
            headers.setdefault("Content-Type", "application/json")
        verb = method or ("GET" if body is None else "POST")
        return requests.request(verb, self.base + path, headers=headers, timeout=60, **options)

    def problem(self, path, body, *, status, **options):
        answer = self.ask(path, body, **options)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        found = answer.json()
        assert found["status"] == status
        assert found["title"]
        assert found["detail"]
        assert found["remedy"]
        return found


@contextmanager
def running_service(*, limits=None, **options) -> Iterator[RunningService]:
    listening = socket.socket(proto=socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
    door = open_door(limits=limits or ServiceLimits(), **{"secret": SECRET, **options})
    service = NoteService.of(door, Doorkeeper(TOKEN, hosts))
    found = RunningService(service, f"http://127.0.0.1:{port}")
    app = service.app(lambda *line: found.lines.append(line))
    server = uvicorn.Server(server_config(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        for _ in range(200):
            if server.started:
                break
            threading.Event().wait(0.05)
        yield found
    finally:
        server.should_exit = True
        thread.join(10)
        service.lane.close()
        listening.close()


@pytest.fixture(scope="session")
def start():
    """A function that starts a server for a ``with`` block."""
    return running_service


@pytest.fixture(scope="session")
def served(talker_site):
    """A server with `rules` and `talker`."""
    with running_service(detectors=("rules", "talker")) as found:
        yield found
