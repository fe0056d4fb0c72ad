"""The reports are linked from Dagster's UI: served to this user's browser, and nothing but them."""

import os
import socket
import subprocess
import sys
import threading
from http.client import HTTPConnection

import pytest
import uvicorn

from deid_assets.quickstart import reports_server, ui, web
from deid_assets.quickstart.local_callers import LocalCallers
from deid_assets.quickstart.reports_server import guard_reports

REPORT = "/release-b-1.html"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("home")
    (root / "reports" / "inner").mkdir(parents=True)
    for name in (
        "reports/release-b-1.html",
        "reports/inner/page.html",
        "notes.html",
        "reports/notes.txt",
    ):
        (root / name).write_text(f"<p>{name}</p>")
    (root / "reports" / "link.html").symlink_to(root / "notes.html")
    return root / "reports"


@pytest.fixture(scope="module", params=[False], ids=[""])
def port(folder, request):
    listening = socket.create_server(("127.0.0.1", 0))
    taken = listening.getsockname()[1]
    app = guard_reports(folder, taken, LocalCallers(lets_others=request.param))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", proxy_headers=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield taken
    server.should_exit = True
    thread.join(20)


def answer(port, path=REPORT, host=None, method="GET", **headers):
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers={"Host": host or f"127.0.0.1:{port}", **given})
    response = connection.getresponse()
    found = response.status, response.read().decode()
    connection.close()
    return found


def test_a_report_is_served(port):
    assert answer(port) == (200, "<p>reports/release-b-1.html</p>")
    assert answer(port, method="HEAD") == (200, "")
    own = f"http://127.0.0.1:{port}"
    assert answer(port, Origin=own, Sec_Fetch_Site="same-origin")[0] == 200


def test_a_link_of_dagsters_pages_on_another_port_is_followed(port):
    link = {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "navigate"}

    assert answer(port, **link, Sec_Fetch_Dest="document")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/notes.txt",
        "/../notes.html",
        "/%2e%2e/notes.html",
        "/..%2fnotes.html",
        "/inner/page.html",
        "/link.html",
        "/inner/",
        "//etc/hosts.html",
    ],
)
def test_nothing_else_is(port, path):
    status, text = answer(port, path)

    assert (status, "notes" in text, "page" in text) == (404, False, False)


FOREIGN = {
    "a name of its own": {"host": "evil.example:PORT"},
    "its name on another port": {"host": "127.0.0.1:1"},
    "another site": {"Origin": "http://evil.example"},
    "a page on another port": {"Origin": "http://127.0.0.1:1"},
    "a script of another site": {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"},
    "a script on another port": {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "cors"},
    "a frame": {
        "Sec_Fetch_Site": "cross-site",
        "Sec_Fetch_Mode": "navigate",
        "Sec_Fetch_Dest": "iframe",
    },
    "a form": {"method": "POST", "Content_Type": "application/x-www-form-urlencoded"},
}


@pytest.mark.parametrize("asked", FOREIGN.values(), ids=FOREIGN)
def test_a_page_from_elsewhere_cannot_read_it(port, asked):
    told = {name: value.replace("PORT", str(port)) for name, value in asked.items()}

    status, text = answer(port, **told)

    assert status == 403
    assert text.startswith("403: ")
    assert "release" not in text


NOBODY = """
import encodings.idna, os, socket, sys

os.setuid(65534)
port = int(sys.argv[1])
lines = ["GET /release-b-1.html HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close", "", ""]
with socket.create_connection(("127.0.0.1", port)) as opened:
    opened.sendall("\\r\\n".join(lines).encode())
    while part := opened.recv(4096):
        sys.stdout.write(part.decode())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, as root alone may")
@pytest.mark.parametrize(("port", "status"), [(False, "403"), (True, "200")], indirect=["port"])
def test_another_user_of_the_machine_is_refused_unless_let_in(port, status):
    command = [sys.executable, "-S", "-c", NOBODY, str(port)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)

    assert done.stdout.split()[1] == status
    assert ("release-b-1" in done.stdout) == (status == "200")


@pytest.mark.parametrize("number", ["0", "-1", "65536", "99999", "9" * 400, "3e3", "1.5", "²", ""])
@pytest.mark.parametrize(
    "parse",
    [
        lambda number: reports_server.main(["--", number]),
        lambda number: web.options_of([f"--port={number}"]),
        lambda number: ui.main([f"--port={number}"]),
        lambda number: ui.main([f"--reports-port={number}"]),
    ],
    ids=["reports", "web", "ui", "ui's reports"],
)
def test_what_is_no_port_is_told_in_one_line(parse, number, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(number)

    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert "is no port from 1 to 65535" in said.splitlines()[-1]
    assert "Traceback" not in said


@pytest.mark.parametrize("number", [1, 3000, 65535])
def test_a_port_is_taken(number):
    assert web.options_of(["--port", str(number)]).port == number
