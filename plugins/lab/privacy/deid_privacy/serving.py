"""A benchmark server.

Spans and models come in by HTTP, this code runs them where the labels are, and rounded scores go
out.

``PUT /submissions/NAME`` answers with the scores of redaction of what its body holds, a file of
spans or a ZIP archive of a model's folder; ``PUT /submissions/TASK/NAME`` with those of an encoder
on a task; ``GET /tasks`` names these, ``GET /leaderboard`` has the latest scores of each, and ``GET
/`` the same as a page. Of a submission that fails, the site's log alone says why. Each sender has a
token and so many tries.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import stat
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO

from deid_assets.extending import Document, InputError
from deid_privacy.board import board_html
from deid_privacy.receiving import (
    GRACE,
    PART,
    Dated,
    Line,
    Sent,
    Server,
    Told,
    is_archive,
    receive,
)
from deid_privacy.site import STEP, evaluate_model, evaluate_spans
from deid_privacy.site_log import REDACTION, Standing, leaderboard, record, tries_of
from deid_privacy.site_models import unpack
from deid_privacy.site_tasks import FOLDS, evaluate_task
from deid_privacy.utility.examples import TaskData

SHORTEST = 16
"""Characters of a token."""
MOST_BYTES = 2 * 2**30
"""Of a submission: of a model's archive, which is kept on disk and never in memory."""
TRIES = 5
"""Of one sender: at under nine bits a try, under 45 in all.

A model that is made to tell could spell a short word with these.
"""
_PUT = re.compile(
    r"/submissions/(?:(?P<task>[\w.-]+)/)?(?P<name>[a-z0-9][a-z0-9_-]{0,40})", re.ASCII
)
_SENDER = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}", re.ASCII)
_HEADERS = 10.0
"""Seconds in which the headers of a request are there."""
_ANSWER = 30.0
"""Seconds in which an answer is taken, and the rest of a body that is refused comes."""
MOST_CALLERS = 32
"""Connections that are served at a time; another one is closed."""
_FAILED = "the submission gave no scores; the log of the site says why"

_UNREAD = (
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
)
"""What is answered before a body was read."""

_BUSY: Told = (
    HTTPStatus.SERVICE_UNAVAILABLE,
    {"fault": "another submission runs; try again later"},
)


@dataclass(frozen=True, slots=True)
class Site:
    """What is evaluated on, and for whom.

    Args:
        documents: Notes with gold.
        log: Of evaluations.
        senders: Name to the token that it has to show.
        seconds: After which a submission is ended.
        tasks: Beside redaction, by name.
        folds: Of each task.
        tries: Of each sender, over all names and tasks.
        grace: Seconds for which headers, and a body, may come slowly.
    """

    documents: Sequence[Document] = field(repr=False)
    log: Path
    senders: Mapping[str, str] = field(repr=False)
    seconds: float = 600
    tasks: Mapping[str, TaskData] = field(default_factory=dict, repr=False)
    folds: int = FOLDS
    tries: int = TRIES
    grace: float = GRACE
    _busy: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _entry: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _arriving: set[str] = field(default_factory=set, repr=False)

    def sender_of(self, token: bytes) -> str:
        """Return whose token it is; empty where it is nobody's."""
        found = [
            name for name, own in self.senders.items() if hmac.compare_digest(token, own.encode())
        ]
        return found[0] if found else ""

    def submit(
        self, sender: str, name: str, sent: Sent, size: int, *, task: str = REDACTION
    ) -> Told:
        """Return what the sender is told of a submission to a task; one runs at a time.

        Nothing is read of one that may not run, and nothing is a try before it has arrived whole.
        While it arrives it holds up nobody: of each sender one does.

        Args:
            sender: Whose it is.
            name: What they call it.
            sent: It arrives here.
            size: Its bytes, as the sender says.
            task: What it is scored on.
        """
        if self._busy.locked():
            return _BUSY
        if not self._begins(sender):
            return HTTPStatus.SERVICE_UNAVAILABLE, {
                "fault": "another submission of yours arrives; try again later"
            }
        try:
            if tries_of(self.log, sender) >= self.tries:
                return HTTPStatus.TOO_MANY_REQUESTS, {
                    "fault": f"all {self.tries} tries are used; ask the site for more"
                }
            with tempfile.TemporaryFile() as body:
                refused = receive(sent, size, body, grace=self.grace)
                return refused or self._take_turn(sender, name, body, task)
        finally:
            self._arriving.discard(sender)

    def _begins(self, sender: str) -> bool:
        """Whether no other submission of a sender arrives; if so, this one does from now on."""
        with self._entry:
            if sender in self._arriving:
                return False
            self._arriving.add(sender)
            return True

    def _take_turn(self, sender: str, name: str, body: BinaryIO, task: str) -> Told:
        """Return what is told of a submission that arrived whole, unless another one runs."""
        if not self._busy.acquire(blocking=False):
            return _BUSY
        try:
            return self._evaluate(sender, name, body, task)
        finally:
            self._busy.release()

    def _evaluate(self, sender: str, name: str, body: BinaryIO, task: str) -> Told:
        """Return what is told of a submission; whatever ends it, it is a try that counts."""
        scores, fault = None, "its evaluation was broken off"
        try:
            scores, fault = self._scores(body, task), ""
        except InputError as error:
            fault = str(error)
        finally:
            body.seek(0)
            digest = hashlib.file_digest(body, "sha256").hexdigest()  # type: ignore[arg-type]
            record(self.log, name, digest, scores, fault, task=task, sender=sender)
        if scores is None:
            return HTTPStatus.UNPROCESSABLE_ENTITY, {"fault": _FAILED}
        return HTTPStatus.OK, scores

    def _scores(self, body: BinaryIO, task: str) -> dict[str, Any]:
        if not is_archive(body):
            if task != REDACTION:
                raise InputError("a task takes an encoder as a ZIP archive, and no spans")
            return evaluate_spans(body.read(), self.documents)
        with tempfile.TemporaryDirectory() as folder:
            model = unpack(body, Path(folder))
            if task == REDACTION:
                return evaluate_model(model, self.documents, seconds=self.seconds)
            return evaluate_task(model, self.tasks[task], seconds=self.seconds, folds=self.folds)

    def board(self) -> list[Standing]:
        """Return the latest scores of each submission, task by task, the best first."""
        return leaderboard(self.log) if self.log.exists() else []

    def list_offered(self) -> list[dict[str, Any]]:
        """Return what submissions may be sent to."""
        every: list[dict[str, Any]] = [
            {"task": REDACTION, "documents": len(self.documents), "step": STEP}
        ]
        for name, data in self.tasks.items():
            size = {"documents": len(data.examples), "folds": self.folds, "step": STEP}
            every.append({"task": name, "kind": data.kind, "labels": data.labels, **size})
        return every


