"""The addresses of the page, each a function of a request."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deid_assets import DeidError
from deid_review import pages
from deid_review.desk import KeyPress, ReviewDesk, ReviewOutcome, ReviewRefusedError
from deid_review.ledger import ADJUDICATION, StaleNoteError
from deid_review.records import QueuedNote
from deid_serve.bodies import FORM, JSON, body_of, form_of, model_of
from deid_serve.guarding import LOGIN_SECONDS, Doorkeeper, Guard, cookie_of, problem_of
from deid_serve.lane import Lane
from deid_serve.limits import ServiceLimits
from deid_serve.problems import HttpProblem

_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_LIMITS = ServiceLimits(bytes_=16_384, seconds=10.0)


class KeyPressBody(BaseModel):
    """A key press as the page's script sends it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    action: str = Field(max_length=16)
    mark: int = 0
    start: int = 0
    end: int = 0
    label: str = Field("", max_length=32)
    edge: str = Field("", max_length=16)
    by: int = Field(0, ge=-1, le=1)
    sure: bool = False
    seen: int = 0


@dataclass(slots=True)
class Reviewers:
    """Who may come in, each by a token of their own.

    Args:
        keeper: Of the server; its own token is nobody's.
        tokens: Names to tokens.
    """

    keeper: Doorkeeper = field(repr=False)
    tokens: Mapping[str, str] = field(repr=False)
    _codes: dict[str, str] = field(default_factory=dict, repr=False)
    _browsers: dict[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, names: list[str], hosts: frozenset[str], port: int) -> Reviewers:
        """Return reviewers with new tokens, of the server at a port."""
        keeper = Doorkeeper(secrets.token_urlsafe(32), hosts, cookie=f"deid_review_{port}")
        return cls(keeper, {name: secrets.token_urlsafe(32) for name in names})

    def link(self, name: str) -> str:
        """Return a code that logs a reviewer's browser in once, within minutes."""
        code = self.keeper.link()
        self._codes[code] = name
        return code

    def log_in(self, *, token: str = "", code: str = "") -> str:
        """Return what a browser's cookie holds; nothing where token and code are wrong."""
        name = self._codes.pop(code, "")
        for one, own in self.tokens.items():
            if token and secrets.compare_digest(token.encode(), own.encode()):
                name, code = one, self.keeper.link()
        cookie = self.keeper.log_in(code=code) if name else ""
        if cookie:
            self._browsers[cookie] = name
        return cookie

    def who(self, request: Request) -> str:
        """Return the reviewer of a request.

        Raises:
            HttpProblem: The browser is nobody's.
        """
        name = self._browsers.get(cookie_of(request.headers, self.keeper.cookie), "")
        if not name:
            raise HttpProblem(
                HTTPStatus.UNAUTHORIZED,
                "unauthorised",
                "the browser is not logged in",
                remedy="open the link that deid review printed",
            )
        return name


