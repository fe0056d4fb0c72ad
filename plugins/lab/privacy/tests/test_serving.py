"""The server gives rounded scores to who shows a sender's token, so many times, and nothing else to
anybody.
"""

from __future__ import annotations

import base64
import http.client
import io
import json
import select
import socket
import threading
import time
import tracemalloc
import urllib.request
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from deid_assets import DisjointSpans, Note, Phi, Span
from deid_assets.core.errors import InputError
from deid_assets.extending import Document
from deid_privacy.serving import MOST_BYTES, Site, read_senders, server
from deid_privacy.site_log import record, tries_of
from deid_privacy.utility.examples import TaskData, TaskDocument

TOKENS = {"north": "the token of the north", "south": "the token of the south"}
SPANS = [{"start": 0, "end": 4, "label": "NAME"}]
HONEST = "\n".join(
    json.dumps({"id": f"patient-{number}", "spans": SPANS}) for number in range(12)
).encode()
PROGRAM = b"import sys; print(sys.stdin.read())"


GRACE, CALLERS = 2.0, 4


@pytest.fixture
def site(tmp_path):
    notes = [Note(f"patient-{number}", "Anna was seen.", lang="en") for number in range(12)]
    documents = [
        Document(one, DisjointSpans(one.note_id, one.digest, (Span(0, 4, Phi.NAME),)))
        for one in notes
    ]
    examples = (
        TaskDocument(f"d{number}", f"Visit {number}.", labels=frozenset({"in"}))
        for number in range(30)
    )
    tasks = {"triage": TaskData("triage", "classes", ("in", "out"), tuple(examples))}
    return Site(
        documents, tmp_path / "log.jsonl", TOKENS, seconds=30, tasks=tasks, folds=3, tries=3
    )


@contextmanager
def served(site, **options):
    with server(site, **options) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield listening.server_port, site
        listening.shutdown()
        thread.join()


@pytest.fixture
def address(site):
    with served(site) as found:
        yield found


@pytest.fixture
def hasty(site):
    """A site that waits for few seconds and few callers."""
    with served(replace(site, grace=GRACE), most=CALLERS) as found:
        yield found


def asked(port, method, path, body=None, *, token=TOKENS["north"], **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, body, {"Authorization": f"Bearer {token}", **headers})
    answer = connection.getresponse()
    said = json.loads(answer.read())
    connection.close()
    return answer.status, said


def test_scores_go_out_and_stand_on_the_board(address):
    port, site = address
    status, scores = asked(port, "PUT", "/submissions/honest", HONEST)
    assert (status, scores) == (200, {"notes": 12, "f1": 1.0, "covered": 1.0})
    status, rows = asked(port, "GET", "/leaderboard")
    assert (status, [(row["task"], row["submission"]) for row in rows]) == (
        200,
        [("redaction", "honest")],
    )
    assert "Anna" not in json.dumps(rows) + site.log.read_text("utf-8")


def test_the_page_shows_what_the_log_has_and_no_word_of_a_note(address):
    port, site = address
    asked(port, "PUT", "/submissions/honest", HONEST)
    of_task = {"kind": "classes", "documents": 30, "folds": 3, "f1": 0.85, "guess": 0.5}
    record(site.log, "words", "d", of_task, task="triage", sender="north")
    assert [row["task"] for row in asked(port, "GET", "/tasks")[1]] == ["redaction", "triage"]
    browser = base64.b64encode(f"anybody:{TOKENS['south']}".encode()).decode()
    with urllib.request.urlopen(
        urllib.request.Request(
            f"http://127.0.0.1:{port}/", headers={"Authorization": f"Basic {browser}"}
        )
    ) as answer:
        page = answer.read().decode()
    assert "honest" in page
    assert "0.85" in page
    assert not any(word in page for word in ("Visit", "Anna", "patient"))


def test_a_program_is_no_submission_and_the_log_alone_says_why(address):
    port, site = address
    for path in ("/submissions/talker", "/submissions/triage/talker"):
        status, said = asked(port, "PUT", path, PROGRAM)
        assert (status, said) == (
            422,
            {"fault": "the submission gave no scores; the log of the site says why"},
        )
    assert "line 1 of the spans is no object" in site.log.read_text("utf-8")
    assert "a task takes an encoder" in site.log.read_text("utf-8")


