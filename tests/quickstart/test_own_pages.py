"""Dagster's real web server behind what refuses pages of other sites and other users."""

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
from types import SimpleNamespace

import dagster as dg
import pytest
import uvicorn
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import EmptyWorkspaceTarget
from dagster_webserver.app import create_app_from_workspace_process_context
from starlette.datastructures import MutableHeaders
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from deid_assets.operation.access import _is_server
from deid_assets.quickstart.local_callers import LocalCallers
from deid_assets.quickstart.own_pages import OwnPages, host_names

EVIL = "http://evil.example"
JSON = {"Content-Type": "application/json"}
WIPE = (
    'mutation { wipeAssets(assetPartitionRanges: [{assetKey: {path: ["kept"]}}]) { __typename } }'
)
ASKED = "{ version }"
BODY = json.dumps({"query": WIPE})
SECRET = "5e" * 32


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    with dg.DagsterInstance.local_temp(str(tmp_path_factory.mktemp("dagster"))) as opened:
        yield opened


@pytest.fixture(scope="module")
def dagster_app(instance):
    with WorkspaceProcessContext(instance, EmptyWorkspaceTarget()) as context:
        yield create_app_from_workspace_process_context(context)


def served(app, port=0, **options):
    """A server of an application in a thread, and the port that it took."""
    listening = socket.create_server(("127.0.0.1", port))
    port = listening.getsockname()[1]
    app = OwnPages(app, host_names("127.0.0.1", port, ["pages.example"]), LocalCallers(**options))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", proxy_headers=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    return SimpleNamespace(port=port, server=server, thread=thread)


@pytest.fixture(scope="module")
def running(dagster_app):
    found = served(dagster_app)
    yield found
    found.server.should_exit = True
    found.thread.join(20)


@pytest.fixture
def kept(instance):
    """An asset that a change of somebody else's would wipe."""
    instance.report_runless_asset_event(dg.AssetMaterialization("kept"))
    return lambda: instance.has_asset_key(dg.AssetKey("kept"))


def ask(running, method="POST", path="/graphql", body=BODY, headers=JSON, *, host=None):
    """An answer, and its text; headers are pairs where one stands twice."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{running.port}")
    for name, value in headers.items() if isinstance(headers, dict) else headers:
        connection.putheader(name, value)
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body.encode())
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def quoted(query):
    return "/graphql?query=" + query.replace(" ", "%20").replace('"', "%22")


def test_its_own_pages_and_programs_change_what_they_like(running, kept):
    own = {**JSON, "Origin": f"http://127.0.0.1:{running.port}", "Sec-Fetch-Site": "same-origin"}

    answer, text = ask(running, headers=own)

    assert (answer.status, "AssetWipeSuccess" in text) == (200, True)
    assert not kept()
    assert answer.headers["x-frame-options"] == "SAMEORIGIN"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert ask(running, headers=JSON)[0].status == 200
    assert (
        ask(running, headers={"Content-Type": "application/json; charset=utf-8"})[0].status == 200
    )


FOREIGN = {
    "a page of another site": {"headers": {**JSON, "Origin": EVIL}},
    "a page without a site": {"headers": {**JSON, "Origin": "null"}},
    "a page on another port": {"headers": {**JSON, "Origin": "http://127.0.0.1:1"}},
    "a site whose name begins so": {"headers": {**JSON, "Origin": "http://127.0.0.1.evil.example"}},
    "two origins": {"headers": [*JSON.items(), ("Origin", "OWN"), ("Origin", EVIL)]},
    "a browser that says so": {"headers": {**JSON, "Sec-Fetch-Site": "cross-site"}},
    "a rebound name": {"host": "evil.example"},
    "a rebound name with the port": {"host": "evil.example:PORT"},
    "its name on another port": {"host": "127.0.0.1:1"},
    "two hosts": {"headers": [*JSON.items(), ("Host", "evil.example")]},
    "text that needs no preflight": {"headers": {"Content-Type": "text/plain"}},
    "text that names JSON": {"headers": {"Content-Type": "text/plain; application/json"}},
    "a form": {"headers": {"Content-Type": "application/x-www-form-urlencoded"}},
    "no type": {"headers": {}},
    "a form with the change in its address": {
        "path": quoted(WIPE),
        "headers": {"Content-Type": "multipart/form-data"},
    },
    "a link": {"method": "GET", "path": quoted(WIPE), "headers": {}, "body": ""},
    "a picture": {"method": "GET", "path": quoted(WIPE), "headers": {"Accept": "image/*"}},
    "a preflight": {
        "method": "OPTIONS",
        "headers": {"Origin": EVIL, "Access-Control-Request-Method": "POST"},
        "body": "",
    },
    "a forged event": {"path": "/report_asset_materialization/kept", "headers": {}, "body": ""},
    "a script of another site": {
        "method": "GET",
        "path": "/server_info",
        "headers": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        "body": "",
    },
}


@pytest.mark.parametrize("asked", FOREIGN.values(), ids=FOREIGN)
def test_what_a_page_of_another_site_may_send_is_refused_with_the_remedy(running, kept, asked):
    told = json.dumps(asked).replace("PORT", str(running.port))
    told = told.replace('"OWN"', f'"http://127.0.0.1:{running.port}"')

    answer, text = ask(running, **json.loads(told))

    assert kept()
    assert answer.status == 403
    assert text.startswith("403: ")
    assert text.count("\n") == 1
    assert ";" in text
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


def test_a_link_to_its_pages_is_followed_from_elsewhere(running):
    headers = {
        "Accept": "text/html",
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }

    assert ask(running, "GET", "/assets", "", headers)[0].status == 200
    framed = {**headers, "Sec-Fetch-Dest": "iframe"}
    assert ask(running, "GET", "/assets", "", framed)[0].status == 403


@pytest.mark.parametrize("host", ["localhost:{port}", "LOCALHOST:{port}", "pages.example"])
def test_it_has_the_names_that_it_was_given(running, host):
    host = host.format(port=running.port)
    headers = {**JSON, "Origin": f"https://{host}"}
    body = json.dumps({"query": ASKED})

    assert ask(running, headers=headers, body=body, host=host)[0].status == 200
    other = {**JSON, "Origin": f"http://127.0.0.1:{running.port}"}
    assert ask(running, headers=other, body=body, host=host)[0].status == 403


def socket_of(running, origin):
    address = f"ws://127.0.0.1:{running.port}/graphql"
    return connect(address, origin=origin, subprotocols=["graphql-ws"], proxy=None)


@pytest.mark.parametrize("origin", [EVIL, "null", "http://127.0.0.1:1"])
def test_a_websocket_of_another_site_is_refused(running, origin):
    with pytest.raises(InvalidStatus) as refused:
        socket_of(running, origin)

    assert refused.value.response.status_code == 403
    assert b"use the pages of this server" in refused.value.response.body


def test_a_websocket_of_its_own_pages_is_open_and_takes_no_change(running, kept):
    with socket_of(running, f"http://127.0.0.1:{running.port}") as opened:
        opened.send(json.dumps({"type": "connection_init"}))
        assert json.loads(opened.recv(60)) == {"type": "connection_ack"}
        opened.send(json.dumps({"type": "start", "id": "1", "payload": {"query": WIPE}}))
        opened.recv(60)

    assert kept()


NOBODY = """
import encodings.idna, os, socket, sys

