"""What every request passes: the host it names, the proxy, the token; and what every answer has."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deid_assets import DeidError
from deid_serve.problems import HttpProblem, describe_refused, internal

PROXY_HEADER = "x-deid-proxy"
OPEN = frozenset({"/login", "/style.css", "/healthz", "/docs", "/openapi.json", "/favicon.ico"})
"""Addresses that need no token: they hold nothing of anybody."""
KNOWN = (
    OPEN
    | {"/", "/v1", "/v1/detect", "/v1/redact", "/v1/batch", "/v1/sessions"}
    | {
        "/fhir/$de-identify",
        "/fhir/metadata",
    }
)
"""Addresses that a log may show."""
LOGIN_SECONDS = 12 * 3600.0
LINK_SECONDS = 600.0
_LOGINS = 1000
HEADERS: Mapping[str, str] = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}


@dataclass(slots=True)
class Doorkeeper:
    """Who may come in.

    Args:
        token: Of callers.
        hosts: Names that a request may call this server by, each without or with its port.
        proxy_secret: That a login proxy sends; nothing where there is no proxy.
        cookie: Name of the cookie, of this server alone: a browser sends one that another server of
            the same host has set, whatever its port.
        clock: Seconds that only grow.
    """

    token: str = field(repr=False)
    hosts: Collection[str]
    proxy_secret: str = field(default="", repr=False)
    cookie: str = "deid_serve"
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    _logins: dict[str, float] = field(default_factory=dict, repr=False)
    _links: dict[str, float] = field(default_factory=dict, repr=False)

    def link(self) -> str:
        """Return a code that logs a browser in once, within minutes."""
        code = secrets.token_urlsafe(24)
        self._links[code] = self.clock() + LINK_SECONDS
        return code

    def log_in(self, *, token: str = "", code: str = "") -> str:
        """Return what a browser's cookie holds; nothing where token and code are wrong."""
        now = self.clock()
        self._links = {one: ends for one, ends in self._links.items() if ends > now}
        self._logins = {one: ends for one, ends in self._logins.items() if ends > now}
        if not (token and _same(token, self.token)) and self._links.pop(code, None) is None:
            return ""
        while len(self._logins) >= _LOGINS:
            self._logins.pop(next(iter(self._logins)))
        cookie = secrets.token_urlsafe(32)
        self._logins[cookie] = now + LOGIN_SECONDS
        return cookie

    def check(self, scope: Scope) -> None:
        """Refuse a request that is not for here, or of somebody unknown.

        Raises:
            HttpProblem: It names another host, did not come through the proxy, was sent by a page
                of another site, or has no token.
        """
        headers = Headers(scope=scope)
        self._check_host(headers)
        if self.proxy_secret and not _same(headers.get(PROXY_HEADER, ""), self.proxy_secret):
            raise _forbid("the proxy's secret is not there", "ask through the login proxy")
        if scope["path"] in OPEN:
            return
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _same(given.strip(), self.token):
            return
        ends = self._logins.get(cookie_of(headers, self.cookie), 0.0)
        is_page = not scope["path"].startswith(("/v1", "/fhir"))
        if is_page and ends > self.clock():
            return
        raise HttpProblem(
            HTTPStatus.UNAUTHORIZED,
            "unauthorised",
            "no token, or another one",
            remedy="send the token that deid serve printed, as Authorization: Bearer TOKEN",
            headers={"WWW-Authenticate": "Bearer"},
        )

    def _check_host(self, headers: Headers) -> None:
        named = headers.getlist("host")
        if len(named) != 1 or named[0].lower() not in self.hosts:
            raise HttpProblem(
                HTTPStatus.MISDIRECTED_REQUEST,
                "misdirected",
                "the Host header names none of this server's names",
                remedy="use the address that deid serve printed, or --host-name",
            )
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() not in self.hosts:
            raise _forbid("a page of another site sent it", "use the page of this server")
        if headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
            raise _forbid("a page of another site sent it", "use the page of this server")


def cookie_of(headers: Headers, name: str) -> str:
    """Return what a cookie holds, whatever other servers have set; empty without it."""
    return cookie_parser(headers.get("cookie", "")).get(name, "")


class Guard:
    """Lets requests in, gives every answer its headers, and turns errors into problems.

    Args:
        app: What answers.
        keeper: Who may come in.
        told: Called with method, path, status and milliseconds of each request.
    """

    def __init__(
        self,
        app: ASGIApp,
        keeper: Doorkeeper,
        told: Callable[[str, str, int, float], Any] | None = None,
    ) -> None:
        self._app = app
        self._keeper = keeper
        self._told = told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        began, status = time.monotonic(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        try:
            self._keeper.check(scope)
            await self._app(scope, receive, send_with_headers)
        except Exception as error:  # noqa: BLE001 - becomes an answer without its message
            if not status:
                response = self._answer(scope, error)
                await response(scope, receive, send_with_headers)
        finally:
            if self._told:
                spent = 1000 * (time.monotonic() - began)
                self._told(scope["method"], _show_path(scope["path"]), status, spent)

    def _answer(self, scope: Scope, error: Exception) -> Response:
        problem = problem_of(error)
        is_page = "text/html" in Headers(scope=scope).get("accept", "")
        if is_page and problem.status == HTTPStatus.UNAUTHORIZED and scope["path"] == "/":
            return RedirectResponse("/login", HTTPStatus.SEE_OTHER)
        if scope["path"].startswith("/fhir"):
            from deid_serve.fhir import outcome_response  # noqa: PLC0415 - loads the formats

            return outcome_response(problem)
        return problem.response()


def problem_of(error: Exception) -> HttpProblem:
    """Return an error as a problem that shows no text."""
    if isinstance(error, HttpProblem):
        return error
    return describe_refused(error) if isinstance(error, DeidError) else internal(error)


def _show_path(path: str) -> str:
    """Return a path fit for a log: a session without its name, and nothing that is unknown."""
    if path.startswith("/v1/sessions/"):
        return "/v1/sessions/…"
    return path if path in KNOWN else "…"


def _same(given: str, own: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), own.encode())


def _forbid(detail: str, remedy: str) -> HttpProblem:
    return HttpProblem(HTTPStatus.FORBIDDEN, "forbidden", detail, remedy=remedy)