def test_tries_are_counted_for_each_sender_whatever_the_name(address):
    port, site = address
    bodies = [HONEST, PROGRAM, HONEST, HONEST, PROGRAM]
    told = [
        asked(port, "PUT", f"/submissions/name-{at}", body)[0] for at, body in enumerate(bodies)
    ]
    assert told == [200, 422, 200, 429, 429]
    assert asked(port, "PUT", "/submissions/name-0", HONEST, token=TOKENS["south"])[0] == 200
    assert len(site.log.read_text("utf-8").splitlines()) == 4


def damaged_archive(method):
    """An archive whose member cannot be unpacked, though its directory is whole."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("model.safetensors", bytes(range(256)) * 20)
    content = bytearray(buffer.getvalue())
    content[60:90] = b"\xff" * 30
    return bytes(content)


@pytest.mark.parametrize(
    "method",
    [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA],
)
def test_a_damaged_archive_is_a_try_that_counts(address, method):
    """A decompressor's own error ended the answer, and the try was not counted."""
    port, site = address
    for number in range(2):
        status, _ = asked(port, "PUT", f"/submissions/a{number}", damaged_archive(method))
        assert status == 422
    assert site.log.read_text("utf-8").count("no ZIP archive that can be read") == 2


def test_whatever_ends_an_evaluation_it_is_a_try_that_counts(address):
    _, site = address
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    with pytest.raises(KeyError):
        site.submit(
            "north", "a", io.BytesIO(empty.getvalue()), len(empty.getvalue()), task="of nobody"
        )
    assert tries_of(site.log, "north") == 1


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/leaderboard", {"token": "another"}, 401),
        ("PUT", "/submissions/a", {"token": ""}, 401),
        ("GET", "/../labels/gold.json", {}, 404),
        ("GET", "/%2e%2e/log.jsonl", {}, 404),
        ("PUT", "/submissions/../../etc/x", {}, 404),
        ("PUT", "/submissions/A b", {}, 404),
        ("PUT", "/submissions/unknown/a", {}, 404),
        ("GET", "/tasks", {"token": ""}, 401),
        ("GET", "/", {"Authorization": "Basic !"}, 401),
        ("PUT", "/submissions/a", {"Content-Length": str(MOST_BYTES + 1)}, 413),
        ("PUT", "/submissions/a", {"Content-Length": "-1"}, 411),
    ],
)
def test_what_is_refused(address, method, path, headers, status):
    port, site = address
    path = path.replace(" ", "%20")
    assert asked(port, method, path, b"" if method == "PUT" else None, **headers)[0] == status
    assert not site.log.exists()


class Endless(io.RawIOBase):
    """A body that goes on as long as somebody reads, and counts what was read."""

    def __init__(self, begins=b""):
        self.begins = begins
        self.given = 0

    def read(self, size=-1):
        assert 0 <= size <= 2**20, "a body is read part by part"
        part = (self.begins + bytes(size))[:size]
        self.begins = b""
        self.given += len(part)
        return part


def peak_of(call):
    """What a call returns, and the most bytes that it held."""
    tracemalloc.start()
    found = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found, peak


@pytest.mark.parametrize(
    "begins", [b"", b'{"id": "patient-1"', b" PK\x03\x04", b"P", b"\xef\xbb\xbfPK"]
)
def test_spans_are_refused_as_soon_as_they_are_too_many(address, begins):
    _, site = address
    body = Endless(begins)
    (status, said), peak = peak_of(lambda: site.submit("north", "a", body, MOST_BYTES))
    assert (status, "spans have at most" in said["fault"]) == (413, True)
    assert body.given <= 2**20
    assert peak < 8 * 2**20
    assert not site.log.exists()


def test_an_archive_is_kept_on_disk_while_it_arrives(address):
    _, site = address
    body = Endless(b"PK")
    (status, _), peak = peak_of(lambda: site.submit("north", "a", body, 64 * 2**20))
    assert (status, body.given) == (422, 64 * 2**20)
    assert peak < 8 * 2**20