@dataclass(frozen=True, slots=True)
class ReviewService:
    """All that the addresses answer with.

    Args:
        desk: The review.
        reviewers: Who may come in.
    """

    desk: ReviewDesk
    reviewers: Reviewers = field(repr=False)
    _lane: Lane = field(default_factory=lambda: Lane(_LIMITS), repr=False)

    def close(self) -> None:
        """End the thread in which notes are searched."""
        self._lane.close()

    def app(self, told: Callable[[str, str, int, float], Any] | None = None) -> ASGIApp:
        """Return the application, guarded.

        Args:
            told: Called with method, path, status and milliseconds of each request.
        """
        routes = [
            Route("/", self.summary),
            Route("/login", self.login, methods=["GET", "POST"]),
            Route("/style.css", self.style),
            Route("/review.js", self.script),
            Route("/summary", self.summary),
            Route("/next", self.next_note),
            Route("/note/{place:int}", self.note, methods=["GET"]),
            Route("/note/{place:int}", self.press, methods=["POST"]),
            Route("/approve", self.approve, methods=["POST"]),
        ]
        handlers: Any = {
            HttpProblem: _answer,
            DeidError: _answer,
            HTTPException: _answer_missing,
            Exception: _answer,
        }
        app = Starlette(routes=routes, exception_handlers=handlers)
        return WithScript(Guard(app, self.reviewers.keeper, told))

    async def login(self, request: Request) -> Response:
        """Log a browser in, by a link or by a reviewer's token."""
        token, code = "", request.query_params.get("code", "")
        if request.method == "POST":
            fields = dict(form_of(await body_of(request, _LIMITS, FORM)))
            token, code = fields.get("token", ""), ""
        is_asked = request.method == "POST" or bool(code)
        cookie = self.reviewers.log_in(token=token.strip(), code=code) if is_asked else ""
        if not cookie:
            status = HTTPStatus.UNAUTHORIZED if is_asked else HTTPStatus.OK
            return HTMLResponse(pages.login_page(is_wrong=is_asked), status)
        answer = RedirectResponse("/next", HTTPStatus.SEE_OTHER)
        answer.set_cookie(
            self.reviewers.keeper.cookie,
            cookie,
            max_age=int(LOGIN_SECONDS),
            httponly=True,
            samesite="strict",
        )
        return answer

    async def style(self, _request: Request) -> Response:
        """Answer with the style sheet."""
        return Response(pages.style(), media_type="text/css")

    async def script(self, _request: Request) -> Response:
        """Answer with the script that reads keys."""
        return Response(pages.script(), media_type="text/javascript")

    async def summary(self, request: Request) -> Response:
        """Answer with the page on the whole review."""
        reviewer = self.reviewers.who(request)
        page = await self._lane.run(lambda: pages.summary_page(self.desk, reviewer))
        return HTMLResponse(page)

    async def next_note(self, request: Request) -> Response:
        """Go to the next note that is to be reviewed, or to the summary."""
        reviewer = self.reviewers.who(request)
        given = request.query_params.get("after", "0")
        after = int(given) if given.isascii() and given.isdecimal() else 0
        address = await self._lane.run(lambda: self._following(reviewer, after))
        return RedirectResponse(address, HTTPStatus.SEE_OTHER)

    def _following(self, reviewer: str, after: int) -> str:
        note = self.desk.next_note(reviewer, after)
        return f"/note/{note.place}" if note else "/summary"

    async def note(self, request: Request) -> Response:
        """Answer with the page of a note."""
        reviewer = self.reviewers.who(request)

        def page() -> str:
            note, stream = self._open_note(request, reviewer)
            self.desk.ledger.lease(note.note_id, reviewer)
            return pages.note_page(self.desk, note, stream, reviewer)

        return HTMLResponse(await self._lane.run(page))

    def _open_note(self, request: Request, reviewer: str) -> tuple[QueuedNote, str]:
        note = self.desk.note_at(request.path_params["place"])
        if request.query_params.get("adjudicate") != "1":
            return note, reviewer
        if not self.desk.is_adjudicable(note):
            raise HttpProblem(
                HTTPStatus.CONFLICT,
                "refused",
                "no two reviewers differ on this note",
                remedy="review it at /next",
            )
        return note, ADJUDICATION

    async def press(self, request: Request) -> Response:
        """Do what a key asks for, and answer with the note as it is then."""
        reviewer = self.reviewers.who(request)
        body = model_of(await body_of(request, _LIMITS, JSON), KeyPressBody)
        return await self._lane.run(lambda: self._press(request, reviewer, body))

    def _press(self, request: Request, reviewer: str, body: KeyPressBody) -> Response:
        note, stream = self._open_note(request, reviewer)
        try:
            outcome = self.desk.press(note, stream, reviewer, KeyPress(**body.model_dump()))
        except (ReviewRefusedError, StaleNoteError) as error:
            outcome = ReviewOutcome(str(error), focus=body.mark)
        except DeidError as error:
            return JSONResponse(
                {"detail": str(error), "remedy": "then press the key again"},
                HTTPStatus.INSUFFICIENT_STORAGE,
            )
        if outcome.is_done:
            go = "/summary" if stream == ADJUDICATION else self._following(reviewer, note.place)
            return JSONResponse({"go": go})
        return JSONResponse({"main": pages.note_main(self.desk, note, stream, reviewer, outcome)})

    async def approve(self, request: Request) -> Response:
        """Record that a reviewer approves the batch as it is decided now."""
        reviewer = self.reviewers.who(request)
        await body_of(request, _LIMITS, FORM)
        await self._lane.run(lambda: self.desk.approve(reviewer))
        return RedirectResponse("/summary", HTTPStatus.SEE_OTHER)


async def _answer(_request: Request, error: Exception) -> Response:
    return problem_of(error).response()


async def _answer_missing(_request: Request, _error: Exception) -> Response:
    return HttpProblem(
        HTTPStatus.NOT_FOUND,
        "not-found",
        "nothing is at this address, or it takes another method",
        remedy="go to /next",
    ).response()


class WithScript:
    """Lets the pages of this server run its own script, and no other.

    Args:
        app: The guarded application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def send_with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["content-security-policy"] = _POLICY
            await send(message)

        await self._app(scope, receive, send_with_policy)
