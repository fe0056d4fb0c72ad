"""``deid ui`` in headless Chromium."""

import http.server
import os
import shutil
import socket
import subprocess
import sys
import threading
import urllib.request

import pytest

from deid_assets.operation.environment import read_environment
from deid_assets.operation.folder import write_folder

pytestmark = [pytest.mark.slow, pytest.mark.browser]
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
PATIENCE_MS = 300_000
EVIL = """\
<body><iframe src="BASE/"></iframe><script>
const told = [], body = JSON.stringify({query: "mutation { setNuxSeen }"});
const say = (what) => { told.push(what); document.title = told.sort().join(" "); };
for (const mode of ["cors", "no-cors"])
  fetch("BASE/graphql", {method: "POST", mode, body, headers: {"Content-Type": "text/plain"}})
    .then(() => say(mode + ":answered"), () => say(mode + ":refused"));
const opened = new WebSocket("BASE/graphql".replace("http", "ws"), "graphql-ws");
opened.onopen = () => say("socket:open");
opened.onerror = () => say("socket:refused");
</script>
"""


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])


@pytest.fixture
def ui(tmp_path):
    """The address of a ``deid ui`` on a new installation."""
    house, port = tmp_path / "house", free_port()
    write_folder(house)
    environment = {**os.environ, **read_environment(house / ".env")}
    arguments = ["--port", port, "--reports-port", free_port()]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "deid_assets.quickstart.ui", *arguments],
            cwd=house,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    base, pause = f"http://127.0.0.1:{port}", threading.Event()
    while True:
        assert process.poll() is None, (tmp_path / "log").read_text()
        try:
            urllib.request.urlopen(f"{base}/server_info", timeout=10).close()
            break
        except OSError:
            pause.wait(0.5)
    yield base
    process.terminate()
    assert process.wait(timeout=120) == 0


@pytest.fixture
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as running:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        opened = running.chromium.launch(executable_path=CHROMIUM, args=options)
        yield opened
        opened.close()


@pytest.fixture
def evil(ui):
    """The address of a page of another site that attacks the one of ``ui``."""
    page = EVIL.replace("BASE", ui).encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_address[1]}/"
        server.shutdown()


def test_its_own_pages_work_and_a_page_of_another_site_changes_nothing(ui, browser, evil):
    page, failed, frames = browser.new_page(), [], []

    def keep_frame(frame):  # Playwright takes no bound method of a list
        frames.append(frame)

    page.set_default_timeout(PATIENCE_MS)
    page.on("response", lambda one: failed.append(one.url) if one.status >= 400 else None)
    page.on("websocket", lambda one: one.on("framereceived", keep_frame))

    page.goto(f"{ui}/asset-groups")
    page.wait_for_selector("svg foreignObject")
    page.goto(f"{ui}/assets/detector_histories")
    page.click("button:has-text('Materialize')")
    page.wait_for_selector("text=/launched run/i")
    page.goto(f"{ui}/runs")
    run = page.wait_for_selector("a[href*='/runs/']").get_attribute("href")
    page.goto(f"{ui}{run}")
    page.wait_for_selector("text=RUN_SUCCESS")
    page.goto(f"{ui}/locations")
    page.click("button:has-text('Reload') >> nth=0")
    page.wait_for_selector("text=/reloaded/i")
    attacking = browser.new_page()
    attacking.goto(evil)
    attacking.wait_for_function("document.title.split(' ').length == 3", timeout=PATIENCE_MS)

    assert attacking.title() == "cors:refused no-cors:refused socket:refused"
    assert frames
    assert failed == []