def test_a_body_that_is_no_try_is_not_read(address):
    _, site = address
    for _ in range(3):
        site.submit("north", "a", io.BytesIO(PROGRAM), len(PROGRAM))
    body = Endless(b"PK")
    assert site.submit("north", "a", body, MOST_BYTES)[0] == 429
    assert body.given == 0


def test_a_body_that_ends_early_or_comes_too_slowly_is_no_try(address):
    _, site = address
    assert site.submit("north", "a", io.BytesIO(HONEST), len(HONEST) + 1)[0] == 400
    hasty = replace(site, grace=-1)
    assert hasty.submit("north", "a", Endless(b"PK"), MOST_BYTES)[0] == 408
    assert not site.log.exists()


HEAD = (
    f"PUT /submissions/a HTTP/1.1\r\nAuthorization: Bearer {TOKENS['north']}\r\n"
    f"Content-Length: {2**20}\r\n\r\n"
).encode()


def trickled(port, whole, gap=0.1):
    """What is answered to a caller who sends a few bytes at a time, and after how long."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall(whole)
        with suppress(ConnectionError):
            while not select.select([line], [], [], gap)[0]:
                if time.monotonic() - began > 10 * GRACE:
                    return b"nothing", time.monotonic() - began
                line.sendall(b"x")
            return line.recv(2**16), time.monotonic() - began
    return b"", time.monotonic() - began


def test_a_slow_sender_is_cut_off_and_holds_up_nobody(hasty):
    port, site = hasty
    with ThreadPoolExecutor(1) as apart:
        slow = apart.submit(trickled, port, HEAD)
        while not site._arriving:
            time.sleep(0.01)
        other = asked(port, "PUT", "/submissions/b", HONEST, token=TOKENS["south"])
        again = asked(port, "PUT", "/submissions/b", HONEST)
        answer, seconds = slow.result()
    assert other[0] == 200
    assert (again[0], again[1]["fault"]) == (
        503,
        "another submission of yours arrives; try again later",
    )
    assert answer.startswith(b"HTTP/1.0 408")
    assert GRACE <= seconds < 10 * GRACE
    assert tries_of(site.log, "north") == 0
    assert asked(port, "PUT", "/submissions/b", HONEST)[0] == 200


@pytest.mark.parametrize("begins", [b"", b"PUT /submissions/a HTTP/1.1\r\nX: "])
def test_headers_that_do_not_end_are_cut_off(hasty, begins):
    answer, seconds = trickled(hasty[0], begins)
    assert answer == b""
    assert GRACE <= seconds < 10 * GRACE


def test_so_many_callers_are_served_at_a_time(hasty):
    port, _ = hasty
    silent = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(CALLERS)]
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        asked(port, "GET", "/leaderboard")
    assert [line.recv(1) for line in silent] == [b""] * CALLERS
    assert asked(port, "GET", "/leaderboard") == (200, [])
    for line in silent:
        line.close()


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        ("north short\n", 0o600, "line 1: write a new name"),
        (f"north {'a' * 20}\nnorth {'b' * 20}\n", 0o600, "line 2: write a new name"),
        (f"north {'a' * 20}\nsouth {'a' * 20}\n", 0o600, "line 2: write a new name"),
        ("", 0o600, "names no sender"),
        (f"north {'a' * 20}\n", 0o644, "others may read its tokens"),
    ],
)
def test_senders_are_told_apart(tmp_path, content, mode, said):
    path = tmp_path / "senders"
    path.write_text(content)
    path.chmod(mode)
    with pytest.raises(InputError, match=said) as caught:
        read_senders(path)
    assert "aaaa" not in str(caught.value)


def test_a_sender_has_a_name_and_a_token(tmp_path):
    path = tmp_path / "senders"
    path.write_text(f"north {'a' * 16}\nsouth {'b' * 16}\n")
    path.chmod(0o600)
    assert read_senders(path) == {"north": "a" * 16, "south": "b" * 16}
