"""Errors as problem details (RFC 9457): what is wrong, in which note, and what helps. No text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from deid_assets import DeidError, Failed
from deid_assets.extending import class_name
from deid_assets.extending.serving import HIT, SURVIVES, message_of

MEDIA_TYPE = "application/problem+json"
PACKAGE = "deid_serve"
_REMEDIES: Mapping[str, str] = {
    HIT: "something is still found after several redactions; redact this note by hand",
    SURVIVES: "a value that is known of the patient would stay readable; redact this note by hand",
}
_OF_DETECTOR = "run `deid detect` with this detector on the note, and repair what it says"


class HttpProblem(Exception):  # noqa: N818 - the word of RFC 9457
    """A request that gets no answer but this.

    Args:
        status: Of HTTP.
        kind: Last part of the problem's type, an anchor of the page on problems.
        detail: What is wrong, without text of notes.
        remedy: What helps.
        note: Id of the note, where one is to blame.
        headers: Beside those of every answer.
    """

    def __init__(
        self,
        status: HTTPStatus,
        kind: str,
        detail: str,
        *,
        remedy: str,
        note: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(kind)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.remedy = remedy
        self.note = note
        self.headers = dict(headers or {})

    def document(self) -> dict[str, Any]:
        """Return the problem as JSON has it."""
        found: dict[str, Any] = {
            "type": f"/docs#{self.kind}",
            "title": TITLES[self.kind],
            "status": int(self.status),
            "detail": self.detail,
            "remedy": self.remedy,
        }
        if self.note is not None:
            found["note"] = self.note
        return found

    def response(self) -> Response:
        """Return the answer."""
        content = json.dumps(self.document(), ensure_ascii=True)
        return Response(content, self.status, self.headers, MEDIA_TYPE)


TITLES: Mapping[str, str] = {
    "bad-body": "The body cannot be read",
    "bad-request": "A field is wrong",
    "busy": "Too many requests wait",
    "forbidden": "The request did not come through the proxy or from this site",
    "internal": "A fault of the program",
    "misdirected": "Another host is meant",
    "no-session": "There is no such session",
    "not-found": "There is nothing at this address",
    "refused": "It cannot be carried out",
    "too-large": "The request is too large",
    "too-slow": "It took too long",
    "unauthorised": "A token is needed",
    "withheld": "The note may not leave",
}
"""Kinds of problems, each with its title."""


def describe_withheld(failed: Failed) -> HttpProblem:
    """Return the problem of a note that a step withheld."""
    return HttpProblem(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "withheld",
        f"{failed.error} in {failed.stage}",
        remedy=remedy_of(failed),
        note=failed.note_id,
    )


def remedy_of(failed: Failed) -> str:
    """Return what helps with a note that a step withheld."""
    if failed.error in _REMEDIES:
        return _REMEDIES[failed.error]
    if failed.stage.startswith("spans_"):
        return _OF_DETECTOR
    return "choose another policy, or redact this note by hand"


def describe_refused(error: DeidError) -> HttpProblem:
    """Return the problem of an error that was raised on purpose; its message may be shown where
    this project raised it.
    """
    said = message_of(error, package=PACKAGE)
    detail, _, remedy = said.partition("; ")
    return HttpProblem(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "refused",
        detail or class_name(error),
        remedy=remedy or "change what the message names, and send it again",
    )


def internal(error: BaseException) -> HttpProblem:
    """Return the problem of an error that nobody foresaw, named by its class alone."""
    return HttpProblem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "internal",
        class_name(error),
        remedy="tell the maintainers, with the smallest invented note that shows it",
    )


def bad_fields(places: Sequence[str]) -> HttpProblem:
    """Return the problem of fields that are missing, unknown or of the wrong kind."""
    return HttpProblem(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "bad-request",
        "; ".join(places),
        remedy="send what the page at /docs describes",
    )
