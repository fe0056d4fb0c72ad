"""What callers of the benchmark server send, as long as they may take and as much as they may."""

from __future__ import annotations

import socket
import threading
import time
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from io import BufferedIOBase, BufferedReader, RawIOBase
from typing import Any, BinaryIO

MOST_SPANS_BYTES = 16 * 2**20
"""Of a file of spans, which is read into memory."""
_ZIP = b"PK"
GRACE, _PACE = 30.0, 2**20
"""Seconds for which a body may be slower than so many bytes a second, on the whole."""
PART = 2**20
"""Bytes of a body that are held in memory at a time, and that are read of one that is refused."""
Sent = BinaryIO | BufferedIOBase
"""A file, or a connection, that what is sent is read from."""

Told = tuple[HTTPStatus, dict[str, Any]]


def receive(sent: Sent, size: int, body: BinaryIO, *, grace: float) -> Told | None:
    """Put what is sent into a file, part by part; return what the sender is told if it is refused.

    Spans are refused as soon as they are seen to be too many, whatever length was told. So is what
    comes slower than ``_PACE`` for longer than ``grace`` seconds, on the whole.
    """
    began, left = time.monotonic(), size
    while left:
        due = began + grace + (size - left) / _PACE
        try:
            part = _part(sent, min(left, PART), due)
        except TimeoutError:
            return HTTPStatus.REQUEST_TIMEOUT, {
                "fault": f"it came slower than {_PACE:,} bytes a second; send it over a faster line"
            }
        if not part:
            return HTTPStatus.BAD_REQUEST, {"fault": "the submission ended before its length"}
        body.write(part)
        left -= len(part)
        if size > MOST_SPANS_BYTES and not is_archive(body):
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {
                "fault": f"spans have at most {MOST_SPANS_BYTES:,} bytes; a model is a ZIP archive"
            }
        body.seek(0, 2)
    return None


def _part(sent: Sent, most: int, due: float) -> bytes:
    """Return what has come, one byte at least, or none at the end.

    Raises:
        TimeoutError: Nothing came in time.
    """
    if time.monotonic() > due:
        raise TimeoutError
    if isinstance(sent, Line):
        sent.raw.due = due
        return sent.read1(most)
    return sent.read(most)


def is_archive(body: BinaryIO) -> bool:
    """Whether a file begins as a ZIP archive does; it is left at its beginning."""
    body.seek(0)
    is_one = body.read(len(_ZIP)) == _ZIP
    body.seek(0)
    return is_one


class Dated(RawIOBase):
    """What comes over a connection, until a moment.

    Args:
        connection: Of a caller.
        due: When nothing more is waited for, of the clock of ``time.monotonic``.
    """

    def __init__(self, connection: socket.socket, due: float) -> None:
        super().__init__()
        self.due = due
        self._connection = connection

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def readinto(self, into: Any) -> int:
        """Read what has come.

        Raises:
            TimeoutError: Nothing came in time.
        """
        left = self.due - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(into)


class Line(BufferedReader):
    """What a caller sends; ``raw.due`` is when nothing more is waited for."""

    raw: Dated


class Server(ThreadingHTTPServer):
    """Serves so many callers at a time; another one is closed unheard, and may come again."""

    def __init__(self, *given: Any, most: int) -> None:
        self._free = threading.BoundedSemaphore(most)
        super().__init__(*given)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a caller in a thread, if there is one free."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a caller and free the thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()
