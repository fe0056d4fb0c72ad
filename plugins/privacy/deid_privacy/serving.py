"""A benchmark server: submissions come in by HTTP, run where the labels are hidden, and scores alone go out.

``PUT /submissions/NAME`` with a program as the body answers with its scores; ``GET /leaderboard`` with the latest of each.
Of a submission that fails, the site's log alone says why: an exit code or the number of a line could carry words out.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from deid_assets.extending import Document, InputError
from deid_privacy.site import evaluate, leaderboard, record

TOKEN = "DEID_SITE_TOKEN"  # noqa: S105 - the name of a variable
SHORTEST = 16
"""Characters of a token."""
MOST_BYTES = 256 * 2**20
"""Of a submission."""
_PUT = re.compile(r"/submissions/([a-z0-9][a-z0-9_-]{0,40})")
_IDLE = 60
"""Seconds that a caller may be silent."""
_FAILED = "the submission gave no scores; the log of the site says why"


@dataclass(frozen=True, slots=True)
class Site:
    """What is evaluated on, and by whom.

    Args:
        documents: Notes with gold.
        folder: Where they lie; submissions find it empty.
        log: Of evaluations; its folder is hidden too.
        runner: Words before the name of a submission's file, such as a Python.
        token: That callers have to show.
        seconds: After which a submission is ended.
    """

    documents: Sequence[Document] = field(repr=False)
    folder: Path
    log: Path
    runner: Sequence[str]
    token: str = field(repr=False)
    seconds: float = 600
    _busy: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def submit(self, name: str, program: bytes) -> tuple[HTTPStatus, dict[str, Any]]:
        """Return what the caller is told of a submission; one runs at a time."""
        if not self._busy.acquire(blocking=False):
            return HTTPStatus.SERVICE_UNAVAILABLE, {"fault": "another submission runs; try again later"}
        try:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "submission"
                file.write_bytes(program)
                return self._evaluated(name, [*self.runner, str(file)])
        finally:
            self._busy.release()

    def _evaluated(self, name: str, command: Sequence[str]) -> tuple[HTTPStatus, dict[str, Any]]:
        hidden = [self.folder, self.log.absolute().parent]
        try:
            scores = evaluate(command, self.documents, hidden=hidden, seconds=self.seconds)
        except InputError as error:
            record(self.log, name, command, None, str(error))
            return HTTPStatus.UNPROCESSABLE_ENTITY, {"fault": _FAILED}
        record(self.log, name, command, scores)
        return HTTPStatus.OK, scores

    def board(self) -> list[dict[str, Any]]:
        """Return the latest scores of each submission, the best first."""
        if not self.log.exists():
            return []
        return [{"submission": name, "at": at, "scores": scores} for name, at, scores in leaderboard(self.log)]


def token_of_environment() -> str:
    """Return the token that callers have to show.

    Raises:
        InputError: There is none, or it is short.
    """
    given = os.environ.get(TOKEN, "")
    if len(given) < SHORTEST:
        raise InputError(
            f"{TOKEN} has {len(given)} characters; set it to {SHORTEST} or more, such as openssl rand -hex 16"
        )
    return given


class _Handler(BaseHTTPRequestHandler):
    site: Site
    server_version, sys_version, timeout = "deid-privacy", "", _IDLE

    def do_GET(self) -> None:
        if self._allowed():
            known = self.path == "/leaderboard"
            self._say(
                *((HTTPStatus.OK, self.site.board()) if known else (HTTPStatus.NOT_FOUND, {"fault": "no such page"}))
            )

    def do_PUT(self) -> None:
        if not self._allowed():
            return
        named = _PUT.fullmatch(self.path)
        size = self.headers.get("Content-Length", "")
        if not named:
            self._say(HTTPStatus.NOT_FOUND, {"fault": "a name has lower-case letters, digits, - and _, at most 41"})
        elif not size.isdecimal():
            self._say(HTTPStatus.LENGTH_REQUIRED, {"fault": "the length of the program is not told"})
        elif not 0 < int(size) <= MOST_BYTES:
            self._say(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"fault": f"a program has 1 to {MOST_BYTES:,} bytes"})
        else:
            self._say(*self.site.submit(named[1], self.rfile.read(int(size))))

    def _allowed(self) -> bool:
        shown = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if hmac.compare_digest(shown.encode(), self.site.token.encode()):
            return True
        self._say(HTTPStatus.UNAUTHORIZED, {"fault": "show the site's token: Authorization: Bearer TOKEN"})
        return False

    def _say(self, status: HTTPStatus, said: Any) -> None:
        body = json.dumps(said, indent=1).encode() + b"\n"
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing: the log of the site has what was evaluated, and a path may hold anything."""


def server(site: Site, *, host: str = "127.0.0.1", port: int = 0) -> ThreadingHTTPServer:
    """Return a server that is bound and does not serve yet; port 0 takes a free one."""
    return ThreadingHTTPServer((host, port), type("Handler", (_Handler,), {"site": site}))
