"""What cannot be taken is one clear problem, which names the note and never its text."""

import http.client
import json
import socket
import threading
import time
from urllib.parse import urlsplit

import pytest

from deid_serve import connections
from deid_serve.limits import ServiceLimits

SECRET_WORD = "Quillfeather"


def note(**fields):
    return {"text": f"Seen by {SECRET_WORD}.", "id": "n1", **fields}


BODIES = {
    "not UTF-8": (b'{"text": "\xff\xfe Quillfeather"}', 400, "byte 10 is not UTF-8"),
    "no JSON": (b'{"text": Quillfeather}', 400, "not JSON from character 9"),
    "nothing": (b"", 400, "not JSON from character 0"),
    "a list": (b'["Quillfeather"]', 400, "the body is no JSON object"),
    "NaN": (b'{"text": NaN}', 400, "NaN or an infinity"),
    "a key twice": (b'{"text": "a", "text": "Quillfeather"}', 400, "a key twice"),
    "deep": (b'{"text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400, "nested too deep"),
    "a long number": (b'{"text": ' + b"9" * 5000 + b"}", 400, "too long to read"),
    "a lone surrogate": (
        b'{"text": "\\ud800 Quillfeather"}',
        422,
        "it holds a lone surrogate at 0",
    ),
    "NUL": (b'{"text": "Quillfeather \\u0000", "id": "n1"}', 422, "it holds a NUL character at 13"),
    "a number": (b'{"text": 7}', 422, "text is no string"),
    "no text": (b"{}", 422, "text is missing"),
    "an unknown field": (b'{"text": "a", "Quillfeather": 1}', 422, "a field is unknown"),
    "a word for a truth value": (
        b'{"text": "a", "explain": "Quillfeather"}',
        422,
        "explain is neither true nor false",
    ),
    "an empty id": (b'{"text": "Quillfeather", "id": ""}', 422, "id is empty"),
    "an id with a line": (b'{"text": "Quillfeather", "id": "a\\nb"}', 422, "cannot be printed"),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_cannot_be_read_is_one_problem(served, name):
    body, status, detail = BODIES[name]
    for path in ("/v1/redact", "/v1/detect"):
        if "explain" in detail or path == "/v1/detect":
            found = served.problem(path, body, status=status)
            assert detail in found["detail"]
            assert SECRET_WORD not in json.dumps(found)


@pytest.mark.parametrize(
    ("fields", "detail", "remedy"),
    [
        ({"lang": "xx"}, "its lang is no code of ISO 639-1", "leave lang out"),
        ({"lang": "EN"}, "its lang is no code of ISO 639-1", "leave lang out"),
        ({"lang": SECRET_WORD}, "its lang is no code of ISO 639-1", "leave lang out"),
        ({"policy": "tagg"}, "did you mean 'tag'?", "choose one of blackout"),
        ({"policy": "/etc/passwd"}, "there is no policy of this name", "choose one of"),
        ({"lang": "et", "policy": "surrogate"}, "'et'", "install a plugin that brings one"),
    ],
)
def test_an_unknown_language_or_policy_is_one_problem(served, fields, detail, remedy):
    found = served.problem("/v1/redact", note(**fields), status=422)

    assert detail in found["detail"]
    assert remedy in found["remedy"]
    assert SECRET_WORD not in json.dumps(found)


def test_a_policy_that_needs_a_key_is_refused_without_one(start, monkeypatch):
    monkeypatch.delenv("DEID_KEY", raising=False)
    with start(detectors=("talker",), secret=None) as served:
        found = served.problem("/v1/redact", note(policy="surrogate"), status=422)

        assert "need a key" in found["detail"]
        assert "set DEID_KEY" in found["remedy"]
        assert served.ask("/v1").json()["key"] == "not set"


def test_notes_of_a_batch_need_ids_of_their_own(served):
    twice = {"notes": [note(), note()]}
    found = served.problem("/v1/batch", twice, status=422)
    assert (found["note"], found["detail"]) == ("n1", "its id is there twice")
    served.problem("/v1/batch", {"notes": []}, status=422)
    assert (
        "notes[0].text is missing"
        in served.problem("/v1/batch", {"notes": [{}]}, status=422)["detail"]
    )


def test_limits_are_told_before_the_whole_body_is_read(start):
    limits = ServiceLimits(bytes_=10_000, notes=3, chars=100)
    with start(detectors=("talker",), limits=limits) as served:
        found = served.problem("/v1/redact", {"text": "a" * 20_000}, status=413)
        assert "more than 10,000 bytes" in found["detail"]
        found = served.problem("/v1/redact", note(text="a" * 101), status=422)
        assert (found["note"], found["detail"]) == ("n1", "it has 101 characters, more than 100")
        many = {"notes": [note(id=f"n{at}") for at in range(4)]}
        assert "more than 3" in served.problem("/v1/batch", many, status=422)["detail"]
        host, port = served.base.removeprefix("http://").split(":")
        for headers, body in (
            ({"Content-Length": str(10 << 20)}, b"{"),  # 10 MB are announced
            ({"Transfer-Encoding": "chunked"}, None),  # and come unannounced
        ):
            connection = http.client.HTTPConnection(host, int(port), timeout=30)
            connection.putrequest("POST", "/v1/redact")
            sent = {"Authorization": "Bearer a-token-of-the-tests-and-no-other", **headers}
            for name, value in {**sent, "Content-Type": "application/json"}.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            if body is None:
                connection.send(b"4e20\r\n" + b"a" * 20_000 + b"\r\n")
            assert connection.getresponse().status == 413
            connection.close()


def test_a_slow_body_and_slow_work_are_cut_off_and_a_queue_is_bounded(start):
    limits = ServiceLimits(seconds=0.6, waiting=2)
    with start(detectors=("talker",), options={"talker": {"seconds": 0.5}}, limits=limits) as one:
        host, port = one.base.removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        connection.putrequest("POST", "/v1/redact")
        connection.putheader("Authorization", "Bearer a-token-of-the-tests-and-no-other")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", "100")
        connection.endheaders(b'{"text":')
        assert connection.getresponse().status == 503
        connection.close()
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(one.ask("/v1/redact", note())))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        kinds = {answer.json()["type"] for answer in answers}
        assert kinds == {"/docs#busy", "/docs#too-slow"}
        assert all(int(answer.headers["retry-after"]) for answer in answers)
        until = time.monotonic() + 10
        while one.service.lane.held and time.monotonic() < until:
            threading.Event().wait(0.05)
        assert one.service.lane.held == 0


def test_connections_without_a_request_are_closed(served, monkeypatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.3)
    place = ("127.0.0.1", urlsplit(served.base).port)
    for first, then in ((b"", b""), (b"", b"GET / HTTP/1.1\r\nHost: a"), (whole(place), b"GET")):
        with socket.create_connection(place, timeout=4) as held:
            if first:
                held.sendall(first)
                assert held.recv(4096).startswith(b"HTTP/1.1 200")
            held.sendall(then)
            while held.recv(4096):  # the rest of an answer, and then the end
                pass


def whole(place):
    """A request."""
    return b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % place[1]


def test_another_media_type_method_or_address_is_one_problem(served):
    for headers in ({"Content-Type": "text/plain"}, {"Content-Type": ""}):
        assert served.ask("/v1/redact", b"{}", headers=headers).status_code == 415
    packed = {"Content-Encoding": "gzip"}
    assert "compressed" in served.problem("/v1/redact", b"{}", status=400, headers=packed)["detail"]
    for path, body in (("/v1/nothing", {}), ("/v1/redact/", {}), ("/v1/redact", None)):
        served.problem(path, body, status=404)


def test_a_fault_of_the_program_shows_its_class_alone(served, monkeypatch):
    def broken(*_):
        raise RuntimeError(SECRET_WORD)

    monkeypatch.setattr(type(served.service.door), "detect", broken)
    found = served.problem("/v1/detect", note(), status=500)

    assert found["detail"] == "RuntimeError"
    assert SECRET_WORD not in json.dumps(found)
