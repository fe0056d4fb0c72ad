"""The reports are linked from Dagster's UI: served to this machine, and nothing but them."""

from http.client import HTTPConnection
from threading import Thread

import pytest

from deid_assets.reports.server import report_server


@pytest.fixture
def port(tmp_path):
    folder = tmp_path / "reports"
    (folder / "inner").mkdir(parents=True)
    for name in (
        "reports/release-b-1.html",
        "reports/inner/page.html",
        "notes.html",
        "reports/notes.txt",
    ):
        (tmp_path / name).write_text(f"<p>{name}</p>")
    (folder / "link.html").symlink_to(tmp_path / "notes.html")
    with report_server(folder, 0) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def answer(port, path, host="127.0.0.1:3001"):
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("GET", path, headers={"Host": host})
    response = connection.getresponse()
    found = response.status, response.read().decode()
    connection.close()
    return found


def test_a_report_is_served(port):
    assert answer(port, "/release-b-1.html") == (200, "<p>reports/release-b-1.html</p>")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/notes.txt",
        "/../notes.html",
        "/%2e%2e/notes.html",
        "/inner/page.html",
        "/link.html",
        "/inner/",
    ],
)
def test_nothing_else_is(port, path):
    status, text = answer(port, path)

    assert (status, "notes" in text, "page" in text) == (404, False, False)


def test_a_page_from_elsewhere_cannot_read_it_under_a_name_of_its_own(port):
    assert answer(port, "/release-b-1.html", host="evil.example:3001")[0] == 404