os.setuid(65534)
port, secret, how, body = int(sys.argv[1]), *sys.argv[2:]
lines = ["POST /graphql HTTP/1.1", f"Host: 127.0.0.1:{port}", "Content-Type: application/json"]
lines += [f"X-Deid-Proxy: {secret}"] if secret else []
lines += ["Connection: close", f"Content-Length: {len(body)}", "", body]
with socket.create_connection(("127.0.0.1", port)) as opened:
    opened.sendall("\\r\\n".join(lines).encode())
    while how == "answered" and (part := opened.recv(4096)):
        sys.stdout.write(part.decode())
"""
AS_NOBODY = pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, as root alone may")


def as_nobody(port, secret="", how="answered"):
    command = [sys.executable, "-S", "-c", NOBODY, str(port), secret, how, BODY]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout


@AS_NOBODY
def test_another_user_of_the_machine_is_refused(running, kept):
    answer = as_nobody(running.port)

    assert answer.startswith("HTTP/1.1 403 ")
    assert "403: neither this server's user nor its login proxy sent this; " in answer
    assert kept()


@AS_NOBODY
def test_a_connection_that_another_user_closed_is_nobodys(running, kept):
    for _ in range(5):
        as_nobody(running.port, how="closed")
    ask(running, body=json.dumps({"query": ASKED}))

    assert kept()


@AS_NOBODY
def test_a_proxy_is_known_by_its_secret_and_others_may_be_let_in(dagster_app, kept):
    behind, shared = served(dagster_app, secret=SECRET), served(dagster_app, lets_others=True)

    wrong = as_nobody(behind.port, "00" * 32)
    assert kept()
    right = as_nobody(behind.port, SECRET)

    assert (wrong.split()[1], right.split()[1]) == ("403", "200")
    assert as_nobody(shared.port).split()[1] == "200"
    assert ask(behind)[0].status == 200
    for one in (behind, shared):
        one.server.should_exit = True
        one.thread.join(20)


def test_the_doctor_knows_it_for_a_web_server():
    assert _is_server(["python", "-m", "deid_assets.quickstart.web", "--host", "0.0.0.0"])


def test_an_answer_that_opens_itself_to_other_sites_does_not(running):
    async def opening(scope, receive, send):
        headers = MutableHeaders({"Access-Control-Allow-Origin": "*"})
        await send({"type": "http.response.start", "status": 200, "headers": headers.raw})
        await send({"type": "http.response.body", "body": b""})

    found = served(opening)
    answer, _ = ask(found, "GET", "/", "", {})
    found.server.should_exit = True
    found.thread.join(20)

    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] is None
