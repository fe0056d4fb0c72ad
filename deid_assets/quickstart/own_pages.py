"""What stands before Dagster's web server, which asks nobody who they are.

A page of any site that a browser shows can send requests to this machine, and so can any user of
it. What is not of this server's own pages, or of this user's programs, is refused.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deid_assets.quickstart.local_callers import LocalCallers

HEADERS = {
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "SAMEORIGIN",
}
_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_READING = ("GET", "HEAD")
_OWN_SITE = ("none", "same-origin")
_SITE = "a page of another site sent this; use the pages of this server"
_HOST = (
    "the Host header is none of this server's names; use the address that it printed, or start it"
    " with --host-name NAME"
)
_TYPE = "a change comes as application/json alone; send it with that Content-Type"
_ADDRESS = "a query comes in the body alone; send it with POST as application/json"
_CALLER = (
    "neither this server's user nor its login proxy sent this; ask as the user who started it, set"
    " up the proxy (approvals.login_secret), or start it with --other-users"
)


def host_names(address: str, port: int, named: Collection[str] = ()) -> frozenset[str]:
    """Return the names by which a request may call the server, in lower case.

    Args:
        address: That it listens on.
        port: The same.
        named: Other names, such as that of a proxy, with their ports or without.
    """
    own = {*_LOOPBACK_NAMES}
    literal = f"[{address}]" if ":" in address else address
    if not _is_unspecified(address):
        own.add(literal.lower())
    others = {name.lower() for name in named}
    with_port = {f"{name}:{port}" for name in own | others}
    return frozenset(with_port | others | (own if port == 80 else set()))


def _is_unspecified(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_unspecified
    except ValueError:
        return False


class OwnPages:
    """Hands on what this server's own pages and this user's programs ask, and refuses the rest.

    Args:
        app: Dagster's web server.
        hosts: Names by which a request may call it, in lower case.
        callers: Who may ask.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], callers: LocalCallers) -> None:
        self._app = app
        self._hosts = hosts
        self._callers = callers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        if fault := self._fault(scope):
            await _refuse(fault, scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                _settle(MutableHeaders(scope=message))
            await send(message)

        await self._app(scope, receive, send_with_headers)

    def _fault(self, scope: Scope) -> str:
        """Return why a request is refused, and what helps; empty where it is not."""
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return _HOST
        own = {f"{scheme}://{hosts[0].lower()}" for scheme in ("http", "https")}
        if len(origins) > 1 or any(origin.lower() not in own for origin in origins):
            return _SITE
        if not self._callers.may_ask(scope):
            return _CALLER
        if scope["type"] == "websocket":
            is_own = headers.get("sec-fetch-site", "none") in _OWN_SITE
            return "" if is_own else _SITE
        return _fault_of_request(scope, headers)


def _fault_of_request(scope: Scope, headers: Headers) -> str:
    is_graphql = scope["path"].rstrip("/").endswith("/graphql")
    is_own = headers.get("sec-fetch-site", "none") in _OWN_SITE
    if scope["method"] not in _READING:
        if not is_own:
            return _SITE
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        return "" if kind == "application/json" else _TYPE
    if is_graphql and "text/html" not in headers.get("accept", ""):
        return _ADDRESS  # Dagster carries out a change that stands in an address
    is_link = headers.get("sec-fetch-mode") == "navigate"
    is_page = headers.get("sec-fetch-dest", "document") == "document"
    return "" if is_own or (is_link and is_page and not is_graphql) else _SITE


async def _refuse(fault: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the fault in one line; a websocket is closed where it takes no answer."""
    is_closed = scope["type"] == "websocket" and "websocket.http.response" not in scope.get(
        "extensions", {}
    )
    if is_closed:
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    response = PlainTextResponse(f"403: {fault}\n", HTTPStatus.FORBIDDEN, headers=HEADERS)
    await response(scope, receive, send)


def _settle(headers: MutableHeaders) -> None:
    """Give an answer this server's headers, and none that opens it to other sites."""
    for name in [one for one in headers if one.startswith("access-control-")]:
        del headers[name]
    for name, value in HEADERS.items():
        headers[name] = value
