"""Who may come in, and what every answer has."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from deid_assets.extending import InputError
from deid_serve.commands import AddressOptions, check_address, host_names, listening_socket
from deid_serve.guarding import Doorkeeper
from deid_serve.problems import HttpProblem

TOKEN = "a-token-of-the-tests-and-no-other"
BIN = Path(sys.executable).parent


def test_every_answer_is_not_kept_and_loads_nothing(served):
    for path in ("/", "/docs", "/v1", "/nothing", "/fhir/metadata", "/openapi.json"):
        headers = served.ask(path).headers
        assert headers["cache-control"] == "no-store"
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'; form-action 'self'")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers


def test_no_page_is_offered_for_translation_which_would_send_its_note_away(served):
    for path in ("/docs", "/login"):
        page = served.ask(path).text
        assert '<html lang="en" translate="no">' in page
        assert '<meta name="google" content="notranslate">' in page


@pytest.mark.parametrize("token", ["", "no", TOKEN[:-1], TOKEN + "x", "ä"])
def test_no_or_another_token_gets_nothing(served, token):
    answer = served.ask("/v1/redact", {"text": "Zedamar"}, token=token.encode().decode("latin-1"))

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil:80"])
def test_another_host_name_is_refused_as_a_rebound_name_would_be(served, host):
    found = served.problem("/v1", None, status=421, headers={"Host": host})

    assert host not in found["detail"]


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}],
)
def test_a_page_of_another_site_is_refused(served, headers):
    served.problem("/v1", None, status=403, headers=headers)


def test_a_link_logs_in_once_and_a_cookie_opens_the_page_alone(served):
    browser = requests.Session()
    link = f"{served.base}/login?code={served.service.keeper.link()}"

    assert browser.get(f"{served.base}/", headers={"Accept": "text/html"}).url.endswith("/login")
    answer = browser.get(link, allow_redirects=False)

    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert browser.get(f"{served.base}/").status_code == 200
    assert browser.get(f"{served.base}/v1").status_code == 401  # a form of a page reaches no API
    assert requests.get(link, timeout=60).status_code == 401
    assert requests.post(f"{served.base}/login", data={"token": "x"}, timeout=60).status_code == 401
    right = requests.post(f"{served.base}/login", data={"token": TOKEN}, timeout=60)
    assert right.status_code == 200


def test_logins_and_links_end():
    now = [0.0]
    keeper = Doorkeeper(TOKEN, {"h"}, clock=lambda: now[0])
    code = keeper.link()
    cookie = keeper.log_in(token=TOKEN)
    headers = [(b"host", b"h"), (b"cookie", f"deid_serve={cookie}".encode())]
    scope = {"type": "http", "path": "/", "headers": headers}
    keeper.check(scope)
    now[0] = 601
    assert keeper.log_in(code=code) == ""
    now[0] = 12 * 3600 + 1
    with pytest.raises(HttpProblem):
        keeper.check(scope)


def test_servers_of_one_host_have_cookies_of_their_own_and_read_them_beside_broken_ones():
    first, second = (Doorkeeper(TOKEN, {"h"}, cookie=f"deid_serve_{port}") for port in (1, 2))
    cookies = [f"{one.cookie}={one.log_in(token=TOKEN)}" for one in (first, second)]
    sent = "; ".join(['other={"a": 1}', *cookies])
    scope = {"type": "http", "path": "/", "headers": [(b"host", b"h"), (b"cookie", sent.encode())]}
    first.check(scope)
    second.check(scope)


def test_behind_a_proxy_its_secret_is_needed_too():
    keeper = Doorkeeper(TOKEN, {"deid.hospital"}, "the secret of the proxy, long")
    own = [(b"host", b"deid.hospital"), (b"authorization", f"Bearer {TOKEN}".encode())]
    scope = {"type": "http", "path": "/v1", "headers": own}
    with pytest.raises(HttpProblem) as raised:
        keeper.check(scope)
    assert raised.value.kind == "forbidden"
    keeper.check({**scope, "headers": [*own, (b"x-deid-proxy", b"the secret of the proxy, long")]})


def test_another_address_than_loopback_needs_a_login_proxy(tmp_path):
    for listen in ("0.0.0.0", "::", "192.0.2.1"):
        with pytest.raises(InputError, match="put a login proxy before it"):
            check_address(AddressOptions(listen=listen))
        with pytest.raises(InputError, match="--host-name"):
            check_address(AddressOptions(listen=listen, proxy_secret=tmp_path / "secret"))
    with pytest.raises(InputError, match="an address in numbers"):
        check_address(AddressOptions(listen="localhost"))
    options = AddressOptions(listen="0.0.0.0", proxy_secret=tmp_path, host_name=["Deid.Hospital"])
    check_address(options)
    assert {"deid.hospital", "deid.hospital:80", "127.0.0.1:80"} <= host_names(options, 80)
    assert "0.0.0.0:80" not in host_names(options, 80)
    assert host_names(AddressOptions(), 8642) == {
        "localhost:8642",
        "127.0.0.1:8642",
        "[::1]:8642",
    }


@pytest.fixture
def command(talker_site, tmp_path):
    """A running ``deid serve``, with what it wrote so far."""
    token = tmp_path / "token"
    said = tmp_path / "said.txt"
    arguments = ["serve", "--port", "0", "--detector", "talker", "--token-file", str(token)]
    path = os.pathsep.join(filter(None, [str(talker_site), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    environment.pop("DEID_KEY", None)
    with said.open("wb") as file:
        process = subprocess.Popen(
            [str(BIN / "deid"), *arguments], env=environment, stdout=file, stderr=file
        )
        try:
            for _ in range(600):
                if "DEID_KEY is not set" in said.read_text() or process.poll() is not None:
                    break
                signal.sigtimedwait([], 0.1)
            yield process, said, token
        finally:
            process.terminate()
            process.wait(20)


def test_the_command_serves_and_says_no_text_whatever_a_detector_prints(command):
    process, said, token = command
    base = re.search(r"open (http://127\.0\.0\.1:\d+)/login", said.read_text())[1]
    assert token.stat().st_mode & 0o777 == 0o600
    secret = token.read_text().strip()
    assert secret not in said.read_text()
    headers = {"Authorization": f"Bearer {secret}"}

    for text, status in (("Zedamar is here", 200), ("Zedamar at the tripwire", 422)):
        body = {"text": text, "policy": "tag", "lang": "en"}
        answer = requests.post(f"{base}/v1/redact", json=body, headers=headers, timeout=60)
        assert answer.status_code == status
    assert requests.get(f"{base}/Zedamar", headers=headers, timeout=60).status_code == 404
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0

    lines = said.read_text()
    assert "Zedamar" not in lines
    assert re.findall(r"(?m)^POST /v1/redact (\d+) \d+ ms$", lines) == ["200", "422"]
    assert re.search(r"(?m)^GET … 404 ", lines)


def test_a_token_file_that_others_may_read_is_refused(tmp_path, talker_site):
    from typer.testing import CliRunner

    from deid_assets.cli import app

    path = tmp_path / "token"
    path.write_text("x" * 40)
    path.chmod(0o644)
    arguments = ["serve", "--token-file", str(path), "--detector", "talker"]
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code == 2
    assert "chmod 600" in ran.stderr
    path.chmod(0o600)
    path.write_text("short")
    assert "at least 24" in CliRunner().invoke(app, arguments).stderr


def test_an_answer_on_a_connection_that_is_kept_is_sent_at_once():
    options: list[int] = []

    async def look(_, writer: asyncio.StreamWriter) -> None:
        sent_at_once = (socket.IPPROTO_TCP, socket.TCP_NODELAY)
        options.append(writer.get_extra_info("socket").getsockopt(*sent_at_once))
        writer.close()

    async def call() -> None:
        with listening_socket(AddressOptions(port=0)) as listening:
            async with await asyncio.start_server(look, sock=listening):
                reader, writer = await asyncio.open_connection(*listening.getsockname())
                await reader.read()
                writer.close()

    asyncio.run(call())
    assert options[0] != 0