def read_senders(path: Path) -> dict[str, str]:
    """Return the senders of a file: a name and a token in each line.

    Raises:
        InputError: It cannot be read, others may read it, or a line is something else; no message
            holds a token.
    """
    try:
        mode = path.stat().st_mode
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(
            f"{path.name}: it cannot be read; give a file with a name and a token in each line"
        ) from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InputError(
            f"{path.name}: others may read its tokens; run chmod 600 on it, and change the tokens"
            " if they did"
        )
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        name, _, token = line.partition(" ")
        if (
            not _SENDER.fullmatch(name)
            or name in found
            or len(token) < SHORTEST
            or token in found.values()
        ):
            raise InputError(
                f"{path.name}, line {number}: write a new name, a blank and a token of {SHORTEST}"
                " characters or more, such as openssl rand -hex 16 gives"
            )
        found[name] = token
    if not found:
        raise InputError(f"{path.name}: it names no sender; write a name and a token in each line")
    return found


class _Handler(BaseHTTPRequestHandler):
    site: Site
    server_version, sys_version = "deid-privacy", ""

    def setup(self) -> None:
        """Give the headers a time by which they must have come, however slowly they do."""
        super().setup()
        self.rfile.close()
        due = time.monotonic() + min(self.site.grace, _HEADERS)
        self.rfile: Line = Line(Dated(self.connection, due))

    def do_GET(self) -> None:
        if not self._sender():
            return
        if self.path == "/":
            self._send(
                HTTPStatus.OK,
                board_html({"": self.site.board()}).encode(),
                "text/html; charset=utf-8",
            )
        elif self.path == "/leaderboard":
            self._say(HTTPStatus.OK, [asdict(one) for one in self.site.board()])
        elif self.path == "/tasks":
            self._say(HTTPStatus.OK, self.site.list_offered())
        else:
            self._say(
                HTTPStatus.NOT_FOUND,
                {"fault": "no such page; there are /, /leaderboard and /tasks"},
            )

    def do_PUT(self) -> None:
        sender = self._sender()
        if not sender:
            return
        named = _PUT.fullmatch(self.path)
        size = self.headers.get("Content-Length", "")
        if not named:
            self._say(
                HTTPStatus.NOT_FOUND,
                {"fault": "a name has lower-case letters, digits, - and _, at most 41"},
            )
        elif (task := named["task"] or REDACTION) != REDACTION and task not in self.site.tasks:
            self._say(
                HTTPStatus.NOT_FOUND,
                {"fault": "no such task; GET /tasks names those that there are"},
            )
        elif not size.isdecimal():
            self._say(
                HTTPStatus.LENGTH_REQUIRED, {"fault": "the length of the submission is not told"}
            )
        elif not 0 < int(size) <= MOST_BYTES:
            self._say(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                {"fault": f"a submission has 1 to {MOST_BYTES:,} bytes"},
            )
        else:
            told = self.site.submit(sender, named["name"], self.rfile, int(size), task=task)
            self._say(*told)
            if told[0] in _UNREAD:  # else the answer may be lost with the line
                self.rfile.raw.due = time.monotonic() + min(self.site.grace, _ANSWER)
                self.rfile.read(min(int(size), PART))

    def _sender(self) -> str:
        """Return whose token the caller shows; without one it is told so, and nothing else."""
        sender = self.site.sender_of(_read_token(self.headers.get("Authorization", "")))
        if not sender:
            self._say(
                HTTPStatus.UNAUTHORIZED, {"fault": "show your token: Authorization: Bearer TOKEN"}
            )
        return sender

    def _say(self, status: HTTPStatus, said: Any) -> None:
        self._send(status, json.dumps(said, indent=1).encode() + b"\n", "application/json")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.close_connection = True
        self.connection.settimeout(_ANSWER)  # of the whole answer
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status == HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", "Basic realm=site")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing: the log of the site has what was evaluated, and a path may hold anything."""


def _read_token(header: str) -> bytes:
    """Return the token of a header.

    The whole of a bearer's, or the password that a browser asked for.
    """
    kind, _, value = header.partition(" ")
    if kind != "Basic":
        return value.encode() if kind == "Bearer" else b""
    try:
        return base64.b64decode(value, validate=True).partition(b":")[2]
    except binascii.Error:
        return b""


def server(
    site: Site, *, host: str = "127.0.0.1", port: int = 0, most: int = MOST_CALLERS
) -> ThreadingHTTPServer:
    """Return a server that is bound and does not serve yet; port 0 takes a free one."""
    return Server((host, port), type("Handler", (_Handler,), {"site": site}), most=most)
