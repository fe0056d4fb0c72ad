"""The addresses of the service, each a function of a request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from deid_assets import DeidError, Failed, Note, __version__
from deid_assets.extending import Detector
from deid_assets.extending.serving import NOTE_ID, Batch
from deid_serve import fhir, models, openapi, pages
from deid_serve.bodies import FHIR_JSON, FORM, JSON, body_of, form_of, json_of, model_of
from deid_serve.guarding import LOGIN_SECONDS, Doorkeeper, Guard, problem_of
from deid_serve.lane import Lane
from deid_serve.pipeline_door import (
    PipelineDoor,
    check_found,
    key_for_page,
    outcome_of,
)
from deid_serve.problems import HttpProblem, describe_withheld, remedy_of
from deid_serve.reasons import spans_of
from deid_serve.sessions import ReversibleSession, SessionRegistry

_MISSING = HttpProblem(
    HTTPStatus.NOT_FOUND,
    "not-found",
    "nothing is at this address, or it takes another method",
    remedy="see the page at /docs",
)


@dataclass(frozen=True, slots=True)
class NoteService:
    """All that the addresses answer with.

    Args:
        door: The pipeline.
        keeper: Who may come in.
        lane: Where notes are read.
        sessions: Reversible sessions.
        beside: Detector that the page asks besides the ensemble.
        page_key: What the page redacts with.
    """

    door: PipelineDoor
    keeper: Doorkeeper = field(repr=False)
    lane: Lane = field(repr=False)
    sessions: SessionRegistry = field(repr=False)
    beside: Detector | None = field(repr=False)
    page_key: bytes = field(repr=False)

    @classmethod
    def of(cls, door: PipelineDoor, keeper: Doorkeeper) -> NoteService:
        """Return the service over a pipeline."""
        sessions = SessionRegistry(door, door.limits)
        key, _ = key_for_page(door)
        return cls(door, keeper, Lane(door.limits), sessions, door.beside(), key)

    def app(self, told: Callable[[str, str, int, float], Any] | None = None) -> Guard:
        """Return the application, guarded.

        Args:
            told: Called with method, path, status and milliseconds of each request.
        """
        routes = [
            Route("/", self.page, methods=["GET"]),
            Route("/", self.show, methods=["POST"]),
            Route("/login", self.login, methods=["GET", "POST"]),
            Route("/style.css", self.style),
            Route("/healthz", self.health),
            Route("/docs", self.docs),
            Route("/openapi.json", self.describe),
            Route("/v1", self.about),
            Route("/v1/detect", self.detect, methods=["POST"]),
            Route("/v1/redact", self.redact, methods=["POST"]),
            Route("/v1/batch", self.batch, methods=["POST"]),
            Route("/v1/sessions", self.begin, methods=["POST"]),
            Route("/v1/sessions/{id}/redact", self.add, methods=["POST"]),
            Route("/v1/sessions/{id}/restore", self.restore, methods=["POST"]),
            Route("/v1/sessions/{id}", self.end, methods=["DELETE"]),
            Route("/fhir/$de-identify", self.de_identify, methods=["POST"]),
            Route("/fhir/metadata", self.metadata),
        ]
        handlers = {
            HTTPException: _answer_missing,
            HttpProblem: _tell,
            DeidError: _tell,
            Exception: _tell,
        }
        inner = Starlette(routes=routes, exception_handlers=handlers)
        inner.router.redirect_slashes = False
        return Guard(inner, self.keeper, told)

    # pages

    async def page(self, request: Request) -> Response:
        """Show the form."""
        del request
        return HTMLResponse(pages.note_page(self.door, pages.FormFields(pages.EXAMPLE)))

    async def show(self, request: Request) -> Response:
        """Show a note under policies."""
        fields = form_of(await body_of(request, self.door.limits, FORM))
        given = dict(fields)
        # a browser sends each line break of a form as two characters
        text = given.get("text", "").replace("\r\n", "\n")
        chosen = [value for name, value in fields if name == "policy"]
        if "every" in given:
            chosen = list(self.door.policies)
        shown = pages.FormFields(text, given.get("lang", "").strip(), chosen)
        try:
            view = await self._view(shown)
        except Exception as error:  # noqa: BLE001 - shown on the page, without its message
            problem = problem_of(error)
            page = pages.note_page(self.door, shown, problem=problem)
            return HTMLResponse(page, problem.status, problem.headers)
        return HTMLResponse(pages.note_page(self.door, shown, view=view))

    async def _view(self, shown: pages.FormFields) -> pages.ShownNote:
        policies = [self.door.policy(name) for name in dict.fromkeys(shown.chosen)]
        sent = models.SentNote(text=shown.text, lang=shown.lang or None)
        (note,) = self.door.notes([sent])
        return await self.lane.run(
            lambda: pages.view_of(self.door, note, policies, self.page_key, self.beside)
        )

    async def login(self, request: Request) -> Response:
        """Ask for the token, or take it, or a link's code."""
        code, token = request.query_params.get("code", ""), ""
        if request.method == "POST":
            fields = dict(form_of(await body_of(request, self.door.limits, FORM)))
            token = fields.get("token", "").strip()
        elif not code:
            return HTMLResponse(pages.login_page())
        cookie = self.keeper.log_in(token=token, code=code)
        if not cookie:
            page = pages.login_page(is_wrong=True)
            return HTMLResponse(page, HTTPStatus.UNAUTHORIZED)
        answer = RedirectResponse("/", HTTPStatus.SEE_OTHER)
        answer.set_cookie(
            self.keeper.cookie,
            cookie,
            max_age=int(LOGIN_SECONDS),
            secure=bool(self.keeper.proxy_secret),  # a proxy speaks TLS, loopback does not
            httponly=True,
            samesite="strict",
        )
        return answer

    async def style(self, request: Request) -> Response:
        """Give the style sheet."""
        del request
        return Response(pages.style(), media_type="text/css")

    async def docs(self, request: Request) -> Response:
        """Show the description of the service."""
        del request
        return HTMLResponse(pages.docs_page())

    # programs

    async def describe(self, request: Request) -> Response:
        """Give the description of the service."""
        del request
        return JSONResponse(openapi.document())

    async def health(self, request: Request) -> Response:
        """Say that the service answers."""
        del request
        return JSONResponse({"status": "ok", "waiting": self.lane.held})

    async def about(self, request: Request) -> Response:
        """Say what the service is set to."""
        del request
        limits = self.door.limits
        return _json(
            models.ServiceAnswer(
                version=__version__,
                detectors=list(self.door.detectors),
                policies={name: self.door.texts[name] for name in self.door.policies},
                limits={
                    "bytes": limits.bytes_,
                    "notes": limits.notes,
                    "characters": limits.chars,
                    "seconds": limits.seconds,
                    "waiting": limits.waiting,
                    "sessions": limits.sessions,
                    "session_seconds": limits.session_seconds,
                },
                key="set" if self.door.secret else "not set",
            )
        )

    async def detect(self, request: Request) -> Response:
        """Find the spans of a note."""
        sent = await self._read_sent(request, models.DetectBody)
        (note,) = self.door.notes([sent])
        batch = await self.lane.run(lambda: self.door.detect([note]))
        check_found(batch)
        spans = spans_of(batch, note.note_id, explain=sent.explain)
        lang = batch.notes[0].lang
        return _json(models.DetectAnswer(id=note.note_id, lang=lang, spans=spans))

    async def redact(self, request: Request) -> Response:
        """Redact a note."""
        sent = await self._read_sent(request, models.RedactBody)
        policy = self.door.policy(sent.policy)
        (note,) = self.door.notes([sent])
        batch = await self.lane.run(lambda: self.door.deidentify([note], policy))
        return _json(_answer_redacted(batch, batch.notes[0], sent))

    async def batch(self, request: Request) -> Response:
        """Redact notes together."""
        sent = await self._read_sent(request, models.BatchBody)
        policy = self.door.policy(sent.policy)
        notes = self.door.notes(sent.notes)
        batch = await self.lane.run(lambda: self.door.deidentify(notes, policy))
        answers: list[models.RedactAnswer | models.WithheldNote] = []
        for note in batch.notes:
            outcome = outcome_of(batch, note.note_id)
            answers.append(
                _answer_withheld(outcome)
                if isinstance(outcome, Failed)
                else _answer_redacted(batch, note, sent)
            )
        count = sum(isinstance(one, models.WithheldNote) for one in answers)
        return _json(models.BatchAnswer(notes=answers, withheld=count))

    async def begin(self, request: Request) -> Response:
        """Begin a session."""
        sent = await self._read_sent(request, models.SessionBody)
        (note,) = self.door.notes([sent])
        session = self.sessions.open(sent.keep, sent.expires_in)
        try:
            answer = await self._answer_in_session(session, note)
        except (HttpProblem, DeidError):
            self.sessions.end(session.name)
            raise
        return _json(answer, HTTPStatus.CREATED)

    async def add(self, request: Request) -> Response:
        """Give a further text the placeholders of its session."""
        session = self.sessions.find(request.path_params["id"])
        sent = await self._read_sent(request, models.SessionText)
        (note,) = self.door.notes([sent])
        return _json(await self._answer_in_session(session, note))

    async def _answer_in_session(
        self, session: ReversibleSession, note: Note
    ) -> models.SessionAnswer:
        text, lang = await self.lane.run(lambda: self.sessions.redact(session, note))
        return models.SessionAnswer(
            session=session.name,
            expires_in=self.sessions.count_seconds_left(session),
            id=note.note_id,
            lang=lang,
            text=text,
            placeholders=len(session),
        )

    async def restore(self, request: Request) -> Response:
        """Put the values of a session back into a text."""
        session = self.sessions.find(request.path_params["id"])
        sent = await self._read_sent(request, models.RestoreBody)
        self.door.notes([models.SentNote(id=NOTE_ID, text=sent.text)])  # its length and characters
        text, restored, unknown = session.restore(sent.text, self.door.limits.chars)
        return _json(models.RestoreAnswer(text=text, restored=restored, unknown=unknown))

    async def end(self, request: Request) -> Response:
        """End a session."""
        self.sessions.end(request.path_params["id"])
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def de_identify(self, request: Request) -> Response:
        """De-identify the notes of a FHIR resource."""
        body = await body_of(request, self.door.limits, FHIR_JSON)
        asked = fhir.request_of(json_of(body), request.query_params.get("policy"))
        status, resource = await self.lane.run(lambda: fhir.deidentify(self.door, asked))
        return fhir.fhir_response(status, resource)

    async def metadata(self, request: Request) -> Response:
        """Say what the server can do in FHIR."""
        del request
        return fhir.fhir_response(HTTPStatus.OK, fhir.capabilities(__version__))

    async def _read_sent(self, request: Request, model: type[Any]) -> Any:
        return model_of(await body_of(request, self.door.limits, JSON), model)


async def _tell(request: Request, error: Exception) -> Response:
    problem = problem_of(error)
    if request.url.path.startswith("/fhir"):
        return fhir.outcome_response(problem)
    return problem.response()


async def _answer_missing(request: Request, error: Exception) -> Response:
    del error
    if request.url.path.startswith("/fhir"):
        return fhir.outcome_response(_MISSING)
    return _MISSING.response()


def _answer_redacted(
    batch: Batch, note: Note, sent: models.RedactBody | models.BatchBody
) -> models.RedactAnswer:
    """Return the redacted text of a note that no step withheld."""
    outcome = outcome_of(batch, note.note_id)
    if isinstance(outcome, Failed):
        raise describe_withheld(outcome)
    edits = [
        models.GivenEdit(
            start=edit.start,
            end=edit.end,
            new_start=edit.new_start,
            new_end=edit.new_end,
            label=edit.label.value,
        )
        for edit in outcome.edits
    ]
    return models.RedactAnswer(
        id=note.note_id,
        lang=note.lang,
        policy=sent.policy,
        text=outcome.text,
        edits=edits if sent.edits else None,
        spans=spans_of(batch, note.note_id, explain=True) if sent.explain else None,
    )


def _answer_withheld(failed: Failed) -> models.WithheldNote:
    return models.WithheldNote(
        id=failed.note_id,
        withheld=f"{failed.error} in {failed.stage}",
        remedy=remedy_of(failed),
    )


def _json(answer: BaseModel, status: HTTPStatus = HTTPStatus.OK) -> Response:
    content = answer.model_dump_json(exclude_none=True)
    return Response(content, status, media_type="application/json")
